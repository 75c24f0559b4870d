"""LC190 compiler-aborts: the compiler process dies on this copy instead of refusing it."""

from __future__ import annotations

from layoutcheck.findings import plain
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


def find(analysis: Analysis) -> Findings:
    """The compiler's own refusal, in terms of the copy."""
    said = analysis.prediction
    if said.outcome != "aborts":
        return
    yield RULE.finding(
        "the compiler process dies on this copy",
        said.message,
        Where(said.operand),
        {"compiler": said.message, **plain(said.evidence)},
    )


RULE = make_rule(
    "rejected",
    find,
    flagged={
        "src": '!cute.memref<bf16, gmem, align<16>, "(3,8):(1,4)">',
        "dst": '!cute.memref<bf16, smem, align<16>, "(3,8):(1,4)">',
        "atom": "universal",
        "bits": 128,
    },
    twin={
        "src": '!cute.memref<bf16, gmem, align<16>, "(4,8):(1,4)">',
        "dst": '!cute.memref<bf16, smem, align<16>, "(4,8):(1,4)">',
        "bits": 64,
    },
)
