"""LC105 shape-mismatch: source and destination do not have the same static shape."""

from __future__ import annotations

from layoutcheck.algebra.layout import text
from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused

_TITLES = {
    "dynamic_shape": "a copy's extents must be known at compile time",
    "rank": "source and destination have different ranks",
    "rest_v_size": "the rest of mode 0 differs in size",
    "mode_size": "source and destination differ in size",
}


def find(analysis: Analysis) -> Findings:
    """The compiler's own refusal, in terms of the copy."""
    if said := refusal(analysis, *_TITLES):
        shapes = f"source {text(analysis.copy.src.layout.shape)} against destination {text(analysis.copy.dst.layout.shape)}"
        yield refused(RULE, said, _TITLES[said.kind], f"{shapes}: {said.message}.")


RULE = make_rule(
    "rejected",
    find,
    flagged={
        "src": '!cute.memref<bf16, gmem, align<16>, "(8,2):(1,8)">',
        "dst": '!cute.memref<bf16, smem, align<16>, "(8,4):(1,8)">',
        "atom": "cp.async",
        "bits": 128,
    },
    twin={"src": '!cute.memref<bf16, gmem, align<16>, "(8,4):(1,8)">'},
)
