"""LC208 bit-copy: the copy moves bits between two types of equal width and converts no value.

## What it means

bf16 1.0 copied into an f16 tensor reads back as 1.875. The compiler compares widths only.

## Why

Measured on the DSL: the compiler demands only that the two element types have equal width; it
ignores the atom's own type.

## How to fix it

Convert in registers: `dst_fragment.store(src_fragment.load().to(dst_type))`; to copy bits on purpose,
`recast_tensor` one side so that both types agree.

## How to silence it

`recast_tensor` states the intent, and is not reported.
"""

from __future__ import annotations

from layoutcheck.analysis.comparison.observables import reinterpreted
from layoutcheck.rules.rule import CP_ASYNC, Analysis, Findings, Where, make_rule


def find(analysis: Analysis) -> Findings:
    """Two types of one width where the same bits mean different values."""
    if not analysis.accepted or not reinterpreted(analysis.copy):
        return
    src, dst = analysis.copy.src.dtype, analysis.copy.dst.dtype
    yield RULE.finding(
        f"{src} bits are copied into a {dst} tensor without conversion",
        f"The compiler compares widths ({src.bits} bits), not types: every value is reinterpreted.",
        Where("dst"),
        {"src_dtype": str(src), "dst_dtype": str(dst), "bits": src.bits},
    )


RULE = make_rule(
    "wrong",
    find,
    flagged=CP_ASYNC | {"dst": '!cute.memref<f16, smem, align<128>, "(8):(1)">', "atom": "universal"},
    twin={"dst": CP_ASYNC["dst"]},
)
