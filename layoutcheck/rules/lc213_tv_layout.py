"""LC213 tv-layout: the thread-value layout is not one to one onto its tiler."""

from __future__ import annotations

import numpy as np

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.image import image
from layoutcheck.atoms.tmem import TmemCopy
from layoutcheck.copies.offsets import distinct
from layoutcheck.rules.effects import MISPLACED, evidence, misplaced, occurred, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule


@make_rule("wrong", explains=MISPLACED)
def rule(analysis: Analysis) -> Findings:
    """What the thread-value layout leaves out, repeats or reaches past."""
    tiling = analysis.copy.tiling
    if tiling is None or not occurred(analysis) & set(MISPLACED):
        return
    if isinstance(tiling.tiled.atom, TmemCopy):  # all lanes of a warp name all that it moves
        return
    tiled = tiling.tiled
    pairs = inttuple.product(tiled.layout_tv.shape)
    tile = 1
    for mode in tiled.tiler:
        extent = inttuple.product(mode.shape)
        tile *= extent if isinstance(extent, int) else 0
    if not isinstance(pairs, int) or not tile or not tiled.layout_tv.is_static:
        return
    named = image(tiled.layout_tv)
    past = int(np.count_nonzero(named >= tile))
    covered = distinct(named[named < tile])
    repeated = pairs - past - covered
    if past == 0 and covered == tile and repeated == 0:
        return
    yield rule.finding(
        "the thread-value layout is not one to one onto its tiler",
        f"{tiled.layout_tv} names {pairs} places of a tile of {tile}: {tile - covered} elements belong to no thread, {repeated} are named more than once, {past} are past the tile. "
        f"{sentence(analysis, 'missing', 'outside_dst', 'wrong')}",
        where(analysis, misplaced(analysis), "tiled"),
        {
            "tile": tile,
            "named": pairs,
            "uncovered": tile - covered,
            "repeated": repeated,
            "past_the_tile": past,
            **evidence(analysis, *MISPLACED),
        },
    )
