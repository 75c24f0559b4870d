"""Arenas: addresses to units of an image and back, what images hold, and what does not fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.copies.addresses import PRIVATE
from layoutcheck.copies.lanes import LANE_APART_BYTES
from layoutcheck.gpu.images import (
    GUARD_BYTES,
    OUTSIDE,
    PAGE_BYTES,
    POISON,
    SHARED_START,
    ZERO,
    arena,
    coded,
    packed,
    poison,
    turns,
    unpacked,
)

UNIT_BITS = st.sampled_from([4, 8])


@given(st.integers(0, 1 << 40), st.lists(st.integers(-5000, 5000), min_size=1, max_size=8), UNIT_BITS)
def test_every_touched_address_is_inside_with_a_guard_around_it(
    base: int, steps: list[int], unit_bits: int
) -> None:
    base += 1 << 20
    per_byte = 8 // unit_bits
    touched = (base + np.array(steps)) * per_byte
    place = arena("gmem", base, False, [touched], unit_bits)
    at = place.index(touched)
    assert (at >= GUARD_BYTES * per_byte).all()
    assert (at < place.units - GUARD_BYTES * per_byte + per_byte).all()
    assert (np.diff(at) == np.diff(touched)).all()
    assert place.place(base) % PAGE_BYTES == base % PAGE_BYTES  # alignment and swizzles mean the same
    assert (at // per_byte % PAGE_BYTES == (base + np.array(steps)) % PAGE_BYTES).all()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 900)), min_size=1, max_size=8))
def test_private_register_files_get_a_chunk_each(places: list[tuple[int, int]]) -> None:
    base = 1 << 12
    touched = np.array([base + thread * PRIVATE + byte for thread, byte in places])
    place = arena("rmem", base, False, [touched], 8)
    at = place.index(touched)
    assert (at // place.chunk_bytes == [thread for thread, _ in places]).all()
    assert len(np.unique(at)) == len(np.unique(touched))
    assert place.chunks == max(thread for thread, _ in places) + 1


def test_unknown_rows_of_lanes_get_a_chunk_each() -> None:
    base = 1 << 14
    touched = base + np.arange(4) * LANE_APART_BYTES
    place = arena("smem", base, True, [touched], 8)
    assert (np.diff(place.index(touched)) == place.chunk_bytes).all()


def test_shared_addresses_are_the_machines_own() -> None:
    place = arena("smem", 1 << 14, False, [np.array([1 << 14, (1 << 14) + 63])], 8)
    assert place.index(np.array([1 << 14]))[0] == (1 << 14) - SHARED_START
    assert place.size_bytes % 16 == 0


def test_far_addresses_are_outside() -> None:
    base = 1 << 30
    place = arena("gmem", base, False, [np.array([base, base + (1 << 26)])], 8)
    assert place.index(np.array([base + (1 << 26)]))[0] == OUTSIDE
    assert place.size_bytes < 1 << 16


@given(st.integers(1, 1 << 20), UNIT_BITS)
def test_turns_tell_every_source_unit_apart(units: int, unit_bits: int) -> None:
    count = turns(units, unit_bits)
    assert count >= 2
    sample = np.unique(np.array([0, 1, units // 2, units - 1]))
    none = np.zeros(1, dtype=np.int64)
    digits = np.stack([coded(sample, turn, unit_bits, none) for turn in range(count)])
    assert len(np.unique(digits, axis=1).T) == len(sample)
    assert (sum(d.astype(object) << (turn * unit_bits) for turn, d in enumerate(digits)) == sample).all()


@pytest.mark.parametrize("unit_bits", [4, 8])
def test_untouched_units_differ_from_turn_to_turn(unit_bits: int) -> None:
    contents = np.array([POISON, ZERO, 5])
    seen = [coded(contents, turn, unit_bits, poison(3, turn, unit_bits)) for turn in range(2)]
    assert seen[0][0] != seen[1][0]
    assert [v[1] for v in seen] == [0, 0]
    assert [v[2] for v in seen] == [5, 0]


@given(st.lists(st.integers(0, 15), min_size=2, max_size=40).filter(lambda v: len(v) % 2 == 0), UNIT_BITS)
def test_packing_goes_both_ways(values: list[int], unit_bits: int) -> None:
    data = packed(np.array(values), unit_bits)
    assert len(data) * 8 == len(values) * unit_bits
    assert unpacked(data, unit_bits).tolist() == values
