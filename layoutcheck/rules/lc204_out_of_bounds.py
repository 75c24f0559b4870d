"""LC204 out-of-bounds: the copy reads or writes bytes outside its views.

## What it means

The atom moves more elements than V holds: the count is rounded up to whole vectors (12 elements, vectors
of 8), or a V of 4 is moved by an atom of 8. The bytes past the view belong to another tensor, or to no
tensor.

In a traced kernel also: the last tiles leave the tensor that the kernel was given, and no predicate says which
vectors are inside, or one does so in another mode. Where the strides of the host's tensor are dynamic, also a write
that leaves one mode of it and stays in its memory. Where extents are dynamic, those of the program's own calls count,
and without a GPU what their small tensors of integers hold.
In shared memory an access that leaves its allocation, or its member of a struct; one that reaches padding behind the
member, and no other member, is a note. So is an element of a tensor in registers at an index that it does not have, if the
index is a number in the traced module, or if registers that may be unset are followed there (LC610).

## Why

Measured on the DSL: universal copies emit ceil(size(V) / n) vectors; `cp.async` always moves its full
width; `autovec_copy` takes the larger of the two sizes.

## How to fix it

Use a width that divides V, or pad the tile so that V holds whole vectors. Where a tile leaves the tensor,
`layoutcheck trace --fix` inserts the predicate, `pred=`, with the coordinates of an identity tensor.

## How to silence it

Silence the line if the bytes behind the view are padding that nothing else uses.
"""

from __future__ import annotations

from layoutcheck.rules.effects import seen, vector_against_v
from layoutcheck.rules.rule import Analysis, Findings, make_rule

TITLES = {
    "outside_src": "the copy reads outside the source",
    "outside_dst": "the copy writes outside the destination",
}


def find(analysis: Analysis) -> Findings:
    """What was seen, where no rule names the cause."""
    return seen(RULE, analysis, TITLES, vector_against_v)


RULE = make_rule(
    "wrong",
    find,
    flagged={
        "src": '!cute.memref<bf16, gmem, align<16>, "(12):(1)">',
        "dst": '!cute.memref<bf16, smem, align<128>, "(12):(1)">',
        "atom": "universal",
        "bits": 128,
    },
    twin={"bits": 64},
    symptoms=TITLES,
)
