"""The drawn kernels are those that the synthesis finds: the search is no part of the default run."""

import ast

import pytest

pytest.importorskip("cutlass", reason="kernels/ needs nvidia-cutlass-dsl")

from kernels.transpose.draw import TILES, module, path, plans
from kernels.transpose.drawn import MODULES


def test_every_drawn_module_has_a_kernel() -> None:
    assert {tile: MODULES[tile].TILE for tile in MODULES} == {tile: tile for tile in TILES}


@pytest.mark.sweep
@pytest.mark.parametrize("tile", TILES, ids=str)
def test_a_drawn_module_is_one_of_the_plans(tile: tuple[int, int]) -> None:
    texts = [module(tile, plan.code) for plan in plans(tile).plans]
    assert parsed(path(tile).read_text()) in [parsed(text) for text in texts]


def parsed(text: str) -> str:
    """What is left of a program but for its formatting."""
    return ast.dump(ast.parse(text))
