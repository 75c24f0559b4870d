"""No layout that NVIDIA's helpers make is better than the synthesised one, by any engine."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from typing import Any

import pytest

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.notation import parse_layout, parse_swizzle
from layoutcheck.machine.canonical import canonical
from layoutcheck.machine.dtypes import CLASSES, dtype
from layoutcheck.synthesis.moves import Move
from layoutcheck.synthesis.reading import read
from layoutcheck.synthesis.request import TileRequest
from layoutcheck.synthesis.search import Found, Space, search, space_of
from layoutcheck.synthesis.shared import Shared
from layoutcheck.synthesis.threads import Threads
from layoutcheck.synthesis.wanted import TURNED_BY_WGMMA
from tests.forking import printed

MOST = 227 * 1024
NAMES = {value: key for key, value in CLASSES.items()}


@lru_cache(maxsize=1)
def rows() -> list[dict[str, Any]]:
    pytest.importorskip("cutlass")
    found = [
        json.loads(line)
        for line in printed("-m", "tests.synthesis.nvidia_layouts", arch="sm_90a").splitlines()
    ]
    unique = {json.dumps([v for k, v in row.items() if k != "helper"]): row for row in found}
    return list(unique.values())


@cache
def best(unit: str, tile: tuple[int, int], name: str, major: str) -> tuple[Space, dict[str, Found]]:
    """The space of an operand, and the best plan of each engine."""
    div = 128 // dtype(name).bits
    src = (
        f"(?,?{{div={div}}}):(?{{div={div}}},1)" if major == "K" else f"(?{{div={div}}},?):(1,?{{div={div}}})"
    )
    arch = "sm_90a" if unit == "wgmma" else "sm_100a"
    wanted = read(TileRequest(tile, src, f"{unit}.A", dtype=name, major=major, arch=arch))
    space = space_of(wanted)
    return space, by_engine(search(space, 1, MOST).found)


def by_engine(found: list[Found]) -> dict[str, Found]:
    engines: dict[str, Found] = {}
    for one in found:
        engines.setdefault(one.moves[0].kind, one)
    return engines


def width(move: Move) -> int:
    return move.width_bytes(move.deal.fast) if isinstance(move, Threads) else 16


def run_of(layout: Any, fast: int) -> int:
    """Elements of the contiguous mode that follow each other."""
    mode = layout[fast]
    return next(s for s, d in zip(flatten(mode.shape), flatten(mode.stride), strict=True) if d == 1)


def no_better(row: dict[str, Any]) -> bool:
    """Whether the layout is an operand's at all; asserts that none of ours is worse."""
    name, tile = NAMES[row["dtype"]], (row["tile"][0], row["tile"][1])
    if row["unit"] == "wgmma" and row["major"] == "MN" and name not in TURNED_BY_WGMMA:
        return False  # a layout that no wgmma reads (PTX ISA, wgmma.mma_async); synth refuses it
    layout, pointer = parse_layout(row["layout"]), parse_swizzle(row["swizzle"])
    if canonical(layout, name, row["major"], pointer, row["unit"]).verdict != "legal":
        return False
    space, ours = best(row["unit"], tile, name, row["major"])
    fast = 1 if row["major"] == "K" else 0
    theirs = Shared(
        layout, dtype(name), fast, run_of(layout, fast), pointer if pointer.bits else None, 0, "NVIDIA's"
    )
    found = by_engine(search(space._replace(layouts=[theirs]), 1, MOST).found)
    assert set(found) <= set(ours), row
    for engine, one in found.items():
        mine = ours[engine]
        assert mine.shared is not None
        assert mine.key[0] <= one.key[0], (row, engine, mine, one)
        assert mine.counts.wavefronts <= one.counts.wavefronts, (row, engine)
        assert mine.shared.size <= theirs.size, (row, engine)
        assert width(mine.moves[0]) >= width(one.moves[0]), (row, engine)
    return True


@pytest.mark.sweep
def test_nothing_that_any_of_nvidia_s_helpers_makes_is_better() -> None:
    judged = sum(map(no_better, rows()))
    assert judged > 1000
    print(f"{judged} layouts of {len(rows())} are operands' and none is better")
