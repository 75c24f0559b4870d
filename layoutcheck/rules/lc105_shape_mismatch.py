"""LC105 shape-mismatch: source and destination do not have the same static shape.

## What it means

`cute.copy` needs views of equal rank, static extents everywhere, and equal sizes mode by mode. In a V
mode `((atom, rest), ...)` only the rest is compared.

## Why

Checked by the DSL in Python and by the MLIR verifier (measured, DSL 4.8.1): "`src.rank() = a` !=
`dst.rank() = b`", "expects src and dst to have static shape", "expects same size in rank 0 ...".

## How to fix it

Partition both tensors with the same tiled copy, tile them alike first (`local_tile`), and make loop
extents static or iterate over the dynamic mode yourself.

## How to silence it

It cannot be: the kernel does not compile.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.algebra.layout import text
from layoutcheck.findings import Finding, Where
from layoutcheck.rules.facts import Facts, plain
from layoutcheck.rules.rule import Example, make_rule

KINDS = ("dynamic_shape", "rank", "rest_v_size", "mode_size")


def find(facts: Facts) -> Iterator[Finding]:
    """The compiler's own refusal, in terms of the copy."""
    said = facts.prediction
    if said.outcome != "rejected" or said.kind not in KINDS:
        return
    yield Finding(
        RULE.code,
        RULE.severity,
        _title(facts),
        f"source {text(facts.copy.src.layout.shape)} against destination {text(facts.copy.dst.layout.shape)}: "
        f"{said.message}.",
        Where(said.operand),
        {"compiler": said.message, **plain(said.evidence)},
    )


_TITLES = {
    "dynamic_shape": "a copy's extents must be known at compile time",
    "rank": "source and destination have different ranks",
    "rest_v_size": "the rest of mode 0 differs in size",
    "mode_size": "source and destination differ in size",
}


def _title(facts: Facts) -> str:
    return _TITLES.get(facts.prediction.kind, "source and destination differ in shape")


RULE = make_rule(
    __doc__,
    "rejected",
    find,
    Example(
        flagged={
            "src": '!cute.memref<bf16, gmem, align<16>, "(8,2):(1,8)">',
            "dst": '!cute.memref<bf16, smem, align<16>, "(8,4):(1,8)">',
            "atom": "cp.async",
            "bits": 128,
        },
        clean={
            "src": '!cute.memref<bf16, gmem, align<16>, "(8,4):(1,8)">',
            "dst": '!cute.memref<bf16, smem, align<16>, "(8,4):(1,8)">',
            "atom": "cp.async",
            "bits": 128,
        },
    ),
)
