from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutcheck.errors import InputError
from layoutcheck.machine import sectors
from layoutcheck.machine.sectors import global_sectors
from tests.machine import bank_oracle as oracle


@given(
    st.sampled_from([8, 16, 32, 64, 128]),
    st.lists(st.one_of(st.none(), st.integers(0, 300)), min_size=32, max_size=32),
)
@settings(max_examples=100, deadline=None)
def test_the_numpy_model_is_the_rule(width: int, slots: list[int | None]) -> None:
    lanes = [None if slot is None else slot * width // 8 for slot in slots]
    cost = global_sectors(lanes, width)
    assert (cost.sectors, cost.requests, cost.ideal, cost.bytes_used) == oracle.sectors(lanes, width)
    assert cost.bytes_moved == 32 * cost.sectors
    assert cost.efficiency == (cost.bytes_used / cost.bytes_moved if cost.sectors else 1.0)


@pytest.mark.parametrize(
    ("width", "stride", "expected"),
    [(32, 4, 4), (32, 8, 8), (32, 128, 32), (128, 16, 16), (16, 2, 2), (32, 0, 1), (128, 32, 32)],
)
def test_known_access_patterns(width: int, stride: int, expected: int) -> None:
    assert global_sectors([stride * lane for lane in range(32)], width).sectors == expected


def test_an_access_off_the_sector_grid_touches_one_more() -> None:
    assert global_sectors([4 * lane + 4 for lane in range(32)], 32).sectors == 5


def test_nothing_moves_without_a_lane() -> None:
    cost = global_sectors([None] * 32, 64)
    assert (cost.sectors, cost.requests, cost.ideal, cost.bytes_moved, cost.efficiency) == (0, 0, 0, 0, 1.0)


def test_bad_input_says_what_is_wrong() -> None:
    with pytest.raises(InputError, match="not a multiple of the access"):
        global_sectors([1] * 32, 32)
    with pytest.raises(InputError, match="no access is 256 bits wide"):
        sectors.sectors(np.zeros((1, 32), dtype=np.int64), 256)
    with pytest.raises(InputError, match="shape"):
        sectors.sectors(np.zeros((1, 8), dtype=np.int64), 32)


def test_the_examples_in_the_text() -> None:
    assert doctest.testmod(sectors).failed == 0
