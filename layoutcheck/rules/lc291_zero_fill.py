"""LC291 zero-fill: a false predicate of `cp.async` writes zeros; it does not leave the destination alone.

## What it means

Every other atom skips the copy if its predicate is false. `cp.async` writes zeros to the full width
instead: that is right for loading tails, and wrong if the destination holds data to keep.

## Why

PTX ISA, cp.async: bytes past `src-size` are filled with zeros; the DSL lowers a false predicate to
`src-size` 0 (measured).

## How to fix it

If you want zeros, change nothing. To keep the old contents, branch around the copy.

## How to silence it

It is a note and never fails a run.
"""

from __future__ import annotations

from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


def find(analysis: Analysis) -> Findings:
    """Every predicated cp.async that works."""
    if analysis.accepted and analysis.copy.pred is not None and isinstance(analysis.copy.atom, CpAsync):
        yield RULE.finding(
            "where the predicate is false, cp.async fills the destination with zeros",
            "Other atoms skip the copy and leave the destination unchanged.",
            Where("pred"),
        )


RULE = make_rule(
    "note",
    find,
    flagged={
        "src": '!cute.memref<bf16, gmem, align<16>, "((8,1),2):((1,0),8)">',
        "dst": '!cute.memref<bf16, smem, align<128>, "((8,1),2):((1,0),8)">',
        "pred": '!cute.memref<i8, rmem, align<32>, "(1,2):(0,1)">',
        "atom": "cp.async",
        "bits": 128,
    },
    twin={"pred": None},
)
