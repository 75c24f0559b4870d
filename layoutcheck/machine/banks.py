"""Shared-memory wavefronts: how many passes through the 32 banks one warp instruction takes.

Shared memory has 32 banks, each 4 bytes wide; word `w` (byte address / 4) lies in bank `w % 32`
(CUDA C++ Best Practices Guide, "Shared Memory and Memory Banks"). A *wavefront* moves at most one word
a bank. Rules 1 to 3 are exact: they reproduced the counters of an H200 on every measured access
(docs/banks.md; `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st}`,
`l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{ld,st}`).

1. A warp's 32 lanes are served in *phases*, fixed runs of consecutive lanes: one of 32 for accesses of up
   to 32 bits, two of 16 for 64 bits, four of 8 for 128 bits. In `ldmatrix` and `stmatrix` a phase is the
   8 row addresses of one matrix.
2. A phase takes as many wavefronts as the busiest bank has *distinct* words in it (lanes that want the
   same word share it). A phase in which no lane is active takes none.
3. A *load* of 64 or 128 bits joins its phases in pairs when each active lane `i` has the same address as
   lane `i ^ 1`, or that lane is off, or when the same holds of lane `i ^ 2`. Stores never do, nor does
   ldmatrix. (Undocumented; found by measurement. The condition is asked of the warp as a whole.)
4. `cp.async` through L1 does not share: lanes that write the same word take turns. `cp.async.cg` goes past
   L1 and knows no banks: it takes a wavefront for each 128-byte line that it writes. (See cp_async.py, which
   counts the other side too.)

    >>> shared_wavefronts([16 * lane for lane in range(32)], 128).wavefronts   # four phases, no conflict
    4
    >>> shared_wavefronts([128 * lane for lane in range(32)], 128).conflicts   # all in banks 0-3: 8 ways
    28
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import BANKS, WARP, parse_arch
from layoutcheck.machine.arguments import public

IntArray = npt.NDArray[np.int64]

LANES_PER_PHASE = {8: 32, 16: 32, 32: 32, 64: 16, 128: 8}
OFF = -1  # the address of an inactive lane in an array

# How the lanes of an access share the banks; rules 1 and 2 are published, all were measured on sm_90 only.
LOAD, STORE, MATRIX, CP_ASYNC, CP_ASYNC_CG = "ld", "st", "matrix", "cp.async", "cp.async.cg"
OPS = (LOAD, STORE, MATRIX, CP_ASYNC, CP_ASYNC_CG)


class SharedCost(NamedTuple):
    """What one warp access costs in shared memory.

    `wavefronts` passes over `phases` phases; `conflicts = wavefronts - phases` is ncu's bank-conflict
    counter. `ways` is the most wavefronts any one phase takes, `phase` the first that takes them; there
    `banks` are the banks with that many words and `lanes` the lanes that use them.
    """

    wavefronts: int
    phases: int
    ways: int
    phase: int
    banks: tuple[int, ...]
    lanes: tuple[int, ...]

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond one a phase."""
        return self.wavefronts - self.phases


class Wavefronts(NamedTuple):
    """Many accesses at once: `wavefronts[access]`, `phases[access]` and `ways[access]` as in `SharedCost`."""

    wavefronts: IntArray
    phases: IntArray
    ways: IntArray


