"""LC201 scattered-vector: one instruction moves adjacent bytes where the layouts ask for scattered ones.

## What it means

The V mode of one side is not contiguous, but the atom moves it with one instruction and the
compiler does not complain. With a 128-bit `cp.async` to a bf16 destination `(8):(64)`, one 16-byte
copy writes eight adjacent elements where the layout names eight that are 128 bytes apart. Seven of
them land in the wrong place.

## Why

Measured on the DSL: `cp.async`, `ldmatrix` and `stmatrix` never look at the strides of V, and the
contiguity test of universal copies is `product(strides) == 1`, which `(4,2):(1,1)` and `(2,4):(-1,-1)`
pass. Measured on an H200: `(8):(1)` to `(8):(64)` leaves the other seven elements unwritten, with no
error.

## How to fix it

As for LC102: use the same contiguous mode on both sides, or a copy as narrow as the contiguous run.
"""

from __future__ import annotations

from layoutcheck.analysis.vector import (
    NAMES,
    atom_v,
    describe,
    elements,
    find_break,
    vector_sides,
    width_bits,
)
from layoutcheck.rules.effects import evidence, occurred, sentence, where
from layoutcheck.rules.rule import CP_ASYNC, Analysis, Findings, make_rule

EXPLAINS = ("wrong", "missing", "outside_src", "outside_dst", "race")


def find(analysis: Analysis) -> Findings:
    """An accepted copy that moves other bytes than asked because V is scattered, by static strides."""
    copy = analysis.resolved
    if copy.atom is not None and copy.atom.by_engine:  # LC221 and LC223
        return
    if not occurred(analysis) & {"wrong", "missing", "outside_src", "outside_dst"} or elements(copy) < 2:
        return
    sizes = [size for side in vector_sides(copy) if (size := atom_v(copy, side)) is not None]
    within = min([elements(copy), *sizes])  # past V's own elements it is no question of strides
    for side in vector_sides(copy):
        found = find_break(copy, side, within)
        if found is None or found.is_dynamic:
            continue
        yield RULE.finding(
            f"one {width_bits(copy)}-bit instruction moves adjacent bytes, but the {NAMES[side]}'s values are scattered",
            f"{describe(found, copy)}. The compiler accepts it. {sentence(analysis, 'wrong', 'missing')}",
            where(analysis, "wrong", side, found.path),
            {
                "elements": elements(copy),
                "adjacent": found.element,
                "stride": found.stride,
                **evidence(analysis, *EXPLAINS),
            },
        )


RULE = make_rule(
    "wrong",
    find,
    flagged=CP_ASYNC | {"dst": '!cute.memref<bf16, smem, align<128>, "(8):(64)">'},
    twin={"dst": CP_ASYNC["dst"]},
    explains=EXPLAINS,
)
