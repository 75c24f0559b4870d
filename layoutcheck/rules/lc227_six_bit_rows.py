"""LC227 six-bit-rows: rows of 6-bit elements are addressed as if they had 8 bits.

## What it means

Four 6-bit elements fill three bytes, and a bulk copy's size is counted so: 128 elements are 96 bytes. Its
addresses are not: the second row of `(128,2):(1,128)` is taken 128 bytes further on, not 96.

## Why

Measured on the DSL's PTX: a stride of n 6-bit elements advances the address by n bytes.

## How to fix it

Make the whole tile one run in mode 0, or recast it to bytes before the copy (`cute.recast_tensor`).

## How to silence it

Silence the line if memory leaves this gap between rows on purpose: 96 bytes of elements, then 32 spare
bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.analysis import Analysis
from layoutcheck.findings import Finding
from layoutcheck.rules.bulk import bulk_atom, instruction_bytes, instructions
from layoutcheck.rules.effects import evidence, occurred, sentence, where
from layoutcheck.rules.rule import make_rule

EXPLAINS = ("wrong", "missing", "outside_src", "outside_dst", "misaligned_src", "misaligned_dst", "race")


def find(analysis: Analysis) -> Iterator[Finding]:
    """A bulk copy of 6-bit elements, of more than one instruction, that goes wrong."""
    seen = occurred(analysis) & set(EXPLAINS)
    if (
        bulk_atom(analysis) is None
        or analysis.copy.src.dtype.bits != 6
        or not seen
        or instructions(analysis) < 2
    ):
        return
    kind = next(kind for kind in EXPLAINS if kind in seen)
    yield RULE.finding(
        "rows of 6-bit elements begin where 8-bit ones would",
        f"Each of {instructions(analysis)} instructions moves {instruction_bytes(analysis)} B, 6 bits an element; their "
        f"addresses advance by 8 bits an element. {sentence(analysis, kind)}",
        where(analysis, kind),
        {
            "field": "address of an element",
            "value": "8 bits an element",
            "demand": "6 bits an element",
            "source": "the DSL's PTX",
            **evidence(analysis, *EXPLAINS),
        },
    )


RULE = make_rule(
    __doc__,
    "wrong",
    find,
    flagged={
        "src": '!cute.memref<f6E2M3FN, gmem, align<16>, "(128,2):(1,128)">',
        "dst": '!cute.memref<f6E2M3FN, smem, align<128>, "(128,2):(1,128)">',
        "atom": "bulk.g2s",
    },
    twin={
        "src": '!cute.memref<f6E2M3FN, gmem, align<16>, "((128,2)):((1,128))">',
        "dst": '!cute.memref<f6E2M3FN, smem, align<128>, "((128,2)):((1,128))">',
    },
    explains=EXPLAINS,
)
