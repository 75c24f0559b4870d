"""LC106 element-width: the element types of the two sides differ in width, or the atom cannot hold them.

## What it means

A copy moves bits; it converts nothing. Both tensors must have elements of the same width, and 6-bit
elements cannot be vectorised at all.

## Why

Checked in Python (`cute.copy`) and by the verifier: "src and dst need to have the same element size",
"doesn't support npow2 sub-byte type" (measured).

## How to fix it

Load in the source's type, convert in registers (`fragment.load().to(dtype)`), then store in the
destination's; to copy raw bits between types of equal total size, `recast_tensor` one side first.
"""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused


def find(analysis: Analysis) -> Findings:
    """The compiler's own refusal, in terms of the copy."""
    if said := refusal(analysis, "element_width", "npow2_sub_byte"):
        title = f"{analysis.copy.src.dtype} to {analysis.copy.dst.dtype}: this copy does not support these element types"
        yield refused(RULE, said, title, f"{said.message}. A copy moves bits and converts nothing.")


RULE = make_rule(
    "rejected",
    find,
    flagged={
        "src": '!cute.memref<f32, gmem, align<16>, "(4):(1)">',
        "dst": '!cute.memref<bf16, rmem, align<16>, "(4):(1)">',
        "atom": "universal",
        "bits": 32,
    },
    twin={"dst": '!cute.memref<f32, rmem, align<16>, "(4):(1)">'},
)
