"""LC100 refused: the compiler refuses the copy with a message that no other rule explains."""

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
