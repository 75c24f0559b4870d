"""LC902 too-large: the copy is too large to enumerate, so what the machine does was not compared.

## What it means

The compiler's answer stands; the comparison of every byte with the layouts was left out because it would
not fit the limits on time and memory.

## Why

The comparison is exact and by enumeration, at most 4 MiB a copy (`copies.offsets.MAX_MOVES`).

## How to fix it

Give the tile that one block copies, not the whole tensor.

## How to silence it

The verdict is `unknown`, which fails a run only with `--strict`.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.analysis import Analysis
from layoutcheck.copies.offsets import TooLarge
from layoutcheck.findings import Finding, Where
from layoutcheck.rules.rule import Example, make_rule


def find(analysis: Analysis) -> Iterator[Finding]:
    """Copies past the limit of the enumeration."""
    if isinstance(analysis.obstacle, TooLarge):
        yield Finding(
            RULE.code,
            RULE.severity,
            "too large to compare byte by byte",
            f"{analysis.obstacle.message[0].upper() + analysis.obstacle.message[1:]}. The compiler's answer stands.",
            Where(),
        )


RULE = make_rule(
    __doc__,
    "unknown",
    find,
    Example(
        flagged={
            "src": "(1000000000,1000000000):(1,1000000000)",
            "dst": "(1000000000,1000000000):(1,1000000000)",
            "dtype": "bf16",
            "src_space": "gmem",
            "dst_space": "gmem",
            "atom": "universal",
            "bits": 16,
        },
        clean={
            "src": "(8):(1)",
            "dst": "(8):(1)",
            "dtype": "bf16",
            "src_space": "gmem",
            "dst_space": "gmem",
            "atom": "universal",
            "bits": 16,
        },
    ),
)
