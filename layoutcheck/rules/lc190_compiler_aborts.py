"""LC190 compiler-aborts: the compiler process dies on this copy instead of refusing it.

## What it means

The DSL ends with SIGABRT or SIGFPE: no exception, no message, and the whole Python process ends. Seen for
extents that neither divide nor are divided by the vector (3, 5, 6, 7 elements against 8), for sub-byte
pointers without `align<>`, and for thread layouts that overlap. Seen for a TMA tile, too, whose contiguous
extent must be cut into boxes but has a factor larger than a box. For example, 300 = 4 * 75 elements of f64
under a swizzle of 32 bytes, whose boxes have 4: memory grows until none is left, 8 GiB after 15 seconds.

## Why

Measured on the DSL, each in a process of its own.

## How to fix it

The copy is meaningless as written; the report says which extent or which layout to change.
"""

from __future__ import annotations

from layoutcheck.findings import plain
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


def find(analysis: Analysis) -> Findings:
    """The compiler's own refusal, in terms of the copy."""
    said = analysis.prediction
    if said.outcome != "aborts":
        return
    yield RULE.finding(
        "the compiler process dies on this copy",
        said.message,
        Where(said.operand),
        {"compiler": said.message, **plain(said.evidence)},
    )


RULE = make_rule(
    "rejected",
    find,
    flagged={
        "src": '!cute.memref<bf16, gmem, align<16>, "(3,8):(1,4)">',
        "dst": '!cute.memref<bf16, smem, align<16>, "(3,8):(1,4)">',
        "atom": "universal",
        "bits": 128,
    },
    twin={
        "src": '!cute.memref<bf16, gmem, align<16>, "(4,8):(1,4)">',
        "dst": '!cute.memref<bf16, smem, align<16>, "(4,8):(1,4)">',
        "bits": 64,
    },
)
