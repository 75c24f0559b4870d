from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.errors import InputError
from layoutcheck.machine import banks
from layoutcheck.machine.banks import shared_wavefronts
from tests.machine import bank_oracle as oracle

OPS_OF = {8: ("ld", "st", "cp.async"), 16: ("ld", "st", "cp.async"), 32: ("ld", "st", "cp.async")}
OPS_OF |= {64: OPS_OF[32], 128: ("ld", "st", "cp.async", "matrix")}


@st.composite
def accesses(draw: st.DrawFn) -> tuple[list[int | None], int, str]:
    width = draw(st.sampled_from([8, 16, 32, 64, 128]))
    op = draw(st.sampled_from(OPS_OF[width]))
    span = draw(st.sampled_from([4, 16, 64, 1024]))
    slots = st.integers(0, span - 1)
    keep = draw(st.sampled_from([31, 30, 29, 28, 24, 15]))  # lanes that differ in the other bits repeat
    chosen = draw(st.lists(slots, min_size=32, max_size=32))
    off = draw(st.sets(st.integers(0, 31), max_size=32)) if draw(st.booleans()) else set()
    lanes = [None if i in off else chosen[i & keep] * width // 8 for i in range(32)]
    return lanes, width, op


@given(accesses(), accesses(), st.integers(0, 6), st.integers(1, 7), st.integers(0, 4))
@settings(max_examples=150, deadline=None)
def test_what_phases_move_is_counted_under_a_swizzle_as_its_addresses_are(
    access: tuple[list[int | None], int, str], more: tuple[list[int | None], int, str],
    base: int, bits: int, further: int,
) -> None:  # fmt: skip
    """The oracle's own count of the swizzled addresses; whole accesses, within 128 bytes."""
    lanes, width, op = access
    base = max(base, (width // 8).bit_length() - 1)
    bits = min(bits, 7 - base)
    swizzle = Swizzle(bits, base, bits + further)
    second = [at if at is None else at // (width // 8) * (width // 8) for at in more[0]]
    moved = banks.moved(
        np.array([[-1 if at is None else at for at in one] for one in (lanes, second)]), width, op
    )
    assert moved.under(swizzle) == sum(
        oracle.wavefronts([at if at is None else swizzle(at) for at in one], width, op)[0]
        for one in (lanes, second)
    )


@given(accesses())
@settings(max_examples=150, deadline=None)
def test_the_numpy_model_is_the_rule(access: tuple[list[int | None], int, str]) -> None:
    lanes, width, op = access
    expected = oracle.wavefronts(lanes, width, op)
    one = shared_wavefronts(lanes, width, op=op)
    assert (one.wavefronts, one.phases, one.ways) == expected
    assert one.conflicts == expected[0] - expected[1]
    array = np.array([[-1 if at is None else at for at in lanes]] * 2)
    many = banks.wavefronts(array, width, op)
    assert [(int(many.wavefronts[i]), int(many.phases[i]), int(many.ways[i])) for i in (0, 1)] == [
        expected
    ] * 2


@given(st.lists(accesses(), min_size=1, max_size=6))
@settings(max_examples=25, deadline=None)
def test_a_batch_is_its_accesses_one_by_one(batch: list[tuple[list[int | None], int, str]]) -> None:
    _, width, op = batch[0]
    rows = [[at and at // (w // 8) * (width // 8) for at in lanes] for lanes, w, _ in batch]
    array = np.array([[-1 if at is None else at for at in row] for row in rows])
    many = banks.wavefronts(array, width, op)
    assert list(many.wavefronts) == [shared_wavefronts(row, width, op=op).wavefronts for row in rows]


@pytest.mark.parametrize(
    ("stride", "wavefronts", "conflicts"), [(1, 1, 0), (2, 2, 1), (32, 32, 31), (33, 1, 0)]
)
def test_strided_words_as_measured(stride: int, wavefronts: int, conflicts: int) -> None:
    cost = shared_wavefronts([4 * stride * lane for lane in range(32)], 32)
    assert (cost.wavefronts, cost.conflicts) == (wavefronts, conflicts)


@pytest.mark.parametrize(("width", "phases"), [(8, 1), (16, 1), (32, 1), (64, 2), (128, 4)])
def test_contiguous_accesses_never_conflict(width: int, phases: int) -> None:
    cost = shared_wavefronts([lane * width // 8 for lane in range(32)], width)
    assert (cost.wavefronts, cost.phases, cost.ways) == (phases, phases, 1)


def test_loads_of_equal_neighbours_join_their_phases_and_stores_do_not() -> None:
    pairs = [lane // 2 * 16 for lane in range(32)]
    assert shared_wavefronts(pairs, 128).wavefronts == 2
    assert shared_wavefronts(pairs, 128, op="st").wavefronts == 4
    assert shared_wavefronts(pairs, 128, op="matrix").wavefronts == 4
    assert shared_wavefronts([lane // 2 * 8 for lane in range(32)], 64).wavefronts == 1


def test_cp_async_lanes_do_not_share_a_word() -> None:
    assert shared_wavefronts([0] * 32, 32, op="cp.async").wavefronts == 32
    assert shared_wavefronts([0] * 32, 32, op="st").wavefronts == 1


def test_the_worst_phase_is_named_with_its_banks_and_lanes() -> None:
    lanes: list[int | None] = [16 * lane for lane in range(32)]
    lanes[11] = lanes[10] + 128  # type: ignore[operator]
    cost = shared_wavefronts(lanes, 128)
    assert (cost.ways, cost.phase, cost.banks, cost.lanes) == (2, 1, (8, 9, 10, 11), (10, 11))
    assert cost.conflicts == 1


def test_no_active_lane_costs_nothing() -> None:
    cost = shared_wavefronts([None] * 32, 128)
    assert (cost.wavefronts, cost.phases, cost.ways, cost.banks, cost.lanes) == (0, 0, 0, (), ())


@pytest.mark.parametrize(
    ("lanes", "width", "keywords", "message"),
    [
        ([0] * 31, 32, {}, "32 addresses, not 31"),
        ([0] * 32, 48, {}, "no access is 48 bits wide"),
        ([0] * 31 + [2], 32, {}, "lane 31: address 0x2 is not a multiple of the access, 4 bytes"),
        ([-4] * 32, 32, {}, "lane 0: -4 is not an address"),
        (["x"] * 32, 32, {}, "lane 0: 'x' is not an address"),
        ([1 << 70] * 32, 32, {}, "is not an address"),
        ([0] * 32, 32, {"arch": "sm_20"}, "unknown architecture 'sm_20'"),
        ([0] * 32, 32, {"op": "atom"}, "unknown shared-memory access 'atom'"),
        ([0] * 32, 32, {"op": "matrix"}, "a matrix row is 128 bits, not 32"),
    ],
)
def test_bad_input_says_what_is_wrong(
    lanes: list[int], width: int, keywords: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError) as error:
        shared_wavefronts(lanes, width, **keywords)
    assert message in str(error.value)


def test_a_batch_needs_32_lanes() -> None:
    with pytest.raises(InputError, match="shape"):
        banks.wavefronts(np.zeros((2, 16), dtype=np.int64), 32)


def test_the_examples_in_the_text() -> None:
    assert doctest.testmod(banks).failed == 0


@given(accesses())
@settings(max_examples=150, deadline=None)
def test_what_is_served_takes_as_many_wavefronts_as_are_counted(
    access: tuple[list[int | None], int, str],
) -> None:
    lanes, width, op = access
    at = banks.warp_addresses(lanes, width, "sm_90")
    turns = [max(map(len, phase)) for phase in banks.served(at, width, op)]
    assert sum(turns) == banks.wavefronts(at[None], width, op).wavefronts[0]


def test_a_lane_that_is_off_has_no_part_in_a_conflict_of_the_last_bank() -> None:
    found = shared_wavefronts([124, 252, *[None] * 30], 32)
    assert (found.wavefronts, found.banks, found.lanes) == (2, (31,), (0, 1))
