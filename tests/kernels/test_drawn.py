"""The drawn kernels are those that the synthesis finds: the search is no part of the default run."""

import pytest

pytest.importorskip("cutlass", reason="kernels/ needs nvidia-cutlass-dsl")

from kernels.transpose.draw import TILES, module, path, plans
from kernels.transpose.drawn import MODULES


def test_every_drawn_module_has_a_kernel() -> None:
    assert {tile: MODULES[tile].TILE for tile in MODULES} == {tile: tile for tile in TILES}


@pytest.mark.sweep
@pytest.mark.parametrize("tile", TILES, ids=str)
def test_a_drawn_module_is_one_of_the_plans(tile: tuple[int, int]) -> None:
    assert path(tile).read_text() in [module(tile, plan.code) for plan in plans(tile).plans]
