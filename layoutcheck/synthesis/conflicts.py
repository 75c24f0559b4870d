"""Wavefronts of moves that meet banks: many moves are counted together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.machine import banks
from layoutcheck.machine.banks import IntArray
from layoutcheck.machine.best_swizzle import BANK_SPAN_BYTES
from layoutcheck.machine.cost import Counts
from layoutcheck.synthesis.deals import starts
from layoutcheck.synthesis.moves import Move
from layoutcheck.synthesis.shared import Shared


class Banked(Move):
    """A move whose accesses of shared memory have bank conflicts."""

    @property
    def meets_banks(self) -> bool:
        """Whether they do: not those of `cp.async.cg`."""
        return True

    @property
    def op(self) -> str:
        """Of `machine.banks`."""
        raise NotImplementedError

    @property
    def linear(self) -> bool:
        """Whether what places its accesses are powers of two."""
        raise NotImplementedError

    def width_bytes(self, mode: int) -> int:
        """Of an access along a mode."""
        raise NotImplementedError

    def lanes(self, fast: int) -> IntArray:
        """The elements at which its first accesses along a mode start, int64[warp, 32]; OFF for no lane."""
        raise NotImplementedError

    def begins(self, fast: int) -> IntArray:
        """What each of a warp's accesses adds to them, the first nothing."""
        raise NotImplementedError

    def issued_counts(self, fast: int, spent: int) -> Counts:
        """With so many wavefronts in shared memory."""
        raise NotImplementedError


def wavefronts(moves: Sequence[Banked], shared: Shared) -> list[int]:
    """Of each move's accesses of shared memory: those of one width together, the same accesses once.

    Of instructions that have the same conflicts one is counted (`alike`).
    """
    total = [0] * len(moves)
    stand = [alike(move, shared) for move in moves]
    groups: dict[tuple[str, int], dict[bytes, list[int]]] = {}
    for n, (move, (index, _)) in enumerate(zip(moves, stand, strict=True)):
        group = groups.setdefault((move.op, move.width_bytes(shared.fast)), {})
        group.setdefault(index.tobytes(), []).append(n)
    for (op, width), members in groups.items():
        some = [stand[those[0]][0] for those in members.values()]
        spent = banks.wavefronts(shared.at(np.concatenate(some)), width * 8, op).wavefronts
        start = 0
        for index, those in zip(some, members.values(), strict=True):
            each = spent[start : start + len(index)]
            start += len(index)
            for n in those:
                total[n] = int(each @ stand[n][1])
    return total


def counted(moves: Sequence[Move], shared: Shared) -> list[Counts]:
    """The counts of many moves of one kind, together."""
    many = [move for move in moves if isinstance(move, Banked) and move.meets_banks]
    spent = dict(zip(many, wavefronts(many, shared), strict=True))
    return [
        move.issued_counts(shared.fast, spent[move])
        if isinstance(move, Banked) and move in spent
        else move.counts(shared)
        for move in moves
    ]


def alike(
    move: Banked, shared: Shared, beside: Callable[[IntArray], IntArray] | None = None
) -> tuple[IntArray, IntArray]:
    """Instructions that stand for all, int64[instruction, 32], and for how many each stands.

    One, where addresses are linear over F2: instructions differ by an XOR, which parts no banks and joins
    none. Else one of those that lie whole patterns of banks apart; with other addresses `beside`, there too.
    """
    lanes, begins = move.lanes(shared.fast), move.begins(shared.fast)
    if shared.columns is not None and move.linear:
        return lanes[:1], np.array([len(begins) * len(lanes)])
    if not _add_up(begins, lanes, shared):
        return starts(begins, lanes), np.ones(len(begins) * len(lanes), np.int64)
    pattern = max(BANK_SPAN_BYTES, shared.swizzle.period if shared.swizzle else 0)
    apart = shared.plain[begins] % pattern
    if beside is not None:
        apart += beside(begins) % BANK_SPAN_BYTES * pattern
    times = Counter(apart.tolist())
    one_of_each = dict(zip(apart.tolist(), begins.tolist(), strict=True))
    return (
        starts(np.array([one_of_each[which] for which in times]), lanes),
        np.repeat(np.array([*times.values()]), len(lanes)),
    )


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
