"""`TensorMemory`: who reaches which lane, and stores of what nothing has written."""

from __future__ import annotations

from typing import Any

import numpy as np

from layoutcheck.provenance.deeds import Deed
from layoutcheck.provenance.tensor_memory import TensorMemory
from layoutcheck.sources.mlir import Operation

LOAD, STORE = Operation("nvvm.tcgen05.ld"), Operation("llvm.store")
LANE = 1 << 16
CELLS = np.repeat(np.arange(32)[:, None], 4, 1), np.repeat(np.arange(4)[None], 32, 0)  # 32x32b, one register
WARPS = np.arange(128) // 32


def _load(at: Any) -> Deed:
    return Deed("tensor_load", LOAD, None, at=at, width=4, base=8, facts={"cells": CELLS})


def _memory() -> TensorMemory:
    memory = TensorMemory(8 + 4 * 128, begun=False)
    memory.begun[:64, :4] = True
    memory.labels[:, :4] = np.arange(128)[:, None]
    return memory


def test_each_warp_reaches_its_lanes() -> None:
    memory, every = _memory(), np.ones(128, bool)
    found = memory.load(_load(LANE * 32 * WARPS), every)
    assert found is not None and found[:, 0].tolist() == list(range(128)) and not memory.foreign
    memory.load(_load(0), every)  # the first warp's slice in all of them
    assert memory.foreign == {LOAD: (32, 0)}


def test_threads_of_a_warp_have_the_address_of_the_first() -> None:
    memory = _memory()
    found = memory.load(_load(LANE * np.arange(128)), np.ones(128, bool))
    assert found is not None and found[:, 0].tolist() == list(range(128)) and not memory.foreign


def test_stores_of_what_nothing_has_written() -> None:
    """The lanes of the last two warps, of which the second half is not stored."""
    memory = _memory()
    memory.load(_load(LANE * 32 * WARPS), np.ones(128, bool))
    refs = 8 + np.arange(4 * 128).reshape(128, 4)
    memory.stored(STORE, refs[:64])
    assert not memory.bare
    memory.stored(STORE, refs[32:96])
    assert memory.bare == {STORE: (LOAD, 32, 128)}


def test_what_is_stored_or_written_anywhere_counts_as_written() -> None:
    every, refs = np.ones(128, bool), 8 + np.arange(4 * 128).reshape(128, 4)
    for forgets in (False, True):
        memory = _memory()
        if forgets:
            memory.forget()
        else:
            assert memory.store(_load(LANE * 32 * WARPS), every, refs)
        memory.load(_load(LANE * 32 * WARPS), every)
        memory.stored(STORE, refs)
        assert not memory.bare


def test_warps_of_a_second_warpgroup_reach_the_lanes_of_the_first() -> None:
    memory, warps = TensorMemory(8 + 4 * 256, begun=True), np.arange(256) // 32 % 4
    memory.labels[:, :4] = np.arange(128)[:, None]
    found = memory.load(_load(LANE * 32 * warps), np.ones(256, bool))
    assert found is not None and found[128:, 0].tolist() == list(range(128)) and not memory.foreign


def test_nobody_is_in_a_foreign_lane_where_the_shape_is_not_known() -> None:
    memory, deed = _memory(), _load(0)
    deed.facts = {"cells": None}
    memory.load(deed, np.ones(128, bool))
    assert not memory.foreign


def test_a_column_that_is_not_there_is_not_loaded() -> None:
    assert _memory().load(_load(512), np.ones(32, bool)) is None
