"""What moves cost by where their lanes lie in shared memory: many moves are counted together."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.machine.banks import IntArray
from layoutcheck.machine.best_swizzle import BANK_SPAN_BYTES
from layoutcheck.machine.cost import Counts
from layoutcheck.synthesis.deals import starts
from layoutcheck.synthesis.moves import Move
from layoutcheck.synthesis.shared import Shared


class Banked(Move):
    """A move whose warp instructions cost what the places of their lanes in shared memory say."""

    @property
    def linear(self) -> bool:
        """Whether what places its accesses are powers of two."""
        raise NotImplementedError

    @property
    def beside(self) -> Callable[[IntArray], IntArray] | None:
        """Addresses of elements on the other side, where they cost too."""
        return None

    def way(self, fast: int) -> Hashable:
        """Moves of one way cost the same where their accesses along a mode begin at the same elements."""
        raise NotImplementedError

    def lanes(self, fast: int) -> IntArray:
        """The elements at which its first accesses along a mode start, int64[warp, 32]; OFF for no lane."""
        raise NotImplementedError

    def begins(self, fast: int) -> IntArray:
        """What each of a warp's accesses adds to them, the first nothing."""
        raise NotImplementedError

    def spent(self, index: IntArray, shared: Shared) -> tuple[IntArray, ...]:
        """What instructions cost that begin at these elements, int64[instruction] for each thing."""
        raise NotImplementedError

    def issued_counts(self, fast: int, spent: Sequence[int]) -> Counts:
        """With so much `spent` by all of them."""
        raise NotImplementedError

    def counts(self, shared: Shared) -> Counts:
        """With its conflicts."""
        return counted([self], shared)[0]


def counted(moves: Sequence[Move], shared: Shared) -> list[Counts]:
    """The counts of many moves: accesses of one way are counted together, the same accesses once.

    Of instructions that have the same conflicts one is counted (`alike`).
    """
    found = {move: move.counts(shared) for move in moves if not isinstance(move, Banked)}
    ways: dict[Hashable, dict[bytes, list[tuple[Banked, IntArray, IntArray]]]] = {}
    for move in moves:
        if isinstance(move, Banked):
            index, times = alike(move, shared)
            same = ways.setdefault(move.way(shared.fast), {}).setdefault(index.tobytes(), [])
            same.append((move, index, times))
    for members in ways.values():
        firsts = [those[0] for those in members.values()]
        spent = np.stack(firsts[0][0].spent(np.concatenate([index for _, index, _ in firsts]), shared))
        start = 0
        for those in members.values():
            end = start + len(those[0][1])
            for move, _, times in those:
                found[move] = move.issued_counts(shared.fast, (spent[:, start:end] @ times).tolist())
            start = end
    return [found[move] for move in moves]


def alike(move: Banked, shared: Shared) -> tuple[IntArray, IntArray]:
    """Instructions that stand for all, int64[instruction, 32], and for how many each stands.

    One, where addresses are linear over F2: instructions differ by an XOR, which parts no banks and joins
    none; one of those that lie whole lines apart on the side `beside`. Else one of those that lie whole
    patterns of banks apart, too.
    """
    lanes, begins = move.lanes(shared.fast), move.begins(shared.fast)
    if shared.columns is not None and move.linear:
        if move.beside is None:
            return lanes[:1], np.array([len(begins) * len(lanes)])
        index = starts(begins, lanes)
        first, times = _of_each(move.beside(index[:, 0]) % BANK_SPAN_BYTES)
        return index[first], times
    if not _add_up(begins, lanes, shared):
        return starts(begins, lanes), np.ones(len(begins) * len(lanes), np.int64)
    pattern = max(BANK_SPAN_BYTES, shared.swizzle.period if shared.swizzle else 0)
    apart = shared.plain[begins] % pattern
    if move.beside is not None:
        apart += move.beside(begins) % BANK_SPAN_BYTES * pattern
    first, times = _of_each(apart)
    return starts(begins[first], lanes), np.repeat(times, len(lanes))


def _of_each(values: IntArray) -> tuple[IntArray, IntArray]:
    """Where each distinct value stands first, and how often it occurs."""
    _, first, times = np.unique(values, return_index=True, return_counts=True)
    return first, times


def _add_up(begins: IntArray, lanes: IntArray, shared: Shared) -> bool:
    """Whether the address of a sum of elements is the sum of their addresses, before the swizzle."""
    extents: Any = shared.layout.shape
    rows = math.prod(flatten(extents[0]))
    for mode, parted in enumerate(shared.parted):
        if parted is not None:
            run = int(flatten(parted.shape)[0])
            most = sum(int(((at // rows if mode else at % rows) % run).max()) for at in (begins, lanes))
            if most >= run:
                return False
    return True
