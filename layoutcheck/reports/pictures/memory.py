"""`Map`: the memory of one side laid out in rows, as the tensor's own pitch cuts it.

A row begins at a multiple of the pitch (registers: a row is a thread's own), a column is a cell of one
element, or less where accesses begin inside elements. Rows that nobody names or touches are left out, so a
matrix of pitch 129 takes no more room than one of 128.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import IntArray
from layoutcheck.reports.pictures.runs import runs_of
from layoutcheck.reports.pictures.scene import Scene, local

_NARROWEST_BYTES = 16  # a row of memory shorter than one vector shows nothing
_WIDEST_CELLS = 256
# Tensor memory: an address has the lane above 16 bits of 32-bit column (PTX ISA, tcgen05).
_LANE_BITS = 32 << 16


@dataclass(frozen=True)
class Map:
    """Where a side's addresses are drawn. Offsets are in units from the scene's origin of the side.

    `runs` int64[run, 5]: thread, instruction (or element, of what is asked), offset, units, owner (of
    registers; else 0). `asked`
    int64[run, 3]: offset, units, owner. Cells are `cell` units; `starts` are the offsets of the rows
    (of registers: the owners), `first` the unit within a row at which column 0 begins.
    """

    side: str
    kind: str
    private: bool
    pitch: int
    cell: int
    first: int
    columns: int
    starts: IntArray
    runs: IntArray
    asked: IntArray
    lanes: bool = False  # rows are the lanes of tensor memory

    @property
    def rows(self) -> int:
        """How many rows are drawn."""
        return len(self.starts)

    def place(self, offset: IntArray, owner: IntArray) -> tuple[IntArray, IntArray]:
        """(row, column) of offsets; columns may be fractions of a cell where cells are larger than units."""
        keys = owner if self.private else offset // self.pitch
        row = np.searchsorted(self._keys, keys)
        column = (offset if self.private else offset % self.pitch) - self.first
        return row, column // self.cell

    @cached_property
    def _keys(self) -> IntArray:
        return self.starts if self.private else self.starts // self.pitch

    def labels(self, first: int = 0, most: int | None = None) -> list[str]:
        """What stands at the left of the rows from `first` on, of `most`."""
        return [self.label(row) for row in range(self.rows)[first:][:most]]

    def label(self, row: int) -> str:
        """What stands at the left of a row."""
        start = int(self.starts[row])
        if self.kind == "tile":
            return str(start // self.pitch)
        if self.lanes:
            return f"lane {start // self.pitch}"
        return f"T{start}" if self.private else f"{start:+}"

    def offset(self, row: int, column: int) -> int:
        """The offset of a cell (within its thread's registers, for them)."""
        start = 0 if self.private else int(self.starts[row])
        return start + self.first + column * self.cell


def memory_map(scene: Scene, side: str, kind: str = "moved") -> Map:
    """The map of one side: who touches what (`kind` "moved"), or whose view names what ("asked")."""
    private = scene.private(side)
    memref = scene.memref(side)
    runs = runs_of(scene.moves(side) if kind == "moved" else scene.wants(side))
    if kind == "asked":
        runs = joined(runs)
    owner, offset = local(scene, side, runs[:, 2])
    moved = np.stack((runs[:, 0], runs[:, 1], offset, runs[:, 3], owner), axis=1)
    asked = _asked(scene, side)
    pitch = 1 << 40 if private else pitch_units(memref, scene.unit_bits)
    moved, asked = cut(moved, 2, pitch), cut(asked, 0, pitch)
    touched = np.concatenate((moved[:, 2:], asked))  # offset, units, owner
    keys = np.unique(touched[:, 2] if private else touched[:, 0] // pitch)
    within = touched[:, 0] if private else touched[:, 0] % pitch
    first, last = int(within.min()), int((within + touched[:, 1]).max())
    element = max(1, memref.dtype.bits // scene.unit_bits)
    cell = math.gcd(element, int(np.gcd.reduce(np.append(within, touched[:, 1]))))
    first -= first % cell
    columns = -(-(last - first) // cell)
    starts = keys if private else keys * pitch
    lanes = memref.space == "tmem"
    return Map(side, kind, private, pitch, cell, first, columns, starts, moved, asked, lanes)


def joined(runs: IntArray) -> IntArray:
    """Runs of elements, those of one thread that follow each other in its view and in memory made one."""
    step = np.diff(runs, axis=0)
    follows = (step[:, 0] == 0) & (step[:, 1] == 1) & (step[:, 2] == runs[:-1, 3]) & (step[:, 3] == 0)
    first = np.flatnonzero(np.append(True, ~follows))
    out = runs[first].copy()
    out[:, 3] = np.add.reduceat(runs[:, 3], first)
    return out


def _asked(scene: Scene, side: str) -> IntArray:
    """int64[run, 3]: offset, units, owner of all that the layouts name, each address once."""
    at = scene.asks(side).reshape(-1)
    at = np.unique(at[at >= 0])
    first = np.flatnonzero(np.append(True, np.diff(at) != 1)) if at.size else np.empty(0, np.int64)
    owner, offset = local(scene, side, at[first])
    out: IntArray = np.stack((offset, np.diff(np.append(first, at.size)), owner), axis=1)
    return out


def cut(runs: IntArray, at: int, pitch: int) -> IntArray:
    """The runs, cut where rows end; column `at` is the offset, the next one the units."""
    while True:
        room = pitch - runs[:, at] % pitch
        over = runs[:, at + 1] > room
        if not over.any():
            return runs
        head, tail = runs.copy(), runs[over].copy()
        head[over, at + 1] = room[over]
        tail[:, at] += room[over]
        tail[:, at + 1] -= room[over]
        runs = np.insert(head, np.flatnonzero(over) + 1, tail, axis=0)


def pitch_units(memref: Memref, unit_bits: int) -> int:
    """Units of one row: the first stride beyond the contiguous part, which is at least `_NARROWEST_BYTES`."""
    bits = memref.dtype.bits
    if memref.space == "tmem":
        return _LANE_BITS // unit_bits
    run = 1
    for stride, extent in _modes(memref.layout):
        if run * bits >= 8 * _NARROWEST_BYTES or stride * bits >= 8 * _NARROWEST_BYTES:
            if stride > 1:
                return max(1, stride * bits // unit_bits)
        elif stride > run:
            return max(_NARROWEST_BYTES * 8 // unit_bits, stride * bits // unit_bits)
        if stride <= run:
            run = max(run, stride * extent)
    return max(1, min(run, _WIDEST_CELLS) * bits // unit_bits)


def _modes(layout: Layout) -> list[tuple[int, int]]:
    """(|stride|, extent) of the modes that move, by stride."""
    modes = zip(flatten(layout.stride), flatten(layout.shape), strict=True)
    return sorted((abs(d), s) for d, s in modes if d != 0 and s != 1)


def axes(memref: Memref, map_: Map) -> tuple[str, str]:
    """What rows and columns are, in words."""
    if map_.private:
        return "thread", "register byte"
    modes = memref.layout.modes
    along = [_run_along(i, mode, map_, memref) for i, mode in enumerate(modes)]
    columns = next((name for name, kind in along if kind == "columns"), "")
    rows = next((name for name, kind in along if kind == "rows"), "")
    return rows, columns


def _run_along(index: int, mode: Layout, map_: Map, memref: Memref) -> tuple[str, str]:
    strides = [d for d, _ in _modes(mode)]
    name = f"mode {index}"
    if not strides:
        return name, ""
    unit_pitch = map_.pitch
    element = max(1, unit_pitch * 8 // memref.dtype.bits) if memref.dtype.bits >= 8 else unit_pitch
    if strides[0] == 1:
        return name, "columns"
    return name, "rows" if strides[0] % element == 0 else ""
