"""Bulk copies in the shadows of global memory: which cells they reach, and which events are left out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from layoutcheck.order.between import _overlap
from layoutcheck.order.global_memory import CELL, GlobalMemory


def _event(kind: str, bulk: Any, doubt: bool = False) -> Any:
    return SimpleNamespace(meaning=SimpleNamespace(kind=kind), bulk=bulk, doubt=doubt, guarded=False)


def _memory(*events: Any) -> GlobalMemory:
    clocks = SimpleNamespace(
        bulk_writes=lambda warp: 100 + warp, bulk_reads=lambda warp: 200 + warp, known=np.full((2, 4, 300), 9)
    )
    world: Any = SimpleNamespace(
        events=list(events), blocks=[], threads=64, clocks=clocks, skip=lambda _why: None
    )
    return GlobalMemory(world)


WARP: Any = SimpleNamespace(number=1, first=32)
FIRST, SECOND = 4096, 1 << 20


def test_a_bulk_store_is_written_down_where_it_goes_and_nowhere_else() -> None:
    lanes = np.full(64, FIRST) + np.arange(64) * 2 * CELL
    memory = _memory(_event("bulk_store", (2 * CELL, lanes)), _event("bulk_load", (CELL, SECOND)))
    assert [(low, high) for low, high, _ in memory.ranges] == [
        (FIRST, FIRST + 128 * CELL), (SECOND, SECOND + CELL)
    ]  # fmt: skip
    memory.store_in_bulk(WARP, 0, 0, 5)  # at the beginning of its range
    memory.store_in_bulk(WARP, 0, 35, 6)
    shadow, other = (one for _, _, one in memory.ranges)
    assert np.flatnonzero(shadow.by_proxy).tolist() == [0, 1, 70, 71]
    assert shadow.written[[0, 1, 70, 71]].tolist() == [5, 5, 6, 6] and set(shadow.writer[[0, 70]]) == {101}
    assert shadow.record[[1, 70]].tolist() == [0, 35] and not other.by_proxy.any()


@pytest.mark.parametrize("doubt", [False, True])
def test_a_bulk_store_at_an_address_that_is_not_known_is_left_out(doubt: bool) -> None:
    memory = _memory(
        _event("bulk_load", (CELL, FIRST)),
        _event("bulk_store", (CELL, FIRST), doubt),
        _event("bulk_store", None),
    )
    memory.store_in_bulk(WARP, 1, 0, 5)
    memory.store_in_bulk(WARP, 2, 0, 5)
    ((_, _, shadow),) = memory.ranges
    assert shadow.by_proxy.tolist() == [not doubt, False]
    assert bool(_memory(_event("bulk_store", (CELL, FIRST), doubt)).ranges) == (not doubt)
    memory.load(WARP, 2, 0)
    assert not shadow.readers


def test_a_bulk_load_is_written_down_where_it_reads() -> None:
    memory = _memory(_event("bulk_load", (2 * CELL, FIRST)), _event("bulk_load", (CELL, SECOND)))
    memory.load(WARP, 1, 40)
    shadow, other = (one for _, _, one in memory.ranges)
    assert not shadow.readers and list(other.readers) == [201]
    steps, records = other.readers[201]
    assert (records[0], steps[1:].tolist()) == (1 << 10 | 40, [0])  # the other one is not read


def test_only_accesses_that_may_meet_are_compared() -> None:
    spans = np.array([0, 64, 128, 512]), np.array([64, 80, 256, 576])
    others = np.array([300, 80, 63]), np.array([512, 128, 64])
    assert _overlap(spans, others).tolist() == [True, False, False, False]
    assert _overlap(others, spans).tolist() == [False, False, True]
    assert _overlap(spans, (np.zeros(0), np.zeros(0))).tolist() == [False] * 4
