"""LC214 tiler-rank: the tiled copy has fewer modes than the tensor."""

from __future__ import annotations

from layoutcheck.algebra import inttuple
from layoutcheck.copies.copy import Tiling
from layoutcheck.rules.effects import MISPLACED, evidence, misplaced, occurred, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule


@make_rule("wrong", explains=MISPLACED)
def rule(analysis: Analysis) -> Findings:
    """A tiler of smaller rank, where the copy goes wrong by it."""
    tiling = analysis.copy.tiling
    if tiling is None or not occurred(analysis):
        return
    rank, needed = len(tiling.tiled.tiler), len(tiling.src.layout)
    if rank >= needed or (rank > 1 and _uneven(tiling)):
        return
    yield rule.finding(
        f"a tiled copy of {rank} mode{'s' if rank > 1 else ''} over a tensor of {needed}",
        f"The values of a thread run along mode 0 of {tiling.src.layout}, stride {tiling.src.layout.modes[0].stride}. "
        f"{sentence(analysis, 'wrong', 'misaligned_src', 'outside_src')}",
        where(analysis, misplaced(analysis), "tiled"),
        {"tiler_rank": rank, "tensor_rank": needed, **evidence(analysis, *MISPLACED)},
    )


def _uneven(tiling: Tiling) -> bool:
    """Whether a tiler of several modes does not divide one of them (LC211): the other modes are its rest."""
    for mode, step in zip(tiling.src.layout.modes, tiling.tiled.tiler, strict=False):
        extent, tile = inttuple.product(mode.shape), inttuple.product(step.shape)
        if isinstance(extent, int) and isinstance(tile, int) and extent % tile:
            return True
    return False
