"""Wavefronts of moves that meet banks: many moves are counted together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from layoutcheck.machine import banks
from layoutcheck.machine.banks import IntArray
from layoutcheck.machine.cost import Counts
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

    def index(self, fast: int) -> IntArray:
        """The elements at which its accesses along a mode start, int64[instruction, 32]; OFF for no lane."""
        raise NotImplementedError

    def issued_counts(self, fast: int, spent: int) -> Counts:
        """With so many wavefronts in shared memory."""
        raise NotImplementedError


def wavefronts(moves: Sequence[Banked], shared: Shared) -> list[int]:
    """Of each move's accesses of shared memory: those of one width are counted together.

    Where every instruction of a move has the same conflicts, one is counted (`alike`).
    """
    total = [0] * len(moves)
    groups: dict[tuple[str, int], list[int]] = {}
    for n, move in enumerate(moves):
        groups.setdefault((move.op, move.width_bytes(shared.fast)), []).append(n)
    for (op, width), members in groups.items():
        rows = [alike(moves[n], shared) for n in members]
        spent = banks.wavefronts(
            shared.at(np.concatenate([index for index, _ in rows])), width * 8, op
        ).wavefronts
        start = 0
        for n, (index, times) in zip(members, rows, strict=True):
            total[n] = int(spent[start : start + len(index)].sum()) * times
            start += len(index)
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


def alike(move: Banked, shared: Shared) -> tuple[IntArray, int]:
    """Instructions that stand for all, and for how many each stands.

    One, where addresses are linear over F2: instructions differ by an XOR, which parts no banks and joins
    none.
    """
    index = move.index(shared.fast)
    if shared.columns is not None and move.linear:
        return index[:1], len(index)
    return index, 1
