"""LC203 elements-not-copied: the destination has elements that no instruction writes.

## What it means

The V mode holds more elements than the atom moves (16 elements, one `cp.async` of 8), or the atom parts of
the two sides differ in size, which the compiler does not compare. Or a vector leaves the registers that a
kernel allocates for the destination: the compiler drops all of it, with the part that is inside. The remaining elements keep their old
contents. A traced kernel can have another cause: not all threads of the tiled copy reach it. It is made for
64 threads, for example, and stands under `if warp == 0`. Then the kernel reads what the other threads
should have written.

A note under this code is of a tensor in global memory of which a traced kernel writes only a part, with static extents:
a predicate keeps threads from elements inside the tensor that no other thread of the grid writes, or the grid has too few
blocks, or several blocks write the same elements and none writes the others. Another kernel may
write the rest, or it may keep what it holds, as of a tensor that is changed in place.

Or the note is of a tensor that a kernel without products reads: it reads as many elements as the tensor has, or so many times
as many, but some more than once, or boxes beyond its end, and others never. One tile was fetched in the place of another,
by an index of the wrong block or turn, unless that order is meant. Or nothing uses a tensor of the same type and extents, which the
kernel is given too.

## Why

Measured on the DSL: `cp.async` issues one instruction for each rest coordinate, whatever the size of V; with
V modes `((atom, rest), ...)` only the rest is compared.

## How to fix it

Make mode 0 exactly one atom vector and move what is left to another mode: `(16):(1)` becomes
`((8,2)):((1,8))`. If threads are missing, let all threads of the tiled copy reach it, or make it for those that do.

## How to silence it

Silence the line if other code writes the rest of the destination on purpose.
"""

from __future__ import annotations

from layoutcheck.rules.effects import seen, vector_against_v
from layoutcheck.rules.rule import Analysis, Findings, make_rule

TITLES = {"missing": "part of the destination is never written"}


def find(analysis: Analysis) -> Findings:
    """What was seen, where no rule names the cause."""
    return seen(RULE, analysis, TITLES, _lead)


def _lead(analysis: Analysis) -> str:
    text = vector_against_v(analysis)
    if text and analysis.resolved.dst.spare is not None:
        text += "The compiler drops each vector that is not all in the destination's registers. "
    return text


RULE = make_rule(
    "wrong",
    find,
    flagged={
        "src": '!cute.memref<bf16, gmem, align<16>, "(16):(1)">',
        "dst": '!cute.memref<bf16, smem, align<128>, "(16):(1)">',
        "atom": "cp.async",
        "bits": 128,
    },
    twin={
        "src": '!cute.memref<bf16, gmem, align<16>, "((8,2)):((1,8))">',
        "dst": '!cute.memref<bf16, smem, align<128>, "((8,2)):((1,8))">',
    },
    symptoms=TITLES,
)
