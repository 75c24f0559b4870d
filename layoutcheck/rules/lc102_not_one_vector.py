"""LC102 not-one-vector: the values of one instruction are not adjacent on both sides, so no vector can move them.

## What it means

One copy instruction moves `w` adjacent bytes to `w` adjacent bytes. The first `w` bytes' worth of values
in the V mode (mode 0 of the views) must therefore have stride 1 in the source *and* in the destination.
A transposed view has stride 1 along another mode on each side, and no alignment promise can change that.

The compiler names this in its own words for some atoms ("cannot vectorize copy to 8 elements (static
strides must be 1)") and hides it behind an alignment complaint for others: `cp.async` never looks at the
strides of V. It only notices that a thread's base address is not aligned (NVIDIA/cutlass#2320).

## Why

PTX ISA: `ld`/`st` with `.v2`/`.v4`, and `cp.async`, address one contiguous run of bytes. Measured on the DSL:
universal and g2r/r2g/s2r/r2s atoms require the composition of the flattened view with `n:1` to
have strides of product 1 on both sides; `cp.async`, `ldmatrix` and `stmatrix` have no such check.

## How to fix it

Give both sides the same fastest mode (`match-layout`), and transpose where the data is next read
(`transpose-in-ldmatrix`), or copy element by element on one side (`narrow-copy`, `copy-elements`,
`stage-through-registers`).
"""

from __future__ import annotations

from layoutcheck.analysis.vector import NAMES, describe, elements, find_break, vector_sides, width_bits
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule

KINDS = ("static_strides_one", "static_strides_match", "dynamic_strides")
ALIGNMENT = ("src_alignment", "dst_alignment")


def find(analysis: Analysis) -> Findings:
    """A refused copy whose values no single instruction could move, whatever the compiler named as the reason."""
    copy = analysis.copy
    if analysis.prediction.outcome != "rejected" or analysis.prediction.kind not in (*KINDS, *ALIGNMENT):
        return
    if elements(copy) < 2:
        return
    breaks = [found for side in vector_sides(copy) if (found := find_break(copy, side)) is not None]
    if not breaks:
        return
    worst = min(breaks, key=lambda found: found.element)
    fine = [side for side in vector_sides(copy) if find_break(copy, side) is None]
    other = f" The {NAMES[fine[0]]}'s are adjacent." if fine else ""
    yield RULE.finding(
        f"the values of one {width_bits(copy)}-bit copy are not adjacent in the {NAMES[worst.side]}",
        f"{describe(worst, copy)}.{other}",
        Where(worst.side, worst.path, 0, worst.element),
        {
            "elements": elements(copy),
            "adjacent": worst.element,
            "stride": str(worst.stride),
            "compiler": analysis.prediction.message,
        },
    )


RULE = make_rule(
    "rejected",
    find,
    flagged={
        "src": "(128,64):(1,128)",
        "dst": "(128,64):(64,1)",
        "atom": "cp.async",
        "bits": 128,
        "dtype": "bf16",
        "thr": "(16,16):(16,1)",
        "val": "(8,1)",
    },
    twin={"dst": "(128,64):(1,128)", "thr": "(16,16):(1,16)"},
)
