"""LC100 refused: the compiler refuses the copy with a message that no other rule explains.

## What it means

The report shows the verifier's own message. This rule applies only when none of LC101 to LC191
does: for example, an alignment or stride test fails although the values are adjacent, or a pointer
type cannot be built.

## Why

Measured on the DSL. Universal and g2r/r2g/s2r/r2s atoms test contiguity as "the product of the strides
is 1" over the *whole* view, trailing modes included: V = (4), rest 1 with stride 0 fails where (4) alone
passes.

## How to fix it

Write the views without modes of extent 1 and stride 0 behind V, or as the DSL partitions them:
`((4,1),...):((1,0),...)`.
"""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused


def find(analysis: Analysis) -> Findings:
    """Any refusal; `check` asks this rule where no other has spoken."""
    if said := refusal(analysis):
        yield refused(RULE, said, "the compiler refuses the copy")


RULE = make_rule(
    "rejected",
    find,
    flagged={
        "src": '!cute.memref<f32, tmem, align<16>, S<3,4,3>, "(4):(1)">',
        "dst": '!cute.memref<f32, rmem, align<16>, "(4):(1)">',
        "atom": "universal",
        "bits": 128,
    },
    twin={"src": '!cute.memref<f32, smem, align<16>, "(4):(1)">'},
)
