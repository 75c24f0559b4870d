"""`Replay`: the deeds of a cluster's blocks on labelled shared memory, in an order in which they can run.

A label is a reference that stands for itself (`refs`): the address of a byte of global memory, an element of
a product, 0 or UNKNOWN. Data is taken to arrive when its copy is issued: what
is read too early is for `order`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutcheck.atoms.tma.descriptor import SPAN_BYTES, SWIZZLES, Descriptor
from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.matrices import matrix_register, transposed_register
from layoutcheck.dsl.lowered.record import Mask, Number
from layoutcheck.dsl.lowered.values import for_all
from layoutcheck.order.budget import OutOfTime
from layoutcheck.provenance.deeds import Deed, Followed
from layoutcheck.provenance.fragments import matrix_bytes
from layoutcheck.provenance.moved import Moves, pair
from layoutcheck.provenance.pairs import Pairs
from layoutcheck.provenance.refs import FLAGS, GLOBAL, MASKED, MIXED, PRODUCT, UNKNOWN, Array
from layoutcheck.provenance.tensor_memory import TensorMemory
from layoutcheck.sources.mlir import Operation

_SPAN = 256 * 1024  # bytes of shared memory of a block


@dataclass(slots=True)
class Stored:
    """Labels that a store of a block puts at addresses of global memory."""

    op: Operation
    at: Array
    labels: Array
    block: int


@dataclass(slots=True)
class Replay:
    """`maps` are the tensor maps by the address that a kernel sees; `stored` are bytes of products.

    `moves`, where given, gets plain copies too. `guesses` are extents of dynamic modes: the outermost one of
    a tensor map, if it has such an extent, is taken to go on. With `packed` elements below a byte go from
    their tensor maps to products by descriptors alone, and count by the byte; else they are not followed.
    """

    blocks: list[Followed]
    maps: dict[int, Descriptor | None]
    moves: Moves | None = None
    guesses: frozenset[int] = frozenset()
    shared: list[Array] = field(init=False)
    labels: list[Array] = field(init=False)
    tensor: list[TensorMemory] = field(init=False)
    stored: list[Stored] = field(default_factory=list)
    lost: dict[str, int] = field(default_factory=dict)
    mixed: bool = False  # whether what is made of several elements of products was stored
    summed: dict[int, int] = field(default_factory=dict)  # bytes of these, by the number of their tensor
    bare: list[Stored] = field(default_factory=list)  # bytes beside results that nothing wrote, as stored
    brought: list[Array] = field(default_factory=list)  # labels of every 16th byte written to shared memory
    left: list[NDArray[np.bool_]] = field(init=False)  # the elements of products that were stored
    _written: list[NDArray[np.bool_]] = field(init=False)  # whether anything wrote each shared byte
    writers: list[Array] = field(init=False)  # the number of the operation that wrote each shared byte
    through: list[Array] = field(init=False)  # of each reference: the operations that wrote and read it
    pairs: Pairs = field(default_factory=Pairs)
    packed: bool = False
    _number: int = 0

    def __post_init__(self) -> None:
        self.shared = [np.zeros(_SPAN, np.int64) for _ in self.blocks]
        self.tensor = [TensorMemory(one.references, one.begun) for one in self.blocks]
        own = max(one.references for one in self.blocks)  # behind them those of a pair's other block
        self.left = [np.zeros(2 * own, bool) for _ in self.blocks]
        self.labels = [np.zeros(one.references, np.int64) for one in self.blocks]
        self._written = [np.full(_SPAN, one.opaque) for one in self.blocks]
        watched = self.moves is not None
        self.writers = [np.zeros(_SPAN * watched, np.int64) for _ in self.blocks]
        self.through = [np.zeros(one.references * watched, np.int64) for one in self.blocks]

    @property
    def done(self) -> set[Operation]:
        """The operations that a block executes."""
        return {deed.op for one in self.blocks for deed in one.deeds.values()}

    def resolved(self, block: int, at: Array) -> Array:
        """References as labels."""
        pending = ((at & ~FLAGS) < GLOBAL) & (at != MASKED)
        if not pending.any():
            return at
        table = self.labels[block]
        index = np.where(pending, at & ~FLAGS, 0)
        self._meet(block, index)
        found = np.where(index > UNKNOWN, table[np.minimum(index, len(table) - 1)] | (at & FLAGS), index)
        return np.where(pending, np.where(found & ~FLAGS == 0, found & MASKED, found), at)

    def _meet(self, block: int, index: Array) -> None:
        """Give labels to references that two others met in."""
        made, a, b, times = self.blocks[block].pairs
        if not made.size:
            return
        at = np.searchsorted(made, index).clip(max=len(made) - 1)
        which = np.unique(at[(made[at] == index) & (self.labels[block][made[at]] == 0)])
        if which.size:
            if self.moves is not None and len(self.pairs.known) > self.moves.most_pairs:
                raise OutOfTime
            parts = self.resolved(block, a[which]), self.resolved(block, b[which])
            self.labels[block][made[which]] = self.pairs.met(*parts, times[which] != 0)

    def run(self, block: int, number: int, mask: Mask | None) -> Deed | None:
        """Do what an event does with memory; a product is given back to be judged."""
        deed = self.blocks[block].deeds.get(number)
        if deed is None:
            return None
        threads = self.blocks[block].watched.launch.threads
        active = np.ones(threads, bool) if mask is None else mask
        if deed.mask is not None:
            active = active & deed.mask
        if deed.kind in ("mma", "wgmma", "tcgen05"):
            return deed
        self._number = 0 if self.moves is None else self.moves.number(deed.op)
        getattr(self, f"_{deed.kind}")(block, deed, active)
        return None

    def _place(self, block: int, at: Number, threads: int) -> tuple[Any, Array]:
        """The block whose shared memory an address is in, and the offsets there."""
        row = for_all(at, threads)
        rank = int(row.flat[0] & ((1 << 42) - 1)) >> 24
        ranks = {one.watched.launch.rank: i for i, one in enumerate(self.blocks)}
        return ranks.get(rank, block), row & (spaces.SHARED_BYTES - 1)

    def _skip(self, deed: Deed) -> bool:
        if deed.lost:
            self.lost[deed.lost] = self.lost.get(deed.lost, 0) + 1
        return bool(deed.lost)

    def _load(self, block: int, deed: Deed, active: Mask) -> None:
        where, at = self._place(block, deed.at, len(active))
        rows = np.flatnonzero(active)
        self._from_shared(block, deed, rows, where, at[rows, None] + np.arange(deed.width))

    def _from_shared(self, block: int, deed: Deed, rows: Array, where: int, bytes_: Array) -> None:
        at = np.minimum(bytes_, _SPAN - 1)
        self._into(block, deed, rows, self.shared[where][at])
        if self.moves is not None:
            index = deed.base + rows[:, None] * deed.width + np.arange(deed.width)
            self.through[block][index] = pair(self.writers[where][at], self._number)

    def _into(self, block: int, deed: Deed, rows: Array, found: Array) -> None:
        index = deed.base + rows[:, None] * deed.width + np.arange(deed.width)
        self.labels[block][index] = found

    def _ldmatrix(self, block: int, deed: Deed, active: Mask) -> None:
        rows = np.flatnonzero(active)
        if self._skip(deed) or len(active) % 32:
            self._into(block, deed, rows, np.full((len(rows), deed.width), UNKNOWN, np.int64))
            return
        where, at = self._place(block, deed.at, len(active))
        self._from_shared(block, deed, rows, where, self._matrices(at, deed)[rows])

    @staticmethod
    def _matrices(at: Array, deed: Deed) -> Array:
        """(threads, bytes): the addresses of the bytes of each lane's registers."""
        parts = []
        if deed.facts.get("wide"):
            row, byte = matrix_bytes(deed.facts["count"])
            thread = np.arange(len(at))
            return at[(thread - thread % 32)[:, None] + row[thread % 32]] + byte[thread % 32]
        for i in range(deed.facts["count"]):
            if deed.facts["transposed"]:
                parts += [transposed_register(at, i, half)[:, None] + np.arange(2) for half in (0, 1)]
            else:
                parts.append(matrix_register(at, i)[:, None] + np.arange(4))
        return np.concatenate(parts, 1)

    def _unknown(self, where: int) -> None:
        """Something was written anywhere in shared memory."""
        self.shared[where][:] = UNKNOWN
        self._written[where][:] = True

    def _write(self, where: int, bytes_: Array, labels: Array) -> None:
        inside = bytes_ < _SPAN
        self.shared[where][bytes_[inside]] = labels[inside]
        self._written[where][bytes_[inside]] = True
        self.brought.append(labels.reshape(-1)[::16].copy())
        self._leave(where, labels)
        if self.moves is not None:
            self.writers[where][bytes_[inside]] = self._number

    def _store(self, block: int, deed: Deed, active: Mask) -> None:
        rows = np.flatnonzero(active)
        refs = np.broadcast_to(deed.refs[0], (len(active), deed.width))[rows]
        labels = self.resolved(block, refs)
        space = spaces.space_of(0, deed.at)
        if spaces.space_of(0, deed.at) == "gmem":
            if not self._skip(deed):
                at = for_all(deed.at, len(active))[rows, None] + np.arange(deed.width)
                self._keep(block, deed.op, at, labels)
                self.tensor[block].stored(deed.op, refs)
                if self.moves is not None:
                    loaded = np.where(refs < GLOBAL, refs, 0)
                    self.moves.keep(deed.op, block, at, labels, self.through[block][loaded])
            return
        if space == "rmem":
            return
        where, at = self._place(block, deed.at, len(active))
        if self._skip(deed):
            self._unknown(where)
            return
        self._write(where, at[rows, None] + np.arange(deed.width), labels)
        self._unset(where, block, at[rows, None] + np.arange(deed.width), refs)

    def _unset(self, where: int, block: int, bytes_: Array, refs: Array) -> None:
        """Shared bytes that came from tensor memory which nothing has written are as if never written."""
        unset = self.tensor[block].unset(refs)
        if unset is not None:
            self._written[where][bytes_[unset & (bytes_ < _SPAN)]] = False

    def _atomic(self, block: int, deed: Deed, active: Mask) -> None:
        where, at = self._place(block, deed.at, len(active))
        if self._skip(deed):
            self._unknown(where)
            return
        rows = np.flatnonzero(active)
        given = self.resolved(block, np.broadcast_to(deed.refs[0], (len(active), deed.width))[rows])
        mixed = np.where((given & PRODUCT != 0) & (given & MASKED == 0), given | MIXED, UNKNOWN)
        self._write(where, at[rows, None] + np.arange(deed.width), mixed)

    def _leave(self, block: int, labels: Array) -> None:
        """Elements of products go to memory: what is added to them from now on begins another sum."""
        gone = labels[(labels & PRODUCT != 0) & (labels & FLAGS == 0)]
        self.left[block][gone & ~PRODUCT] = True

    def _keep(self, block: int, op: Operation, at: Array, labels: Array) -> None:
        of_product = (labels & PRODUCT) != 0
        kept = of_product & ((labels & FLAGS) == 0)
        if several := int((of_product & ~kept).sum()):
            number = int(at.flat[0]) // spaces.GLOBAL_STEP
            self.mixed, self.summed[number] = True, self.summed.get(number, 0) + several
        if kept.any():
            self._leave(block, labels)
            self.stored.append(Stored(op, at[kept], labels[kept] & ~PRODUCT, block))

    def _stmatrix(self, block: int, deed: Deed, active: Mask) -> None:
        where, at = self._place(block, deed.at, len(active))
        if self._skip(deed) or len(active) % 32:
            self._unknown(where)
            return
        rows = np.flatnonzero(active)
        given = np.concatenate([np.broadcast_to(one, (len(active), 4)) for one in deed.refs], 1)[rows]
        self._write(where, self._matrices(at, deed)[rows], self.resolved(block, given))
        self._unset(where, block, self._matrices(at, deed)[rows], given)

    def _copy(self, block: int, deed: Deed, active: Mask) -> None:
        where, at = self._place(block, deed.at, len(active))
        rows = np.flatnonzero(active)
        if self._skip(deed):
            self._unknown(where)
            return
        source = for_all(deed.second, len(active))[rows, None]
        step = np.arange(deed.width)
        labels = source + step
        if deed.numbers:
            count = for_all(deed.numbers[0], len(active))[rows, None]
            labels = np.where(step < count, labels, 0)
        self._write(where, at[rows, None] + step, labels)

    def _bulk(self, block: int, deed: Deed, active: Mask) -> None:
        rows = np.flatnonzero(active)
        if self._skip(deed) or not rows.size:
            self._unknown(block)
            return
        first = int(rows[0])
        to, source, count = (
            int(for_all(x, len(active))[first]) for x in (deed.at, deed.second, deed.numbers[0])
        )
        step = np.arange(min(count, _SPAN))
        if deed.facts["from"] == "gmem":
            where, at = self._place(block, to, 1)
            self._write(where, at[0] + step, source + step)
            return
        origin, at = self._place(block, source, 1)
        labels = self.shared[origin][np.minimum(at[0] + step, _SPAN - 1)]
        if deed.facts["to"] == "gmem":
            self._keep(block, deed.op, to + step, labels)
        else:
            where, there = self._place(block, to, 1)
            self._write(where, there[0] + step, labels)

    def _tensor_load(self, block: int, deed: Deed, active: Mask) -> None:
        rows = np.flatnonzero(active)
        found = None if self._skip(deed) else self.tensor[block].load(deed, active)
        unknown = np.full((len(rows), deed.width), UNKNOWN, np.int64)
        self._into(block, deed, rows, unknown if found is None else found)

    def _tensor_store(self, block: int, deed: Deed, active: Mask) -> None:
        rows = np.flatnonzero(active)
        refs = np.broadcast_to(deed.refs[0], (len(active), deed.width))[rows]
        if self._skip(deed) or not self.tensor[block].store(deed, active, self.resolved(block, refs)):
            self.tensor[block].forget()

    def _tma_load(self, block: int, deed: Deed, active: Mask) -> None:
        found = self._box(deed, active)
        where, at = self._place(block, deed.at, len(active))
        if found is None:
            self._unknown(where)
            return
        first, offsets, labels = found
        targets = [where]
        if deed.facts["multicast"] is not None:
            mask = int(for_all(deed.facts["multicast"], len(active))[first])
            targets = [i for i, one in enumerate(self.blocks) if mask >> one.watched.launch.rank & 1]
        start = int(at[first])
        for target in targets:
            self._write(target, self._swizzled(start + offsets, deed), labels)

    def _tma_store(self, block: int, deed: Deed, active: Mask) -> None:
        found = self._box(deed, active)
        if found is None:
            return
        first, offsets, at = found
        where, start = self._place(block, deed.at, len(active))
        bytes_ = self._swizzled(int(start[first]) + offsets, deed)
        self._store_box(block, deed, at, where, np.minimum(bytes_, _SPAN - 1))

    def _store_box(self, block: int, deed: Deed, at: Array, where: int, bytes_: Array) -> None:
        """Shared bytes to global addresses, 0 beyond the end; notes what nothing wrote beside results."""
        labels, inside = self.shared[where][bytes_], at != 0
        self._keep(block, deed.op, at[inside], labels[inside])
        bare = inside & ~self._written[where][bytes_]
        if bare.any() and not self.lost and (labels[inside] & PRODUCT).any():
            self.bare.append(Stored(deed.op, at[bare], labels[bare], block))
        if self.moves is not None:
            through = pair(self.writers[where][bytes_], self._number)
            self.moves.keep(deed.op, block, at[inside], labels[inside], through[inside])

    def _map(self, deed: Deed, first: int) -> Descriptor | None:
        second = np.atleast_1d(np.asarray(deed.second, np.int64))
        return self.maps.get(int(second[min(first, len(second) - 1)]))

    def _swizzled(self, bytes_: Array, deed: Deed) -> Array:
        swizzle = SWIZZLES[deed.facts["swizzle"]]
        return bytes_ if swizzle is None else swizzle(bytes_)

    def _box(self, deed: Deed, active: Mask) -> tuple[int, Array, Array] | None:
        """(the thread, the box's bytes in shared memory before the swizzle, their global addresses)."""
        rows = np.flatnonzero(active)
        if not rows.size:
            return None
        first = int(rows[0])
        map_ = self._map(deed, first)
        if map_ is None and not deed.lost:
            deed.lost = "a tensor map that the host's code does not make of arguments"
        if self._skip(deed) or map_ is None:
            return None
        known = map_.corners is None and not map_.interleave and (self.packed or map_.element_bits >= 8)
        span = SPAN_BYTES[map_.swizzle]
        known &= not span or map_.box[0] * map_.element_bits == 8 * span
        if not known or map_.element_bits != map_.data_bits or set(map_.element_strides) != {1}:
            deed.lost = "a tensor map of im2col, or of interleaved, packed or narrow rows"
            self._skip(deed)
            return None
        deed.facts["swizzle"] = map_.swizzle
        if self.moves is not None:
            swizzle = SWIZZLES[map_.swizzle]
            self.moves.swizzles[deed.op] = "" if swizzle is None else str(swizzle)
        size, each = max(1, map_.element_bits // 8), max(1, 8 // map_.element_bits)  # elements of a byte
        start = [int(for_all(n, len(active))[first]) for n in deed.numbers]
        address = np.full((1,), map_.base, np.int64)
        inside = np.ones((1,), bool)
        steps = (size, *map_.strides_bytes)
        dims, boxes = ((one[0] // each, *one[1:]) for one in (map_.dims, map_.box))
        start[0] //= each
        for extent, box, stride, low in zip(dims, boxes, steps, start, strict=True):
            at = low + np.arange(box)
            address = (address[None, :] + (at * stride)[:, None]).reshape(-1)
            endless = extent in self.guesses and stride == max(steps)
            inside = (inside[None, :] & ((at >= 0) & ((at < extent) | endless))[:, None]).reshape(-1)
        labels = (address[:, None] + np.arange(size)) * inside[:, None]
        return first, np.arange(labels.size, dtype=np.int64), labels.reshape(-1)
