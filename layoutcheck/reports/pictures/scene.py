"""`Scene`: the one run of a copy that all its pictures show, and the instruction they point at.

Nothing is worked out here that intent and execution do not say: a scene only chooses the run (the first that
goes wrong, else the last; for a refused copy what would run if it were accepted) and rearranges addresses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from layoutcheck.analysis import Analysis, Run
from layoutcheck.analysis.comparison import Comparison
from layoutcheck.atoms.intent import thread_intent
from layoutcheck.atoms.matrix import MatrixAtom
from layoutcheck.copies.addresses import PRIVATE
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import Execution, Intent
from layoutcheck.copies.offsets import IntArray
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.errors import InputError

SIDES = ("src", "dst")
_NOBODY = np.empty((0, 1), np.int64)


@dataclass(frozen=True, slots=True)
class Vector:
    """The values that one instruction of one thread is about: their addresses, asked for and moved.

    `asked[side][value, unit]` is where the layouts have the value, `moved[side][value, unit]` where the
    instruction has it; NOTHING where there is none. Addresses are absolute, in units of the scene.
    """

    thread: int
    instruction: int
    asked: dict[str, IntArray]
    moved: dict[str, IntArray]

    @property
    def right(self) -> bool:
        """Whether each value goes where the layouts want it."""
        return all(np.array_equal(self.asked[side], self.moved[side]) for side in SIDES)


@dataclass(frozen=True, slots=True)
class Scene:
    """One run of the analysis, and what to look at in it.

    `by_thread` is the intent thread by thread. `reached` is False for a copy that the compiler refuses: then
    it is what would be done. `thread` and `instruction` are the ones to point at.
    """

    run: Run
    by_thread: Intent
    reached: bool
    thread: int
    instruction: int

    @property
    def copy(self) -> Copy:
        """The static copy."""
        return self.run.instance

    @property
    def intent(self) -> Intent:
        """What was asked."""
        return self.run.intent

    @property
    def execution(self) -> Execution:
        """What is done."""
        return self.run.execution

    @property
    def comparison(self) -> Comparison:
        """How they differ."""
        return self.run.comparison

    @property
    def unit_bits(self) -> int:
        """What an address counts: bytes, or nibbles."""
        return self.execution.unit_bits

    @property
    def units(self) -> str:
        """The name of what an address counts."""
        return {8: "bytes", 4: "nibbles"}.get(self.unit_bits, f"units of {self.unit_bits} bits")

    @property
    def threads(self) -> int:
        """Threads that run."""
        count: int = self.execution.src.shape[1]
        return count

    def memref(self, side: str) -> Memref:
        """The whole tile of a side, or the view where there is no tiling."""
        return self.copy.whole(side)

    def private(self, side: str) -> bool:
        """Whether the side is registers, of which every thread has its own."""
        return self.copy.side(side).space == "rmem"

    def origin(self, side: str) -> int:
        """The address, in units, that pictures call +0: the base, or the begin of its swizzle's period."""
        base = self.run.src_base if side == "src" else self.run.dst_base
        swizzle = self.memref(side).swizzle
        if swizzle is not None and swizzle.bits:
            base -= base % swizzle.period
        first: int = int(base) * 8 // self.unit_bits
        return first

    def moves(self, side: str) -> IntArray:
        """[instruction, thread, unit] addresses that the machine uses."""
        return self.execution.src if side == "src" else self.execution.dst

    def wants(self, side: str) -> IntArray:
        """[element, thread, unit] addresses that the layouts name, by the thread whose view has them."""
        return self.by_thread.src if side == "src" else self.by_thread.dst

    def asks(self, side: str) -> IntArray:
        """[element, thread, unit] addresses that the layouts name."""
        return self.intent.src if side == "src" else self.intent.dst