@public
def shared_wavefronts(
    addresses: Sequence[int | None], width_bits: int, arch: str = "sm_90", op: str = LOAD
) -> SharedCost:
    """The cost of one warp access of `width_bits` a lane at 32 byte addresses (None: the lane is off).

    `op` is "ld", "st", "matrix" (ldmatrix and stmatrix: lanes 8i to 8i+7 give the rows of matrix i, 128 bits
    each, None beyond the last matrix), "cp.async" (through L1) or "cp.async.cg" (past it: `phases` are the
    128-byte lines that would do, `ways` is wavefronts over phases, no bank is named). Raises InputError for
    anything else, for a number of addresses other than 32 and for an address that is negative or not a
    multiple of the access.
    """
    at = warp_addresses(addresses, width_bits, arch)
    _known_op(op, width_bits)
    if op == CP_ASYNC_CG:
        whole = _lines(at[None])
        total, needed, each = (int(n[0]) for n in (whole.wavefronts, whole.phases, whole.ways))
        return SharedCost(total, needed, each, 0, (), ())
    lanes_per_phase = LANES_PER_PHASE[width_bits]
    if op == LOAD and bool(_joins(at[None], width_bits)[0]):
        lanes_per_phase *= 2
    worst: tuple[int, int] = (0, 0)
    total = phases = 0
    for phase in range(WARP // lanes_per_phase):
        lanes = slice(phase * lanes_per_phase, (phase + 1) * lanes_per_phase)
        if (at[lanes] >= 0).any():
            ways = int(_per_bank(_words(at[None, lanes], width_bits), op)[0].max())
            total, phases = total + ways, phases + 1
            worst = max(worst, (ways, -phase))
    ways, phase = worst[0], -worst[1]
    first = phase * lanes_per_phase
    words = _words(at[None, first : first + lanes_per_phase], width_bits)
    banks = np.flatnonzero(_per_bank(words, op)[0] == ways) if ways else np.empty(0, np.int64)
    hit = np.isin(words[0] % BANKS, banks) & (words[0] >= 0)
    per_lane = hit.reshape(lanes_per_phase, -1).any(axis=1)
    lanes_hit = tuple(int(first + lane) for lane in np.flatnonzero(per_lane))
    return SharedCost(total, phases, ways, phase, tuple(int(b) for b in banks), lanes_hit)


def wavefronts(addresses: IntArray, width_bits: int, op: str = LOAD) -> Wavefronts:
    """The cost of many warp accesses: byte addresses int64[access, 32], `OFF` for an inactive lane.

    Raises InputError for a width or op that does not exist and for another shape.
    """
    _known_op(op, width_bits)
    if addresses.ndim != 2 or addresses.shape[1] != WARP:
        raise InputError(f"addresses have shape {addresses.shape}", expected="[access, 32]")
    count = len(addresses)
    if op == CP_ASYNC_CG:
        return _lines(addresses)
    lanes = LANES_PER_PHASE[width_bits]
    if op != LOAD or width_bits <= 32:
        return _by_phase(addresses, width_bits, op, lanes)
    joins = _joins(addresses, width_bits)
    if not joins.any():
        return _by_phase(addresses, width_bits, op, lanes)
    out = Wavefronts(*(np.zeros(count, np.int64) for _ in range(3)))
    for chosen, width in ((~joins, lanes), (joins, 2 * lanes)):
        part = _by_phase(addresses[chosen], width_bits, op, width)
        out.wavefronts[chosen], out.phases[chosen], out.ways[chosen] = part.wavefronts, part.phases, part.ways
    return out


# Per phase and bank: the words wanted there, each with the lanes that want it, in the order of the lanes.
Served = list[list[list[tuple[int, tuple[int, ...]]]]]


def served(addresses: IntArray, width_bits: int, op: str = LOAD) -> Served:
    """Which words each bank serves in each phase that has an active lane, and to which lanes.

    A phase takes as many wavefronts as its longest bank has words, so that the sum over the phases is
    `wavefronts`. `addresses` is int64[32] of one warp access, `OFF` for an inactive lane. Raises InputError
    for `cp.async.cg`, which knows no banks, and for a width or op that does not exist.
    """
    _known_op(op, width_bits)
    if op == CP_ASYNC_CG:
        raise InputError("cp.async.cg does not use the banks")
    lanes = LANES_PER_PHASE[width_bits]
    if op == LOAD and bool(_joins(addresses[None], width_bits)[0]):
        lanes *= 2
    out: Served = []
    for first in range(0, WARP, lanes):
        found: list[dict[tuple[int, int], list[int]]] = [{} for _ in range(BANKS)]
        rows = _words(addresses[None, first : first + lanes], width_bits).reshape(lanes, -1)
        for lane, words in enumerate(rows.tolist()):
            for word in words:
                if word >= 0:
                    turn = lane if op == CP_ASYNC else 0  # rule 4: nobody shares
                    found[word % BANKS].setdefault((word, turn), []).append(first + lane)
        if any(found):
            out.append([[(word, tuple(by)) for (word, _), by in bank.items()] for bank in found])
    return out


def moved(addresses: IntArray, width_bits: int, op: str) -> Moved:
    """What many aligned accesses, int64[access, 32], move phase by phase. Not of `cp.async.cg`."""
    lanes = LANES_PER_PHASE[width_bits]
    joins = _joins(addresses, width_bits) if op == LOAD else np.zeros(len(addresses), np.bool_)
    units, place, phases, sets = [], [], 0, BANKS
    for chosen, wide in ((~joins, lanes), (joins, 2 * lanes)):
        rows, sets = _units(addresses[chosen].reshape(-1, wide), width_bits)
        rows, fresh = _distinct(rows, op)
        first = np.arange(phases, phases + len(rows), dtype=np.int64)[:, None] * sets
        units.append(rows[fresh])
        place.append(((rows & (sets - 1)) + first)[fresh])
        phases += len(rows)
    return Moved(np.concatenate(units), np.concatenate(place), phases, sets)


class Moved(NamedTuple):
    """What the phases of many accesses move, each word (of wider accesses: each aligned run of them) once.

    `units` are addresses in such runs; `place` is the phase, times the `sets` of banks that a run may fill,
    plus the set that it does fill without a swizzle.
    """

    units: IntArray
    place: IntArray
    phases: int
    sets: int

    def under(self, swizzle: Swizzle) -> int:
        """The wavefronts with a swizzle of byte addresses that keeps each access whole, below bit 7.

        Such a swizzle moves whole words, and equal ones alike (what it does within a word moves no word).
        """
        unit_log2 = (BANKS * 4 // self.sets).bit_length() - 1
        changed = ((1 << swizzle.bits) - 1) << swizzle.base >> unit_log2
        place = self.place ^ (self.units >> swizzle.shift & changed)
        each = np.bincount(place, minlength=self.phases * self.sets)
        return int(each.reshape(self.phases, self.sets).max(axis=1).sum())


def _by_phase(addresses: IntArray, width_bits: int, op: str, lanes: int) -> Wavefronts:
    units, sets = _units(addresses.reshape(-1, lanes), width_bits)
    ways = _per_bank(units, op, sets).max(axis=1).reshape(len(addresses), WARP // lanes)
    return Wavefronts(ways.sum(axis=1), np.count_nonzero(ways, axis=1), ways.max(axis=1))


def _units(rows: IntArray, width_bits: int) -> tuple[IntArray, int]:
    """The words of each row, in 32 banks; of aligned accesses of several words, these, in sets of banks.

    int64[row, unit], negative where a lane is off; and the number of banks, or of sets of them.
    """
    each = width_bits // 32
    if each < 2 or (rows[rows >= 0] & (4 * each - 1)).any():
        return _words(rows, width_bits), BANKS
    return rows >> (4 * each).bit_length() - 1, BANKS // each


def _lines(addresses: IntArray) -> Wavefronts:
    """Rule 4 for cp.async.cg: distinct destination lines against the lines that the bytes would fill."""
    touched = distinct(np.sort(addresses >> 7, axis=1))
    needed = -(-np.count_nonzero(addresses >= 0, axis=1) // 8)
    return Wavefronts(touched, needed, -(-touched // np.maximum(needed, 1)))


def _words(rows: IntArray, width_bits: int) -> IntArray:
    """The words of each row of accesses: int64[row, lane * words]; negative where a lane is off."""
    if width_bits <= 32:
        return rows >> 2
    each = width_bits // 32
    off = np.arange(each, dtype=np.int64)
    words = ((rows >> 2)[:, :, None] + off).reshape(len(rows), rows.shape[1] * each)
    if (rows < 0).any():
        words[np.repeat(rows < 0, each, axis=1)] = OFF
    return words


def _per_bank(units: IntArray, op: str, sets: int = BANKS) -> IntArray:
    """How many units each row has in each set of banks, int64[row, sets]: distinct ones, but for cp.async."""
    units, fresh = _distinct(units, op)
    bins = (units & (sets - 1)) + (np.arange(len(units), dtype=np.int64) * sets)[:, None]
    return np.bincount(bins[fresh], minlength=len(units) * sets).reshape(len(units), sets)


def _distinct(units: IntArray, op: str) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """The rows in some order, and which of each row's units count: each once; all of them for cp.async."""
    if op == CP_ASYNC:
        return units, units >= 0
    units = np.sort(units, axis=1)
    return units, _first(units)


def distinct(rows: IntArray) -> IntArray:
    """How many distinct values that are not negative each sorted row has."""
    return np.count_nonzero(_first(rows), axis=1).astype(np.int64)


def _first(rows: IntArray) -> npt.NDArray[np.bool_]:
    """Where each value of a sorted row that is not negative stands first."""
    fresh = rows >= 0
    fresh[:, 1:] &= rows[:, 1:] != rows[:, :-1]
    return fresh


def _joins(addresses: IntArray, width_bits: int) -> npt.NDArray[np.bool_]:
    """Whether a load's phases join in pairs (rule 3): bool[access]."""
    if width_bits <= 32:
        return np.zeros(len(addresses), np.bool_)
    joined = np.zeros(len(addresses), np.bool_)
    lane = np.arange(WARP)
    for distance in (1, 2):
        other = addresses[:, lane ^ distance]
        joined |= ((addresses == other) | (addresses < 0) | (other < 0)).all(axis=1)
    return joined


def warp_addresses(addresses: Sequence[int | None], width_bits: int, arch: str) -> IntArray:
    """The 32 addresses as an array, `OFF` for None; raises InputError for unusable ones."""
    parse_arch(arch)
    if width_bits not in LANES_PER_PHASE:
        raise InputError(f"no access is {width_bits} bits wide", expected="8, 16, 32, 64 or 128")
    lanes: list[Any] = list(addresses)
    if len(lanes) != WARP:
        raise InputError(f"a warp has 32 addresses, not {len(lanes)}")
    size = width_bits // 8
    for lane, at in enumerate(lanes):
        if at is None:
            continue
        if not isinstance(at, (int, np.integer)) or isinstance(at, bool):
            raise InputError(f"lane {lane}: {at!r} is not an address", expected="an integer or None")
        if at < 0 or at >= 1 << 62:
            raise InputError(f"lane {lane}: {at} is not an address", expected="0 to 2^62")
        if at % size:
            raise InputError(f"lane {lane}: address {at:#x} is not a multiple of the access, {size} bytes")
    return np.array([OFF if at is None else int(at) for at in lanes], dtype=np.int64)


def _known_op(op: str, width_bits: int) -> None:
    if width_bits not in LANES_PER_PHASE:
        raise InputError(f"no access is {width_bits} bits wide", expected="8, 16, 32, 64 or 128")
    if op not in OPS:
        raise InputError(f"unknown shared-memory access '{op[:20]}'", expected=f"one of {', '.join(OPS)}")
    if op in (MATRIX, CP_ASYNC_CG) and width_bits != 128:
        raise InputError(f"{'a matrix row' if op == MATRIX else op} is 128 bits, not {width_bits}")
