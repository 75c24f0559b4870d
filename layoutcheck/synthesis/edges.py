"""Lines, pairs of lines and pairs of sectors of which the runs of a tile, or one instruction, take a part."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from layoutcheck.copies.memref import Memref
from layoutcheck.machine.arch import LINE_BYTES, SECTOR_BYTES
from layoutcheck.machine.banks import IntArray
from layoutcheck.synthesis.moves import Direct, Move
from layoutcheck.synthesis.program import each
from layoutcheck.synthesis.shared import Shared
from layoutcheck.synthesis.threads import Threads
from layoutcheck.synthesis.wanted import BYTE, Wanted, fast_mode

PAIR_BYTES, SPLIT_BYTES = 2 * LINE_BYTES, 2 * SECTOR_BYTES
"""What memory takes at once of what is written, at best and at least (docs/evidence/synthesis_pace.json)."""
MOST_PIECES = 64
"""Instructions that stand for all of a tile's."""


def left(last: Move, shared: Shared | None, wanted: Wanted) -> dict[str, float]:
    """The shares of the written bytes in pairs of lines, or of sectors, that are not written at once."""
    (cut, whole), (sectors_cut, sectors) = (
        [_unfilled(move, shared, wanted, unit) for move in (None, last)] for unit in (PAIR_BYTES, SPLIT_BYTES)
    )
    return {
        "write_cut": cut,
        "write_apart": max(0.0, whole - cut),
        "write_split": max(0.0, sectors - sectors_cut),
        "write_late": _late(wanted),
    }


def live(wanted: Wanted) -> float:
    """Bytes of the lines, of one block, that a tile takes in part."""
    found = 0
    for tensor in (None if wanted.accumulator else wanted.src, wanted.dst):
        fast = None if tensor is None else fast_mode(tensor)
        if tensor is not None and fast is not None and wanted.tile[fast] * tensor.element_bytes % LINE_BYTES:
            found += wanted.tile[1 - fast] * LINE_BYTES
    return float(found)


class Lines(NamedTuple):
    """Lines of a tile, `parts` that its runs take in part, `halves` of which they bring one half alone."""

    all: float = 0.0
    parts: float = 0.0
    halves: float = 0.0


def lines(tensor: Memref | None, wanted: Wanted) -> Lines:
    """Of a tile of a tensor, on average over tiles side by side.

    Memory gives two sectors at once, and L2 keeps what the run before brought too much.
    """
    fast = None if tensor is None else fast_mode(tensor)
    if tensor is None or fast is None:
        return Lines()
    run = wanted.tile[fast] * tensor.element_bytes
    starts = np.array(places(run, LINE_BYTES))
    touched = -(-(starts + run) // LINE_BYTES) - starts // LINE_BYTES
    whole = np.maximum(0, (starts + run) // LINE_BYTES + -starts // LINE_BYTES)
    first, last = (-(-at // SPLIT_BYTES) for at in (starts, starts + run))
    alone = np.where(first < last, first % 2 + last % 2, 0)
    share = wanted.tile[1 - fast] / len(starts)
    return Lines(*(share * float(one.sum()) for one in (touched, touched - whole, alone)))


def places(run: int, unit: int) -> range:
    """Where the runs of tiles side by side begin, until one begins in a unit as the first does."""
    return range(0, math.lcm(run, unit), run)


def _unfilled(last: Move | None, shared: Shared | None, wanted: Wanted, unit: int) -> float:
    """The share of the written bytes in units that no one instruction or row of a box fills; None: no run."""
    fast = None if wanted.dst is None else fast_mode(wanted.dst)
    if wanted.dst is None or fast is None:
        return 0.0
    run = wanted.tile[fast] * wanted.dst.element_bytes
    starts = np.array(places(run, unit))[:, None]
    first, size = _pieces(last, shared, run)
    whole = np.maximum(0, (starts + first + size) // unit + (-starts - first) // unit) * unit
    return 1 - float(whole.sum() / (len(starts) * size.sum()))


def _late(wanted: Wanted) -> float:
    """The share of the written bytes in pairs of lines within which a block goes on to its next tile."""
    if wanted.dst is None or not wanted.divided or fast_mode(wanted.dst) != 1:
        return 0.0
    run, unit = wanted.tile[1] * wanted.dst.element_bytes, PAIR_BYTES
    row, starts = run * each(wanted), places(run * each(wanted), unit)
    ends = ((at, at + end) for at in starts for end in range(run, row, run))
    pairs = {(at, end // unit * unit) for at, end in ends if end % unit}
    return sum(min(at + row, pair + unit) - max(at, pair) for at, pair in pairs) / (len(starts) * row)


def _pieces(last: Move | None, shared: Shared | None, run: int) -> tuple[IntArray, IntArray]:
    """Where what instructions write without a gap begins within a row of the tensor, and how long it is."""
    if isinstance(last, Direct) and len(last.sides) > 1:
        (outer, mode), deal = last.sides[1], last.deal
    elif isinstance(last, Threads) and last.outer is not None and not last.into:
        outer, deal, mode = last.outer, last.deal, last.deal.fast
    else:
        box = run if last is None or shared is None else shared.run * shared.element.bits // BYTE
        return np.arange(0, run, box), np.full(run // box, box)
    stride: Any = outer.tile.layout.stride
    width, pitch = deal.width(mode) * outer.tile.element_bytes, max(stride) * outer.tile.element_bytes
    firsts, sizes = [], []
    for row in outer.addresses(deal.accesses(mode)[:MOST_PIECES]):
        at = np.unique(row[row >= 0])
        begin = np.flatnonzero(np.diff(at, prepend=at[0] - 2 * width) != width)
        firsts.append(at[begin] % pitch)
        sizes.append(np.diff(begin, append=len(at)) * width)
    return np.concatenate(firsts), np.concatenate(sizes)
