"""`Products`: every execution of a product's instruction, with what its operands held.

The element (m, n) of an accumulator is named by the address of an element of row m of A and of one of row n
of B, those of the first product of its sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from layoutcheck.dsl.lowered.record import Mask
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.dsl.lowered.values import for_all
from layoutcheck.provenance.deeds import Deed
from layoutcheck.provenance.fragments import (
    LANES,
    accumulator_cells,
    accumulator_registers,
    described,
    operand_registers,
    read_instruction,
)
from layoutcheck.provenance.judged import Names
from layoutcheck.provenance.refs import FLAGS, GLOBAL, JOINED, MIXED, PRODUCT, UNKNOWN, Array
from layoutcheck.provenance.replay import Replay
from layoutcheck.provenance.sides import Named, Side, side
from layoutcheck.sources.mlir import Operation

_DESCRIPTOR = "a matrix descriptor with a base offset, or beyond shared memory"
_MOVED = "sums whose elements change their places from one instruction to the next"
_MOST_COLUMNS = 1 << 12
WARPGROUP = 4 * LANES  # PTX ISA, wgmma: four warps, the first of a rank that is a multiple of 4
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8}


def _grouped(rows: Array, size: int) -> Array:
    """(groups, size, columns) of what each thread has; the last threads of a block may be part of a group."""
    whole = len(rows) // size
    return rows[: whole * size].reshape(whole, size, rows.shape[1])


def _whole(active: Mask, size: int) -> Mask:
    """Which groups of so many threads all take part, (groups,)."""
    return np.logical_and.reduce(active[: len(active) // size * size].reshape(-1, size), 1)


@dataclass(slots=True)
class Execution:
    """One execution of an instruction by warps, or warpgroups (`groups`): its operands, and its sums.

    `sums` (groups, rows, columns) are the numbers of its accumulators, `turns` (groups,) how often these were
    stored before: what is stored is one sum, what goes on from there is another.
    """

    op: Operation
    block: int
    a: Side
    b: Side
    sums: Array
    groups: Array
    bits: int
    turns: Array

    @property
    def names(self) -> Array:
        """One number for each sum, (groups,)."""
        return self.sums[:, 0, 0] + (self.block << 48) + (self.turns << 52)


@dataclass(slots=True)
class Products:
    """`met` is every instruction that was executed; `unknown` says why some executions could not be read.

    `mixed` are those that add a row of an operand to sums that began with another: the letter, the row, its
    address, that of the other, and the bits of an element. `running`: sums may go on from tile to tile.
    """

    replay: Replay
    names: Names = field(default_factory=lambda: Names({}))
    own: int = field(init=False)
    row_of: list[Array] = field(init=False)
    column_of: list[Array] = field(init=False)
    group_of: list[Array] = field(init=False)  # the warp or warpgroup of each sum
    _at: list[Array] = field(init=False)  # the shape and the place in it where each sum was met first
    _turns: list[Array] = field(init=False)  # how often each sum was stored, and went on
    executions: list[Execution] = field(default_factory=list)
    met: dict[Operation, None] = field(default_factory=dict)
    unknown: dict[Operation, str] = field(default_factory=dict)
    mixed: dict[Operation, tuple[str, int, int, int, int]] = field(default_factory=dict)
    # Add to tensor memory that nothing has written.
    unset: dict[Operation, None] = field(default_factory=dict)
    running: bool = False
    _waiting: dict[Deed, Mask] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # A block's own references, and behind them those of what its pair's other block multiplies for both.
        self.own = max(one.references for one in self.replay.blocks)
        self.row_of, self.column_of, self.group_of, self._at, self._turns = (
            [np.zeros(2 * self.own, np.int64) for _ in self.replay.blocks] for _ in range(5)
        )

    def take(self, block: int, deed: Deed, mask: Mask | None) -> None:
        """One execution by the threads of `mask`."""
        self.met[deed.op] = None
        threads = self.replay.blocks[block].watched.launch.threads
        active = np.ones(threads, bool) if mask is None else mask.copy()
        if deed.mask is not None:
            active &= deed.mask
        if deed.kind == "wgmma":  # the warps of a warpgroup may come one by one
            waiting = self._waiting.pop(deed, np.zeros(threads, bool)) | active
            active = np.zeros(threads, bool)
            whole = np.repeat(_whole(waiting, WARPGROUP), WARPGROUP)
            active[: len(whole)] = whole
            if (waiting & ~active).any():
                self._waiting[deed] = waiting & ~active
            if not active.any():
                return
        if deed.lost:
            self.unknown.setdefault(deed.op, deed.lost)
            return
        judge = {"mma": self._mma, "wgmma": self._wgmma, "tcgen05": self._tcgen05}
        why = judge[deed.kind](block, deed, active)
        if why:
            self.unknown.setdefault(deed.op, why)

    def _mma(self, block: int, deed: Deed, active: Mask) -> str:
        shape = deed.facts["shape"]
        if len(shape) != 3 or shape[:2] != (16, 8):
            return "an mma.sync of another shape than m16n8k"
        depth = shape[2]
        a, b, result = deed.refs
        bits = a.shape[1] * 8 * LANES // (16 * depth)
        if bits not in (8, 16, 32) or b.shape[1] * 8 * LANES != 8 * depth * bits:
            return "elements of less than a byte, or registers of another count"
        warps = np.flatnonzero(_whole(active, LANES))
        if not warps.size:
            return "" if not active.any() else "an mma.sync by part of a warp"
        left = self._registers(block, a, "A", bits, depth, warps, 16)
        right = self._registers(block, b, "B", bits, depth, warps, 8)
        self._note(block, deed.op, left, right, self._sums(result, warps, 8, 1), warps, bits)
        return ""

    def _registers(
        self, block: int, refs: Array, letter: str, bits: int, depth: int, warps: Array, rows: int
    ) -> Array:
        """(warps, rows, k) labels of an operand in registers."""
        own = _grouped(refs, LANES)[warps][:, :, :: bits // 8]
        labels = self.replay.resolved(block, own)
        row, k = operand_registers(letter, labels.shape[2], bits)
        found = np.zeros((len(warps), rows, depth), np.int64)
        found[:, row, k] = labels
        return found

    @staticmethod
    def _sums(result: Array, groups: Array, columns: int, warps: int) -> Array:
        """(groups, rows, columns) references of accumulators."""
        elements = 16 * columns // LANES
        own = result[:, :: max(1, result.shape[1] // elements)][:, :elements]
        each = _grouped(own, warps * LANES)[groups].reshape(-1, warps, LANES, elements)
        m, n = accumulator_registers(elements)
        found = np.zeros((len(groups), warps, 16, columns), np.int64)
        found[:, :, m, n] = each
        return found.reshape(len(groups), 16 * warps, columns)

    def _wgmma(self, block: int, deed: Deed, active: Mask) -> str:
        match = deed.facts["match"]
        if match is None or ".sp" in match[0]:
            return "a sparse wgmma"
        rows, columns, depth = (int(match[i]) for i in (1, 2, 3))
        bits = _BITS.get(match[5].split("x")[0], 0)
        if not bits:
            return "a wgmma of elements of less than a byte"
        groups = np.flatnonzero(_whole(active, WARPGROUP))
        if not groups.size:
            return "" if not active.any() else "a wgmma by part of a warpgroup"
        *registers, result = deed.refs
        majors = deed.facts["majors"]
        right = self._described(block, deed, -1, columns, depth, bits, majors[-1], groups)
        if registers:
            whole = np.concatenate([np.broadcast_to(r, (len(active), r.shape[1])) for r in registers], 1)
            warps = (groups[:, None] * 4 + np.arange(4)).reshape(-1)
            left: Array | None = self._registers(block, whole, "A", bits, depth, warps, 16)
            assert left is not None
            left = left.reshape(len(groups), rows, depth)
        else:
            left = self._described(block, deed, 0, rows, depth, bits, majors[0], groups)
        if left is None or right is None:
            return _DESCRIPTOR
        self._note(block, deed.op, left, right, self._sums(result, groups, columns, 4), groups, bits)
        return ""

    def _described(
        self, block: int, deed: Deed, which: int, rows: int, depth: int, bits: int, major: str, groups: Array
    ) -> Array | None:
        """(groups, rows, k) labels of an operand in shared memory."""
        found = []
        for group in groups:
            value = np.atleast_1d(np.asarray(deed.numbers[which], np.int64))
            descriptor = int(value[min(WARPGROUP * int(group), len(value) - 1)]) & ((1 << 64) - 1)
            at = described(descriptor, rows, depth, bits, major)
            if at is None or int(at.max()) >= len(self.replay.shared[block]):
                return None
            found.append(self.replay.shared[block][at])
        return np.stack(found)

    def _tcgen05(self, block: int, deed: Deed, active: Mask) -> str:
        rows = np.flatnonzero(active)
        if not rows.size:
            return ""
        first = int(rows[0])
        d, a, b, word, adds = (int(for_all(n, len(active))[first]) for n in deed.numbers)
        it = read_instruction(word, deed.facts["kind"])
        blocks = [block]
        if deed.facts["pair"]:
            blocks = sorted({block, block ^ 1})
            if len(blocks) > len(self.replay.blocks):
                return "a tcgen05.mma of two blocks, one of which is not followed"
        each = it.rows // len(blocks) if it is not None else 0
        if it is None or each not in (64, 128):
            return "a tcgen05.mma of narrow elements in bytes, of K = 96, or of results that are not 32 bits"
        whole, own = (1 << 64) - 1, it.columns // len(blocks)
        columns = [self._smem(one, b & whole, own, it.depth, it.bits, it.major_b) for one in blocks]
        if any(one is None for one in columns):
            return _DESCRIPTOR
        right = np.concatenate([one for one in columns if one is not None])[None]
        for one in blocks:
            if deed.facts["in_tensor_memory"]:
                left = self._in_lanes(one, a, each, it.depth, it.bits, len(blocks) > 1)
            else:
                left = self._smem(one, a & whole, each, it.depth, it.bits, it.major_a)
            if left is None:
                return _DESCRIPTOR
            base = deed.base + (0 if one == block else self.own)
            sums = self._cells(one, deed.op, base, d, each, it.columns, len(blocks) > 1, bool(adds & 1))
            if sums is None:
                return "accumulators outside tensor memory"
            self._note(one, deed.op, left[None], right, sums[None], np.array([0]), it.bits)
        return ""

    def _smem(
        self, block: int, descriptor: int, rows: int, depth: int, bits: int, major: str
    ) -> Array | None:
        """(rows, k) labels of an operand of tcgen05 in shared memory."""
        at = described(descriptor, rows, depth, bits, major, tcgen05=True)
        shared = self.replay.shared[block]
        return None if at is None or int(at.max()) >= len(shared) else shared[at]

    def _in_lanes(self, block: int, at: int, rows: int, depth: int, bits: int, pair: bool) -> Array | None:
        """(rows, k) labels of A in tensor memory: a row a lane. A pair's 64 rows are there twice."""
        first = 4 * (at & 0xFFFF)
        tensor = self.replay.tensor[block].labels
        if at >> 16 or first + depth * bits // 8 > tensor.shape[1]:
            return None
        cells = accumulator_cells(rows, 1 if rows == 128 or not pair else 2, pair)
        if cells is None:
            return None
        found = [tensor[lanes, first : first + depth * bits // 8 : bits // 8] for lanes in cells[0].T]
        return found[0] if all((one == found[0]).all() for one in found) else None

    def _cells(
        self, block: int, op: Operation, base: int, at: int, rows: int, columns: int, pair: bool, adds: bool
    ) -> Array | None:
        """(rows, columns) references of accumulators in tensor memory, new where they do not count."""
        tensor, first = self.replay.tensor[block].labels, at & 0xFFFF
        cells = accumulator_cells(rows, columns, pair)
        if cells is None:
            return None
        place = cells[0] + (at >> 16), cells[1] + first
        tensor, begun = (one.reshape(len(one), -1, 4) for one in (tensor, self.replay.tensor[block].begun))
        if any(int(one.max()) >= many for one, many in zip(place, tensor.shape, strict=False)):
            return None
        old = tensor[place][..., 0]
        if adds and not begun[place][..., 0].any():
            self.unset[op] = None
        begun[place] = True
        new = PRODUCT | (base + np.arange(rows * columns, dtype=np.int64).reshape(rows, columns))
        kept = np.where(((old & PRODUCT) != 0) & adds, old, new)
        tensor[place] = kept[..., None]
        return kept

    def _names(self, block: int, labels: Array) -> Named:
        """The names of rows and columns of products; one name for what was multiplied with one another."""
        row_of, column_of = self.row_of[block], self.column_of[block]
        met = self.replay.blocks[block].met
        if not met.size or not (labels & JOINED).any():
            return lambda index: (row_of[index], column_of[index])
        met = self.replay.resolved(block, met) & ~JOINED
        a, b = met[:, ((met & PRODUCT) != 0).all(0) & ((met & FLAGS) == 0).all(0)] & ~PRODUCT
        return lambda index: (_renamed(row_of[index], row_of[a], row_of[b]),
                              _renamed(column_of[index], column_of[a], column_of[b]))  # fmt: skip

    def _side(self, block: int, labels: Array) -> Side:
        whole = self.replay.pairs.element(labels)
        return side(labels | MIXED if whole is None else whole, self._names(block, labels))

    def _note(
        self, block: int, op: Operation, left: Array, right: Array, sums: Array, groups: Array, bits: int
    ) -> None:
        row_of, column_of = self.row_of[block], self.column_of[block]
        a, b = (self._side(block, labels) for labels in (left, right))
        index = sums & ~(PRODUCT | FLAGS)
        known_a, known_b = not a.reason and a.scrambled is None, not b.reason and b.scrambled is None
        rows = np.broadcast_to(a.rows[:, :, None] if known_a else np.int64(UNKNOWN), index.shape)
        columns = np.broadcast_to(b.rows[:, None, :] if known_b else np.int64(UNKNOWN), index.shape)
        new = row_of[index] == 0
        self.group_of[block][index] = groups[:, None, None]
        row_of[index] = np.where(new, rows, row_of[index])
        column_of[index] = np.where(new, columns, column_of[index])
        gone, turns = self.replay.left[block], self._turns[block]
        turns[index] += gone[index]
        gone[index] = False
        moved = self._moved(block, index)
        carried = index[moved & (turns[index] > 0)]  # to other rows once it was stored, as in a scan
        row_of[carried] = column_of[carried] = UNKNOWN
        if (moved & (turns[index] == 0)).any():
            self.unknown.setdefault(op, _MOVED)
            for letter, one, before in (("A", a, row_of[index]), ("B", b, column_of[index].swapaxes(1, 2))):
                other = _other_row(one, before)
                if other is not None:
                    self.mixed.setdefault(op, (letter, *other, bits))
        self.executions.append(Execution(op, block, a, b, index, groups, bits, turns[index].max((1, 2))))

    def _moved(self, block: int, index: Array) -> Array:
        """Which sums stand elsewhere than an instruction of the same shape had them."""
        _, rows, columns = index.shape
        place = np.arange(rows)[:, None] * _MOST_COLUMNS + np.arange(columns) + 1
        here, known = place + (rows * _MOST_COLUMNS + columns) * _MOST_COLUMNS**2, self._at[block]
        before = known[index]
        known[index] = np.where(before == 0, here, before)
        alike = before // _MOST_COLUMNS**2 == here // _MOST_COLUMNS**2
        return alike & (before != here)


def _other_row(one: Side, before: Array) -> tuple[int, int, int] | None:
    """A row, its address and that of the row with which (groups, rows, ...) sums began, where these differ.

    Both are of one tensor, and the rows of all sums are as far from those before as k has gone.
    """
    rows = np.broadcast_to(one.rows[:, :, None], before.shape)
    plain = not one.reason and one.scrambled is None and bool((rows >= GLOBAL).all())
    if not plain or (before // GLOBAL_STEP != rows // GLOBAL_STEP).any():
        return None
    for g, apart in enumerate(rows - before):
        values, counts = np.unique(apart, return_counts=True)
        usual = min(values[counts == counts.max()], key=abs)
        if len(values) > 1:
            m, n = (int(i) for i in np.argwhere(apart != usual)[0])
            return m, int(rows[g, m, n]), int(before[g, m, n])
    return None


def _renamed(names: Array, to: Array, of: Array) -> Array:
    """`names` with each of `of` replaced by the first of `to` beside it."""
    old, first = np.unique(of, return_index=True)
    if not old.size:
        return names
    at = np.minimum(np.searchsorted(old, names), len(old) - 1)
    return np.where(old[at] == names, to[first][at], names)
