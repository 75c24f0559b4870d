"""LC211 tile-not-divisible: the tiler does not divide the tile, so the last step goes past the tile's end."""

from __future__ import annotations

from layoutcheck.algebra import inttuple
from layoutcheck.rules.effects import MISPLACED, evidence, occurred, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule


@make_rule("wrong", explains=MISPLACED)
def rule(analysis: Analysis) -> Findings:
    """Modes whose extent is not a multiple of the tiler's."""
    tiling = analysis.copy.tiling
    if tiling is None or not occurred(analysis):
        return
    whole = tiling.dst if tiling.src.space == "rmem" else tiling.src  # a thread's registers have no tile
    for i, (mode, step) in enumerate(zip(whole.layout.modes, tiling.tiled.tiler, strict=False)):
        extent, tile = inttuple.product(mode.shape), inttuple.product(step.shape)
        if not isinstance(extent, int) or not isinstance(tile, int) or extent % tile == 0:
            continue
        steps = -(-extent // tile)
        yield rule.finding(
            f"mode {i} has {extent} elements, the tiled copy takes {tile} at a time",
            f"The partition makes {steps} steps and covers 0..{steps * tile - 1}: {steps * tile - extent} past the end. "
            f"{sentence(analysis, 'outside_dst', 'outside_src', 'wrong')}",
            where(analysis, "outside_dst", "tiled", (i,)),
            {"extent": extent, "tiler": tile, "steps": steps, **evidence(analysis, *MISPLACED)},
        )
