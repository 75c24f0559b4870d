"""LC120 tcgen05-form: there is no tcgen05 instruction of this shape and repetition.

## What it means

`tcgen05.ld` and `st` exist as 32x32b and 16x32bx2 up to x128, 16x64b up to x128, 16x128b up to x64 and 16x256b up to
x32; `tcgen05.cp` as 128x256b, 128x128b, 4x256b, 64x128b with a `.warpx2` broadcast and 32x128b with `.warpx4`.

## Why

PTX ISA, tcgen05.ld and tcgen05.cp. The DSL's types refuse all others (measured).

## How to fix it

Choose a shape and repetition from the list; a larger copy is several instructions.
"""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused


def find(analysis: Analysis) -> Findings:
    """The type's own refusal."""
    if said := refusal(analysis, "tcgen05_form"):
        why = f"{analysis.copy.atom}: {said.message.rstrip('.')}."
        yield refused(RULE, said, "no tcgen05 instruction has this shape and repetition", why, "atom")


RULE = make_rule(
    "rejected",
    find,
    flagged={
        "src": '!cute.memref<f32, tmem, align<16>, "((512,16),1):((1,65536),0)">',
        "dst": '!cute.memref<f32, rmem, align<32>, "(256,1):(1,0)">',
        "atom": "tcgen05.ld.16x256b.x64",
        "dtype": "f32",
        "arch": "sm_100a",
    },
    twin={
        "src": '!cute.memref<f32, tmem, align<16>, "(((256,16),1),1):(((1,65536),0),0)">',
        "dst": '!cute.memref<f32, rmem, align<32>, "((128,1),1):((1,0),0)">',
        "atom": "tcgen05.ld.16x256b.x32",
    },
)
