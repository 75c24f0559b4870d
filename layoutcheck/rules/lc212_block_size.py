"""LC212 block-size: the block and the tiled copy differ in their number of threads."""

from __future__ import annotations

from layoutcheck.copies.tiled import threads as threads_of
from layoutcheck.rules.effects import evidence, occurred, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule

EXPLAINS = ("missing", "outside_src", "outside_dst", "wrong", "race", "misaligned_src", "misaligned_dst")


@make_rule("wrong", explains=EXPLAINS)
def rule(analysis: Analysis) -> Findings:
    """A block of another size, and its effect."""
    tiling = analysis.copy.tiling
    if tiling is None or tiling.block_threads is None or not occurred(analysis):
        return
    threads, block = threads_of(tiling.tiled), tiling.block_threads
    if block == threads:
        return
    kind = "missing" if block < threads else "outside_dst"
    yield rule.finding(
        f"the tiled copy has {threads} threads, but the block has {block}",
        (
            f"Threads {block}..{threads - 1} never run. "
            if block < threads
            else f"Threads {threads}..{block - 1} get slices past the tile. "
        )
        + sentence(analysis, kind, "outside_src"),
        where(analysis, kind, "tiled"),
        {"threads": threads, "block": block, **evidence(analysis, *EXPLAINS)},
    )
