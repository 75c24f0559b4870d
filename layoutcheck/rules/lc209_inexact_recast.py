"""LC209 inexact-recast: recasting the tensor to a wider type rounded a stride, or lost its swizzle.

## What it means

A bf16 row pitch of 63 elements is 31.5 f32 elements; `recast_tensor` makes it 32, and every row after
the first comes from the wrong address.

## Why

Measured on DSL 4.8.1: `recast_tensor` divides strides and rounds up, with no check, and builds the new pointer
without the swizzle of the old one.

## How to fix it

Pad the pitch to a multiple of the ratio of the widths, or keep the narrow type. Where the pointer is swizzled, recast
the pointer before swizzling, or allocate the tile in the wide type.

## How to silence it

No working kernel depends on this.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.algebra.modes import dotted
from layoutcheck.findings import Finding
from layoutcheck.rules.effects import evidence, sentence, where
from layoutcheck.rules.facts import Facts
from layoutcheck.rules.rule import Example, make_rule
from layoutcheck.rules.vector import NAMES, leaves

EXPLAINS = ("wrong", "missing", "outside_src", "outside_dst")


def find(facts: Facts) -> Iterator[Finding]:
    """A recast operand whose strides are not whole multiples of the new element."""
    for side in ("src", "dst"):
        memref = facts.whole(side)
        original = memref.recast_from
        if original is None or memref.dtype.bits <= original.dtype.bits:
            continue
        if original.swizzle is not None and original.swizzle.bits and memref.swizzle is None and facts.effect:
            yield Finding(
                RULE.code,
                RULE.severity,
                f"the recast of the {NAMES[side]} dropped the pointer's swizzle",
                f"{original} becomes {memref}: elements are looked for where they would lie without "
                f"{original.swizzle}. {sentence(facts, 'wrong', 'missing')}",
                where(facts, "wrong", side),
                {"swizzle": str(original.swizzle), **evidence(facts, *EXPLAINS)},
            )
        ratio = memref.dtype.bits // original.dtype.bits
        for path, extent, stride in leaves(original.layout):
            if extent == 1 or stride in (0, 1) or not isinstance(stride, int) or stride % ratio == 0:
                continue
            yield Finding(
                RULE.code,
                RULE.severity,
                f"the recast to {memref.dtype} rounded a stride of the {NAMES[side]}",
                f"Mode {dotted(path)} of {original.layout} has stride {stride} {original.dtype}, which is "
                f"{stride / ratio:g} {memref.dtype}; {memref.layout} has {-(-stride // ratio)}. {sentence(facts, 'wrong')}",
                where(facts, "wrong", side, path),
                {"stride": stride, "ratio": ratio, **evidence(facts, *EXPLAINS)},
            )


RULE = make_rule(
    __doc__,
    "wrong",
    find,
    Example(
        flagged={
            "src": 'recast<f32>(!cute.memref<bf16, gmem, align<16>, "(8,8):(63,1)">)',
            "dst": '!cute.memref<f32, smem, align<128>, "(8,4):(4,1)">',
            "atom": "universal",
            "bits": 32,
        },
        clean={
            "src": 'recast<f32>(!cute.memref<bf16, gmem, align<16>, "(8,8):(64,1)">)',
            "dst": '!cute.memref<f32, smem, align<128>, "(8,4):(4,1)">',
            "atom": "universal",
            "bits": 32,
        },
    ),
    explains=EXPLAINS,
)