def scene(analysis: Analysis) -> Scene | None:
    """The run to draw; None where the addresses are not known (`analysis.obstacle` may say why)."""
    copy = analysis.copy
    if isinstance(copy.src, OtherOperand) or isinstance(copy.dst, OtherOperand):
        return None
    if copy.atom is not None and not copy.atom.modelled:
        return None
    run = analysis.worst or (analysis.runs[-1] if analysis.runs else analysis.would_run)
    if run is None:
        return None
    try:
        by_thread = thread_intent(*run[:3])
    except InputError:
        return None
    asked, done = run.intent, run.execution
    if not all((at >= 0).any() for at in (asked.src, done.src, asked.dst, done.dst)):
        return None  # as of a tile beyond the tensor, of which a load brings zeros
    reached = bool(analysis.runs)
    place = _place(done, run.comparison) if reached else (0, 0)
    return Scene(run, by_thread, reached, *place)


def _place(done: Execution, comparison: Comparison) -> tuple[int, int]:
    """Thread and instruction of the first offender; the first ones of all where nothing offends."""
    for kind in comparison.kinds:
        offender = comparison.first.get(kind)
        if offender is None or offender.thread is None or offender.instruction is None:
            continue
        moves, instruction = done.src.shape[0], offender.instruction
        accesses = done.src_accesses if kind == "misaligned_src" else done.dst_accesses
        if kind.startswith("misaligned") and accesses and accesses[0].addresses.shape[0]:
            instruction *= max(1, moves // accesses[0].addresses.shape[0])
        return min(offender.thread, done.src.shape[1] - 1), min(instruction, moves - 1)
    return 0, 0


def vector(scene: Scene) -> Vector:
    """The values of the scene's instruction: those from the element on at which it begins."""
    t, k = scene.thread, scene.instruction
    moved = {side: scene.moves(side)[k, t] for side in SIDES}
    # Threads past the tiled copy's own have no view: nothing is asked of them.
    asked = {side: scene.wants(side)[:, t] if t < scene.wants(side).shape[1] else _NOBODY for side in SIDES}
    per_value = scene.wants("src").shape[2]
    count = -(-moved["src"].size // per_value)
    if isinstance(scene.copy.atom, MatrixAtom):
        values = _values_at(asked, moved, scene.copy.atom.register_side)
    else:
        first = next(
            (
                int(hit[0])
                for side in SIDES
                if (hit := np.flatnonzero(asked[side][:, 0] == moved[side][0])).size
            ),
            k * count,
        )
        values = np.arange(first, first + count)
    out: dict[str, dict[str, IntArray]] = {"asked": {}, "moved": {}}
    for side in SIDES:
        wanted = np.full((count, per_value), -1, np.int64)
        inside = (values >= 0) & (values < len(asked[side]))
        wanted[inside] = asked[side][values[inside]]
        done = np.full(count * per_value, -1, np.int64)
        done[: moved[side].size] = moved[side]
        out["asked"][side], out["moved"][side] = wanted, done.reshape(count, per_value)
    return Vector(t, k, out["asked"], out["moved"])


def _values_at(asked: dict[str, IntArray], moved: dict[str, IntArray], side: str) -> IntArray:
    """The elements of a thread whose registers the instruction names, in the registers' order."""
    per_value = asked[side].shape[1]
    starts = moved[side][::per_value]
    if not len(asked[side]):
        return np.full(starts.shape, -1, np.int64)
    order = np.argsort(asked[side][:, 0], kind="stable")
    ordered = asked[side][order, 0]
    at = np.minimum(np.searchsorted(ordered, starts), len(ordered) - 1)
    found: IntArray = np.where(ordered[at] == starts, order[at], -1)
    return found


def local(scene: Scene, side: str, addresses: IntArray) -> tuple[IntArray, IntArray]:
    """(owner, offset) of addresses: in registers the thread and the offset there; else 0 and the offset."""
    at = addresses - scene.origin(side)
    if scene.private(side):
        apart = PRIVATE * 8 // scene.unit_bits
        return at // apart, at % apart
    return np.zeros_like(at), at
