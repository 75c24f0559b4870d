"""LC115 tma-index-tensor: a tensor of a gather4 or scatter4 does not have two modes, or there are too few indices."""

from __future__ import annotations

from layoutcheck.findings import plain
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule, refusal


def find(analysis: Analysis) -> Findings:
    """What the DSL refuses of the index tensor and of the rank."""
    said = refusal(analysis, "tma_index")
    if said is None:
        return
    yield RULE.finding(
        "the operands are not a tensor of rows with an index for each row",
        f"The compiler says: {said.message}.",
        Where(said.operand),
        plain(said.evidence),
    )


_INDEX = '!cute.memref<i32, gmem, align<4>, "({n},256):(1,0)">'

RULE = make_rule(
    "rejected",
    find,
    flagged={
        "src": '!cute.memref<bf16, gmem, align<16>, "(256,256):(256,1)">',
        "dst": '!cute.memref<bf16, smem, align<1024>, "(4,64):(64,1)">',
        "atom": "tma_gather4",
        "index": _INDEX.format(n=3),
        "arch": "sm_100a",
    },
    twin={"index": _INDEX.format(n=4)},
)
