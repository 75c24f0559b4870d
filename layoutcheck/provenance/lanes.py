"""`Reached`: what lanes and warps load and add up with others, and what of it reaches an output.

A label is the set of lanes, and of warps, whose loads went into a byte: arithmetic, choices and shuffles give
the union. What a store to global memory has, or what decides anything, has reached an output. A thread whose
lane or warp reaches none, although its loads went into a sum over lanes of which other lanes' part is stored,
was left out of the sum: a step of a butterfly is missing, or a warp. Whatever is not followed ends the claim.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered.instructions import is_memory
from layoutcheck.dsl.lowered.machine import Launch, Step
from layoutcheck.dsl.lowered.record import Number
from layoutcheck.dsl.lowered.spaces import space_of
from layoutcheck.dsl.lowered.types import CLUSTER, Type, parse_type
from layoutcheck.dsl.lowered.values import Reasons, number
from layoutcheck.machine.arch import WARP
from layoutcheck.provenance.carry import carry, is_lanewise
from layoutcheck.provenance.padded import MOVES, Floats, adding
from layoutcheck.provenance.refs import Array, Refs, elements
from layoutcheck.sources.mlir import Operation

_LANE, _WARP = 1, 33  # the first bits of both
_LANES = ((1 << WARP) - 1) << _LANE
_MOST_WARPS = 29
_WARPS = ((1 << _MOST_WARPS) - 1) << _WARP
_OTHER = re.compile(r"mbarrier|barrier\.arrive|printf|atomic|nvvm\.(?:vote|match|redux|mapa|cp\.)")


def may_leave(kernel: Operation) -> bool:
    """Whether a kernel adds up over lanes, by operations that are all followed."""
    every = adding(kernel)
    return bool(every) and all(map(_followed, every))


def _followed(op: Operation) -> bool:
    pointers = [v.type for v in op.operands if v.type.startswith("!llvm.ptr")]
    near = not any(parse_type(kind).space == CLUSTER for kind in pointers)
    plain = ("asm" not in op.name or is_lanewise(op)) and not _OTHER.search(op.name)
    return near and plain and (not is_memory(op) or op.name in ("llvm.load", "llvm.store"))


def _several(labels: Array) -> Array:
    lanes = labels & _LANES
    return lanes & (lanes - 1) != 0


def _half(step: int) -> int:
    """The lanes without a bit."""
    return sum(1 << _LANE + lane for lane in range(WARP) if not lane & step)


def _missed(totals: set[int]) -> int:
    """Lanes that are in no sum, if there is one over the same half of each warp, or less; warps likewise."""
    lanes, warps = {one & _LANES for one in totals}, {one & _WARPS for one in totals}
    lane, warp = (one.pop() if len(one) == 1 else 0 for one in (lanes, warps))
    missed = _LANES & ~lane if 0 < lane.bit_count() <= WARP // 2 else 0
    return missed | (_WARPS & ~warp if warp.bit_count() > 1 else 0)


class Reached(Floats):
    """One evaluation of a kernel's blocks; `rely` as in `Bare`."""

    def __init__(self, kernel: Operation, launch: Launch, rely: Callable[[Reasons, int], bool]) -> None:
        super().__init__(kernel, launch, rely)
        thread = np.arange(launch.threads) % self.each
        own = (1 << _LANE + thread % WARP) | (1 << _WARP + thread // WARP)
        self._labels = own.astype(np.int64)[:, None]
        self.blind = self.each % WARP > 0 or self.each > WARP * _MOST_WARPS
        self._out = np.zeros(self.blocks, np.int64)
        self._sums = np.zeros(self.blocks, np.int64)  # of several lanes
        self._totals = [set[int]() for _ in range(self.blocks)]  # of several lanes, that are stored
        self._stores: dict[Operation, Array] = {}  # threads
        self._loads: dict[Operation, list[tuple[Array, Array]]] = {}  # threads, and where they load

    def lost(self) -> list[tuple[Operation, int, Array]]:
        """Loads, with the threads of a block whose elements one sum leaves out, while others' are stored.

        Or, with a step, stores of sums over the lanes of all other steps, smaller and larger ones.
        """
        stopped = self.blind or self._unsure or self.left or self.flow.cut or self.machine.notes
        if stopped or not all(self._totals):
            return []
        block = np.arange(self.launch.threads) // self.each
        missed = np.array([_missed(one) for one in self._totals])
        own, sums = self._labels[:, 0], self._sums[block]
        gone = (own & ~self._out[block] & missed[block] != 0) & (own & ~sums == 0)
        found = []
        for op, every in self._loads.items():
            threads, at = (np.concatenate(column) for column in zip(*every, strict=True))
            kept = np.unique(at[~gone[threads]])
            mine = threads[gone[threads] & ~np.isin(at, kept)]
            if mine.size and kept.size and len(np.unique(mine // self.each)) == self.blocks:
                found.append((op, 0, np.unique(mine % self.each)))
        return found or self._step_left()

    def _step_left(self) -> list[tuple[Operation, int, Array]]:
        """A store of each lane's sum over all steps but one, if no load of all lanes leaves their order."""
        lanes = {one & _LANES for totals in self._totals for one in totals}
        step = next((one for one in (2, 4, 8) if lanes == {_half(one), _LANES & ~_half(one)}), 0)
        for threads, at in chain.from_iterable(self._loads.values()):
            if len(threads) == self.launch.threads:
                away = np.diff(at.reshape(-1, WARP)[:, [0, 1, 2, 4, 8, 16]])
                step *= bool((away > 0).all() or not away.any())
        whole = ((op, rows) for op, rows in self._stores.items() if len(rows) == self.launch.threads)
        return [(op, step, np.unique(rows % self.each)) for op, rows in whole if step]

    def _take(self, marks: Array, labels: Array) -> None:
        """Note labels, of threads that run, for their blocks."""
        rows = np.broadcast_to(labels, (self.launch.threads, labels.shape[1])).copy()
        if self.machine.mask is not None:
            rows[~np.asarray(self.machine.mask, bool)] = 0
        marks |= np.bitwise_or.reduce(rows.reshape(self.blocks, -1), 1)

    def _decided(self, op: Operation) -> Step:
        """Labels that something rests on, other than floating point, have reached an output."""
        inner, values = super()._decided(op), self.machine.values
        sources = self.flow.slots_of(op.operands)

        def run() -> None:
            for slot in sources:
                if isinstance(values[slot], Refs):
                    self._take(self._out, values[slot].at)
            inner()

        return run

    def _load(self, op: Operation) -> Step:
        inner, machine = super()._load(op), self.machine
        pointer, space = self.slots[op.operands[0]], parse_type(op.operands[0].type).space
        width = parse_type(op.results[0].type).size_bytes

        def run() -> None:
            inner()
            address = number(machine.values[pointer])
            where, threads = space_of(space, address), np.arange(self.launch.threads)
            rows = threads if machine.mask is None else threads[np.asarray(machine.mask, bool)]
            if where == "smem":  # what another warp has yet to write
                at = self._bytes(address, width)[rows]
                self.blind = self.blind or not self.written[rows[:, None] // self.each, at].all()
            if where != "gmem" or not machine.reached:
                return
            at = np.broadcast_to(np.asarray(address, np.int64), threads.shape)[rows]
            self._loads.setdefault(op, []).append((rows, at))
            self.blind = self.blind or not self.sure(machine.provenance[pointer])

        return run

    def _loaded(self, width: int, own: int) -> Array:
        return np.broadcast_to(self._labels, (self.launch.threads, width))

    def _shared(self, address: Number, labels: Array, rows: Array, sure: bool) -> None:
        self.blind = self.blind or not sure
        block = np.broadcast_to(self._block(), labels.shape)[rows]
        at = self._bytes(address, labels.shape[1])[rows]
        self.bare[block, at], self.written[block, at] = labels[rows], True

    def _leave(self, where: str, told: bool) -> None:
        self.blind = self.blind or not told or where == "dsmem" or self.suspects.shared_elsewhere

    def _note(self, op: Operation, address: Number, labels: Array, rows: Array, whole: bool) -> None:
        self._take(self._out, labels)
        for block in range(self.blocks):
            mine = labels[rows[rows // self.each == block]]
            self._totals[block] |= set(np.unique(mine[_several(mine)]).tolist())
        self._stores[op] = rows

    def _function(self, op: Operation) -> Callable[[list[Array]], list[Array]]:
        kinds, made = ([parse_type(v.type) for v in every] for every in (op.operands, op.results))
        if not op.operands:
            return lambda _given: [np.zeros((1, max(1, kind.size_bytes)), np.int64) for kind in made]
        if MOVES.fullmatch(op.name):
            return carry(op)
        return lambda given: [self._union(given, kinds, kind) for kind in made]

    def _union(self, given: list[Array], kinds: list[Type], made: Type) -> Array:
        """The labels of all operands, element by element where there are as many."""
        count = made.count if made.kind == "vector" else 1
        found: Any = np.zeros((1, count), np.int64)
        for at, kind in zip(given, kinds, strict=True):
            each = elements(at, kind)
            found = found | (each if each.shape[1] == count else np.bitwise_or.reduce(each, 1)[:, None])
        self._take(self._sums, np.where(_several(found), found, 0))
        return np.repeat(found, max(1, made.size_bytes) // count, 1)
