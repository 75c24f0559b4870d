"""LC902 too-large: the copy is too large to enumerate, so one period of it was compared, or nothing.

## What it means

The comparison of every byte with the layouts would not fit the limits on time and memory. Of a regular copy one
period was compared, and answers for the whole (a note). Of any other the compiler's answer stands alone
(`unknown`).

## Why

The comparison is exact and by enumeration, at most 4 MiB a copy (`copies.offsets.MAX_MOVES`). A copy is regular
where its iterations differ in nothing but the address, and no two elements of the destination share a place.

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
    """Copies past the limit of the enumeration, and those of which one period answers for the whole."""
    if isinstance(analysis.obstacle, TooLarge):
        yield Finding(
            RULE.code,
            RULE.severity,
            "too large to compare byte by byte",
            f"{analysis.obstacle.message[0].upper() + analysis.obstacle.message[1:]}. The compiler's answer stands.",
            Where(),
        )
    elif analysis.runs and analysis.runs[-1].times > 1:
        times = analysis.runs[-1].times
        yield Finding(
            RULE.code,
            "note",
            f"one period was compared byte by byte; the copy is {times} of them",
            "Every other iteration is one of these at another address. Findings count the bytes of one period.",
            Where(),
            {"times": times},
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
