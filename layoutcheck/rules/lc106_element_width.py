"""LC106 element-width: the element types of the two sides differ in width, or the atom cannot hold them.

## What it means

A copy moves bits; it converts nothing. Both tensors must have elements of the same width, and 6-bit
elements cannot be vectorised at all.

## Why

Checked in Python (`cute.copy`) and by the verifier: "src and dst need to have the same element size",
"doesn't support npow2 sub-byte type" (measured, DSL 4.8.1).

## How to fix it

Load in the source's type, convert in registers (`fragment.load().to(dtype)`), then store in the
destination's; to copy raw bits between types of equal total size, `recast_tensor` one side first.

## How to silence it

It cannot be: the kernel does not compile.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.findings import Finding, Where
from layoutcheck.rules.facts import Facts, plain
from layoutcheck.rules.rule import Example, make_rule

KINDS = ("element_width", "npow2_sub_byte")


def find(facts: Facts) -> Iterator[Finding]:
    """The compiler's own refusal, in terms of the copy."""
    said = facts.prediction
    if said.outcome != "rejected" or said.kind not in KINDS:
        return
    yield Finding(
        RULE.code,
        RULE.severity,
        f"{facts.copy.src.dtype} to {facts.copy.dst.dtype}: elements that this copy cannot hold",
        f"{said.message}. A copy moves bits and converts nothing.",
        Where(said.operand),
        {"compiler": said.message, **plain(said.evidence)},
    )


RULE = make_rule(
    __doc__,
    "rejected",
    find,
    Example(
        flagged={
            "src": '!cute.memref<f32, gmem, align<16>, "(4):(1)">',
            "dst": '!cute.memref<bf16, rmem, align<16>, "(4):(1)">',
            "atom": "universal",
            "bits": 32,
        },
        clean={
            "src": '!cute.memref<f32, gmem, align<16>, "(4):(1)">',
            "dst": '!cute.memref<f32, rmem, align<16>, "(4):(1)">',
            "atom": "universal",
            "bits": 32,
        },
    ),
)
