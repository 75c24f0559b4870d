"""Runs of consecutive addresses, and how they are written into a picture's data-* attributes.

A thread's runs are tokens separated by blanks, `instruction:offset+units`; runs at regular distances are one
token with the count and both steps behind it:

    0:0+16            instruction 0 moves 16 units at offset 0
    0:0+16x4/1/4096   and instruction 1 moves 16 at 4096, 2 at 8192, 3 at 12288
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from layoutcheck.copies.offsets import IntArray

Run = tuple[int, int, int]  # instruction, offset, units


def runs_of(moves: IntArray) -> IntArray:
    """int64[run, 5] of moves [instruction, thread, unit]: thread, instruction, address, units, first unit.

    Negative addresses stand for nothing and are left out. Ordered by thread, then by instruction.
    """
    by_thread = moves.transpose(1, 0, 2)
    _, instructions, units = by_thread.shape
    if not moves.size:
        return np.empty((0, 5), np.int64)
    begins = np.ones(by_thread.shape, np.bool_)
    begins[:, :, 1:] = by_thread[:, :, 1:] != by_thread[:, :, :-1] + 1
    at = np.flatnonzero(begins)
    length = np.diff(np.append(at, by_thread.size))
    flat = by_thread.reshape(-1)[at]
    thread, rest = np.divmod(at, instructions * units)
    instruction, unit = np.divmod(rest, units)
    found: IntArray = np.stack((thread, instruction, flat, length, unit), axis=1)
    return found[flat >= 0]


def pieces(addresses: IntArray) -> IntArray:
    """int64[run, 2]: (address, units) of the runs that the set of addresses consists of, ascending."""
    at = np.unique(addresses)
    at = at[at >= 0]
    if not at.size:
        return np.empty((0, 2), np.int64)
    first = np.flatnonzero(np.append(True, np.diff(at) != 1))
    out: IntArray = np.stack((at[first], np.diff(np.append(first, at.size))), axis=1)
    return out


def encode(runs: Sequence[Run]) -> str:
    """The runs as tokens."""
    out = []
    i = 0
    while i < len(runs):
        instruction, offset, units = runs[i]
        count = 1
        step = (0, 0)
        if i + 1 < len(runs):
            step = (runs[i + 1][0] - instruction, runs[i + 1][1] - offset)
            while i + count < len(runs) and runs[i + count] == (
                instruction + count * step[0], offset + count * step[1], units,
            ):  # fmt: skip
                count += 1
        token = f"{instruction}:{offset}+{units}"
        out.append(token if count < 2 else f"{token}x{count}/{step[0]}/{step[1]}")
        i += count
    return " ".join(out)
