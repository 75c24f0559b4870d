from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from layoutcheck.errors import InputError
from layoutcheck.machine.banks import shared_wavefronts
from layoutcheck.machine.cp_async import bypass, bypasses, cached

STRAIGHT = [16 * lane for lane in range(32)]


def test_contiguous_copies_are_ideal_both_ways() -> None:
    through, past = cached(STRAIGHT, STRAIGHT, 128), bypass(STRAIGHT, STRAIGHT)
    assert (through.wavefronts, through.ideal, through.sectors) == (4, 4, 16)
    assert (past.wavefronts, past.ideal, past.sectors) == (4, 4, 16)


@pytest.mark.parametrize("swizzle", [0, 4])
def test_past_l1_there_are_no_banks(swizzle: int) -> None:
    """64-byte rows, pitch 128: 2-way or, swizzled, conflict-free; on the H200 8 packets both times."""
    rows = [128 * (i // 4) + 16 * ((i % 4) ^ (i // 4 % 2) * swizzle) for i in range(32)]
    assert shared_wavefronts(rows, 128, op="cp.async").wavefronts == (4 if swizzle else 8)
    assert bypass(rows, STRAIGHT).wavefronts == 8


def test_through_l1_the_source_conflicts_too() -> None:
    """Measured: stride 256 B in global memory, contiguous in shared: 32 wavefronts, 32 sectors."""
    apart = [256 * lane for lane in range(32)]
    cost = cached(STRAIGHT, apart, 128)
    assert (cost.wavefronts, cost.sectors) == (32, 32)


@pytest.mark.parametrize(
    ("width", "to", "frm", "measured"),
    [
        # Two rows of 64 bytes, a 16-byte chunk of each into one line: plans that ncu counted on an H200.
        (8, lambda i: i % 2 * 8 + i % 8 // 2 * 128 + i // 8 * 16, lambda i: i % 8 * 8 + i // 8 * 4096, 10),
        (4, lambda i: i % 8 * 4 + i // 8 % 2 * 512 + i // 16 * 32, lambda i: i % 16 * 4 + i // 16 * 4096, 3),
    ],
)
def test_lanes_that_wait_on_one_side_hold_up_the_other(
    width: int, to: Callable[[int], int], frm: Callable[[int], int], measured: int
) -> None:
    cost = cached([to(i) for i in range(32)], [frm(i) for i in range(32)], 8 * width)
    sides = (shared_wavefronts([at(i) for i in range(32)], 8 * width, op="cp.async") for at in (to, frm))
    assert cost.wavefronts == measured > max(side.wavefronts for side in sides)


def test_as_measured() -> None:
    """Counters of an H200: packets and sectors."""
    assert bypass([16 * (31 - i) for i in range(32)], STRAIGHT).wavefronts == 4
    pitch48 = bypass([48 * i for i in range(32)], STRAIGHT)
    assert (pitch48.wavefronts, pitch48.sectors) == (24, 32)
    dropped = bypass([16 * (i & ~4) for i in range(32)], STRAIGHT)
    assert (dropped.wavefronts, dropped.sectors) == (4, 8)
    some: list[int | None] = [16 * i if i < 23 else None for i in range(32)]
    assert bypass(some, some).wavefronts == 4


def test_many_warps_at_once_are_as_each_alone() -> None:
    """Strided, repeated and idle lanes; one warp without any."""
    rng = np.random.default_rng(3)
    to, frm = 16 * rng.integers(0, [[16], [64], [512]] * 20, (60, 32)), 16 * rng.integers(0, 256, (60, 32))
    off = rng.random((60, 32)) < np.linspace(0, 1, 60)[:, None]
    to[off], frm[off] = -1, -1
    lanes = [[[None if at < 0 else int(at) for at in row] for row in side] for side in (to, frm)]
    each = [bypass(*both) for both in zip(*lanes, strict=True)]
    assert np.array(each).T.tolist() == np.array(bypasses(to, frm)).tolist()
    assert len({one.wavefronts for one in each}) > 10 and each[-1] == (0, 0, 0, 0)


def test_no_lane_and_bad_lanes() -> None:
    off: list[int | None] = [None] * 32
    assert bypass(off, off).wavefronts == cached(off, off, 128).wavefronts == 0
    with pytest.raises(InputError, match="different active lanes"):
        bypass(off, STRAIGHT)
    with pytest.raises(InputError, match="not a multiple"):
        bypass([8 * i for i in range(32)], STRAIGHT)
