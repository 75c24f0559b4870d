"""The plans of `exchange` are those that the synthesis finds."""

from itertools import product
from typing import Any

import pytest

pytest.importorskip("cutlass", reason="kernels/ needs nvidia-cutlass-dsl")

from kernels.transpose.exchange import SWIZZLE, Exchange
from kernels.transpose.plans import PLANS
from kernels.transpose.registers import BLOCK
from kernels.transpose.synthesised import KINDS, plans
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.synthesis.plans import Synthesis

TILES = sorted({plan.tile for plan in PLANS.values() if isinstance(plan, Exchange) and plan.size == 2})


@pytest.fixture(
    scope="module",
    params=[pytest.param(tile, marks=() if tile == TILES[0] else pytest.mark.sweep) for tile in TILES],
    ids=str,
)
def found(request: Any) -> tuple[tuple[int, int], Synthesis]:
    return request.param, plans(Exchange(request.param))


def test_the_asynchronous_one_is_the_best(found: tuple[tuple[int, int], Synthesis]) -> None:
    assert found[1].best.kind == KINDS[True] and not found[1].cut


@pytest.mark.parametrize("load", ["async", "evict_last"])
def test_shared_memory_is_the_plan_s(found: tuple[tuple[int, int], Synthesis], load: str) -> None:
    tile, synthesis = found
    exchange = Exchange(tile, load=load)
    [plan] = [one for one in synthesis.plans if one.kind == KINDS[load == "async"]]
    shared = plan.found.shared
    assert shared.swizzle == Swizzle(*SWIZZLE)
    slots = Layout(*exchange.slots)
    for n, m in product(range(tile[0]), range(tile[1])):
        along, row = (n, m) if load == "async" else (m, n)
        ours = slots((along % BLOCK, along // BLOCK, row % BLOCK, row // BLOCK))
        assert ours == shared.layout((n, m)), (n, m)


@pytest.mark.parametrize("load", ["async", "evict_last"])
def test_threads_take_the_plan_s_elements(found: tuple[tuple[int, int], Synthesis], load: str) -> None:
    """`trade`: lanes along N, a block or a vector each, for the loads; along M for the stores."""
    tile, synthesis = found
    exchange = Exchange(tile, load=load)
    n_blocks, m_blocks = exchange.blocks
    [plan] = [one for one in synthesis.plans if one.kind == KINDS[load == "async"]]
    into, out = (move.deal for move in plan.found.moves)
    vectors, blocks = (BLOCK, 1), (BLOCK, BLOCK)
    assert (into.vector, into.block) == (vectors if load == "async" else blocks)
    assert (out.vector, out.block) == (blocks if load == "async" else vectors)
    assert (into.fast, into.along, into.across, into.first) == (0, n_blocks, m_blocks, n_blocks)
    assert (out.fast, out.along, out.across, out.first) == (1, m_blocks, n_blocks, m_blocks)
