"""LC902 too-large: the copy is too large to compare byte by byte; one period of it was compared, or nothing.

## What it means

The comparison of every byte with the layouts would not fit the limits on time and memory. For a
regular copy, layoutcheck compared one period, which answers for the whole copy (a note). For any
other copy only the compiler's answer is known (`unknown`).

## Why

The comparison is exact: it enumerates every byte, at most 4 MiB for each copy
(`copies.offsets.MAX_MOVES`). A copy is regular if its iterations differ only in the address, and no
two elements of the destination share an address.

## How to fix it

Give layoutcheck the tile that one block copies, not the whole tensor.

## How to silence it

The verdict is `unknown`, which fails a run only with `--strict`.
"""

from __future__ import annotations

from layoutcheck.copies.offsets import TooLarge
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


def find(analysis: Analysis) -> Findings:
    """Copies past the limit of the enumeration, and those of which one period answers for the whole."""
    if isinstance(analysis.obstacle, TooLarge):
        yield RULE.finding(
            "too large to compare byte by byte",
            f"{analysis.obstacle.message[0].upper() + analysis.obstacle.message[1:]}. Only the compiler's answer is known.",
            Where(),
        )
    elif not analysis.agrees and analysis.runs and analysis.runs[-1].times > 1:
        times = analysis.runs[-1].times
        yield RULE.finding(
            f"one period was compared byte by byte; the copy is {times} of them",
            "Every other iteration repeats one of these at another address. Findings count the bytes of one period.",
            Where(),
            {"times": times},
            severity="note",
        )


RULE = make_rule(
    "unknown",
    find,
    flagged={
        "src": "(1000000000,1000000000):(1,1000000000)",
        "dst": "(1000000000,1000000000):(1,1000000000)",
        "dtype": "bf16",
        "src_space": "gmem",
        "dst_space": "gmem",
        "atom": "universal",
        "bits": 16,
    },
    twin={"src": "(8):(1)", "dst": "(8):(1)"},
)
