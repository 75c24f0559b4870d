"""`launch`: as many threads as the tiled copy has."""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.copies.tiled import threads as threads_of
from layoutcheck.fixes.draft import Analysis, Draft, Drafts

STRATEGY = "launch"


def propose(analysis: Analysis) -> Drafts:
    """`block=(size(tiled_copy), 1, 1)`."""
    tiling = analysis.copy.tiling
    if tiling is None or tiling.block_threads in (None, threads_of(tiling.tiled)):
        return
    threads = threads_of(tiling.tiled)
    yield Draft(
        STRATEGY,
        f"launch {threads} threads",
        f"kernel(...).launch(grid=grid, block=({threads}, 1, 1))",
        (replace(analysis.copy, tiling=replace(tiling, block_threads=threads)),),
    )
