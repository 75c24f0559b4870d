"""What `cp.async` costs: two machines under one name, found by measurement on an H200 (docs/banks.md).

**Through L1** (`.ca`, 4, 8 or 16 bytes). Words go from L1's data banks to shared memory's, which are the same
32 banks. A phase (as in `banks.py`) takes as many wavefronts as the busiest bank has lanes, on either side;
no two lanes share one, not even with the same address. Where both sides conflict it takes more than the
worse side: each bank of either side serves its lanes in order, so one that waits on one side holds up those
behind it on the other. `cached` counts that: a lower bound, which most rows and chunks take, and random
addresses on both sides exceed. Counters:
`smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts`,
`l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts` (destination conflicts).

**Past L1** (`.cg`, 16 bytes). Sectors arrive from L2 and are written line by line: a packet is one 128-byte
line of the source going into one 128-byte line of the destination, and costs a wavefront whatever the
banks. Bank conflicts do not exist here: a swizzle within the line changes nothing, in counters or in time.
What costs is scattering a source line over several destination lines, or half-sectors that land in
different sectors (the sector is then fetched twice). `bypass` reproduces the counters of every regular
pattern measured, and of random ones within one packet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from layoutcheck.errors import InputError
from layoutcheck.machine.arch import BANKS, LINE_BYTES, SECTOR_BYTES, WARP
from layoutcheck.machine.banks import CP_ASYNC, LANES_PER_PHASE, IntArray, shared_wavefronts, warp_addresses
from layoutcheck.machine.sectors import global_sectors

_HALF_BYTES = 16
_BANK_BYTES = 4
"""Of a bank's word [CPG]."""
_PER_LINE = LINE_BYTES // SECTOR_BYTES


class CpAsyncCost(NamedTuple):
    """One warp's `cp.async`: `wavefronts` (of `.cg`: packets) and sectors fetched, each with its ideal."""

    wavefronts: int
    ideal: int
    sectors: int
    ideal_sectors: int


def cached(shared: Sequence[int | None], globl: Sequence[int | None], width_bits: int) -> CpAsyncCost:
    """`cp.async.ca` of 32 lanes: byte addresses on both sides, None for a lane that is off.

    A lower bound where both sides conflict. Raises InputError as `shared_wavefronts` does.
    """
    _same_lanes(shared, globl)
    for side in (shared, globl):
        warp_addresses(side, width_bits, "sm_90")
    pairs = [None if at is None or frm is None else (at, frm) for at, frm in zip(shared, globl, strict=True)]
    per = LANES_PER_PHASE.get(width_bits, WARP)
    each = (pairs[first : first + per] for first in range(0, WARP, per))
    total = sum(_in_order([pair for pair in lanes if pair is not None], width_bits // 8) for lanes in each)
    fetched = global_sectors(globl, width_bits)
    phases = shared_wavefronts(shared, width_bits, op=CP_ASYNC).phases
    return CpAsyncCost(total, phases, fetched.sectors, fetched.ideal)


def _in_order(lanes: list[tuple[int, int]], width: int) -> int:
    """Wavefronts of one phase of lanes (to, from): a bank of either side serves the first that it has."""
    waiting, spent = lanes, 0
    while waiting:
        taken: tuple[set[int], set[int]] = set(), set()
        lanes, waiting, spent = waiting, [], spent + 1
        for lane in lanes:
            banks = [{(at + n) // _BANK_BYTES % BANKS for n in range(0, width, _BANK_BYTES)} for at in lane]
            if any(mine & theirs for mine, theirs in zip(banks, taken, strict=True)):
                waiting.append(lane)
            for mine, theirs in zip(banks, taken, strict=True):
                theirs |= mine
    return spent


def bypass(shared: Sequence[int | None], globl: Sequence[int | None]) -> CpAsyncCost:
    """`cp.async.cg` of 32 lanes, 16 bytes each: byte addresses on both sides, None for a lane that is off.

    Of lanes with the same destination only the last counts. Raises InputError as `shared_wavefronts` does.
    """
    _same_lanes(shared, globl)
    to, frm = (warp_addresses(side, 128, "sm_90")[None] for side in (shared, globl))
    return CpAsyncCost(*(int(one[0]) for one in bypasses(to, frm)))


class Bypasses(NamedTuple):
    """Many instructions at once, int64[instruction] each: as in `CpAsyncCost`."""

    wavefronts: IntArray
    ideal: IntArray
    sectors: IntArray
    ideal_sectors: IntArray


def bypasses(shared: IntArray, globl: IntArray) -> Bypasses:
    """Of many instructions: byte addresses int64[instruction, 32], negative for a lane that is off."""
    row, lane = np.nonzero((shared >= 0) & (globl >= 0))
    to, frm = shared[row, lane], globl[row, lane]
    order, first = _runs(row, to)
    row, to, frm = (one[order[np.append(first, len(order))[1:] - 1]] for one in (row, to, frm))
    size = np.bincount(row, minlength=len(shared)) * _HALF_BYTES
    # One packet moves sectors of one source line into one destination line, each the same way round.
    way = 1 << (frm // _HALF_BYTES % 2 * 2 + to // _HALF_BYTES % 2)
    frm, to = frm // SECTOR_BYTES, to // SECTOR_BYTES
    order, first = _runs(row, frm, to)
    way = np.bitwise_or.reduceat(way[order], first) if len(first) else way
    row, frm, to = (one[order][first] for one in (row, frm, to))
    order, first = _runs(row, frm // _PER_LINE, to // _PER_LINE, way)
    group = np.zeros(len(row), np.int64)
    group[order] = np.repeat(np.arange(len(first)), np.diff(first, append=len(row)))
    most = np.zeros(len(first), np.int64)
    for side in (frm, to):
        ordered, begins = _runs(group, side)
        np.maximum.at(most, group[ordered][begins], np.diff(begins, append=len(row)))
    packets = np.bincount(row[order][first], most, len(shared)).astype(np.int64)
    fetched = np.bincount(row, minlength=len(shared))
    return Bypasses(packets, -(-size // LINE_BYTES), fetched, -(-size // SECTOR_BYTES))


def _runs(*keys: IntArray) -> tuple[IntArray, IntArray]:
    """The order that sorts by these keys, the first before the others, and where equal ones begin in it."""
    order = np.lexsort(keys[::-1])
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = np.any([one[order][1:] != one[order][:-1] for one in keys], axis=0)
    return order, np.flatnonzero(fresh)


def _same_lanes(shared: Sequence[int | None], globl: Sequence[int | None]) -> None:
    if [at is None for at in shared] != [at is None for at in globl]:
        raise InputError("the two sides of a cp.async have different active lanes")
