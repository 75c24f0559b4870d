"""`launch`: as many threads as the tiled copy has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.copies.tiled import threads as threads_of
from layoutcheck.fixes.draft import Draft
from layoutcheck.rules.facts import Facts

STRATEGY = "launch"


def propose(facts: Facts) -> Iterator[Draft]:
    """`block=(size(tiled_copy), 1, 1)`."""
    tiling = facts.copy.tiling
    if tiling is None or tiling.block_threads in (None, threads_of(tiling.tiled)):
        return
    threads = threads_of(tiling.tiled)
    yield Draft(
        STRATEGY,
        f"launch {threads} threads",
        f"kernel(...).launch(grid=grid, block=({threads}, 1, 1))",
        (replace(facts.copy, tiling=replace(tiling, block_threads=threads)),),
    )
