"""A kernel evaluated again for its accesses to shared memory, with every turn of its loops that differs.

Of a loop whose addresses follow a line these are the first and last turns, of one that carries a stage each
stage once.
"""

from __future__ import annotations

from collections.abc import Mapping

from layoutcheck.dsl.lowered import Kernel
from layoutcheck.dsl.lowered.allocations import Allocation
from layoutcheck.dsl.lowered.corners import SHARED_SPACES, decided_by_corners
from layoutcheck.dsl.lowered.evaluate import Launched, tag
from layoutcheck.dsl.lowered.flow import Flow, Turns
from layoutcheck.dsl.lowered.instructions import BULK, is_mbarrier, is_memory
from layoutcheck.dsl.lowered.loops import CUT_SHORT
from layoutcheck.dsl.lowered.machine import Machine
from layoutcheck.dsl.lowered.needed import BRANCHES, Needed, condition, handed_on
from layoutcheck.dsl.lowered.types import GENERIC, parse_type
from layoutcheck.sources.mlir import Operation, Value

_MOST_STEPS = 300_000  # operations of one evaluation


class TooLong(Exception):
    """The evaluation takes more steps than it may."""


def every_turn(kernel: Kernel) -> Machine | None:
    """The kernel's accesses to shared memory in every turn of its loops; None if that takes too long."""
    if kernel.grid is None or kernel.again is None:
        return None
    try:
        machine, flow = SharedAccesses(kernel).run({}, set(), _MOST_STEPS)
    except TooLong:
        return None
    return None if flow.shortened or machine.dropped else machine


class SharedAccesses:
    """A kernel evaluated for its accesses to shared memory, with every turn of its loops that differs.

    With `mbarriers` what works on these is one as well.
    """

    def __init__(self, kernel: Kernel, mbarriers: bool = False) -> None:
        assert kernel.grid is not None and kernel.again is not None
        self.again, op = kernel.again, kernel.grid.kernel
        self.kernel = op
        self.needed = needed = Needed(op, ())
        self.roots = {one: found for one in op.walk() if (found := _pointers(one, needed, mbarriers))}
        self.loops = {one for one in op.walk() if one.name in ("scf.for", "scf.while")}
        self.lines = {one for one in self.loops if decided_by_corners(one, self.tag, needed, shared=True)}

    def tag(self, op: Operation) -> str:
        """The tag of what may reach shared memory, "" for other operations."""
        return tag(op) if op in self.roots else ""

    def evaluated(self, places: Mapping[Operation, Allocation]) -> tuple[Machine, frozenset[str]]:
        """With the allocations at these places; the tags of which turns lack."""
        try:
            machine, flow = self.run(places, self.lines, _MOST_STEPS)
        except TooLong:
            machine, flow = self.run(places, self.loops, None)
        cut = [op for op in flow.shortened if op not in self.lines]
        tags = (flow.tags_in(region) for op in cut for region in op.regions)
        return machine, frozenset(machine.dropped).union(*tags)

    def by_block(self) -> tuple[set[str], set[str]]:
        """The tags whose addresses are made of the block's index, and those that it decides upon."""
        by = ByBlock(self.kernel, self.needed)
        made = {tag(op) for op, at in self.roots.items() if any(value in by.values for value in at)}
        return made, {tag(op) for op in self.roots if by.guards(op)}

    def run(
        self, places: Mapping[Operation, Allocation], ends_only: set[Operation], most: int | None,
        blocks: tuple[tuple[int, int, int], ...] = (), launched: Launched | None = None,
    ) -> tuple[Machine, Flow]:  # fmt: skip
        """Raises TooLong after `most` operations, or where a loop is cut short."""

        def ready(machine: Machine, flow: Flow) -> None:
            def count() -> None:
                if most is not None and (machine.steps > most or CUT_SHORT in machine.notes):
                    raise TooLong

            machine.placed = places
            flow.turns, flow.tick = Turns(True, ends_only, until_repeated=True), count

        return self.again([(op, at, []) for op, at in self.roots.items()], self.tag, ready, blocks, launched)


def _pointers(op: Operation, needed: Needed, mbarriers: bool) -> list[Value]:
    """An instruction's pointers that may point into shared memory, with the size of a bulk copy."""
    if not tag(op) or not (is_memory(op) or (mbarriers and is_mbarrier(op))):
        return []
    pointers = [
        value
        for value in op.operands
        if (kind := parse_type(value.type)).kind == "pointer"
        and (kind.space in SHARED_SPACES or (kind.space == GENERIC and needed.base(value) is False))
    ]
    return [*pointers, op.operands[BULK[op.name]]] if pointers and op.name in BULK else pointers


_INDEX = ("nvvm.read.ptx.sreg.ctaid", "nvvm.read.ptx.sreg.clusterid", "nvvm.read.ptx.sreg.cluster.cta")


class ByBlock:
    """`values` are those made of the block's index, through loops, branches and registers in memory."""

    def __init__(self, kernel: Operation, needed: Needed) -> None:
        self.values: set[Value] = set()
        self._arrays: set[Operation | None] = set()  # registers in memory; None: any of them
        self._needed = needed
        before = (-1, -1)
        while before != (len(self.values), len(self._arrays)):
            before = (len(self.values), len(self._arrays))
            for op in kernel.walk():
                self._follow(op)

    def guards(self, op: Operation) -> bool:
        """Whether it rests on the block's index how often control comes by an operation."""
        return any(map(self.decides, op.around()))

    def decides(self, around: Operation) -> bool:
        """Whether it rests on the block's index how often the regions of an operation run."""
        return around.name in BRANCHES and not self.values.isdisjoint(condition(around))

    def _follow(self, op: Operation) -> None:
        if op.name.startswith(_INDEX):
            self.values.update(op.results)
            return
        if op.regions:
            variables = [
                value for region in op.regions for block in region.blocks for value in block.arguments
            ]
            handed = (*op.results, *variables)
            self.values.update(value for value in handed if not self.values.isdisjoint(handed_on(value)))
            if self.decides(op):
                self.values.update(op.results, variables[:1] if op.name == "scf.for" else ())
            return
        made = any(value in self.values for value in op.operands)
        if op.name == "llvm.store" and made:
            base = self._needed.base(op.operands[1])
            if base is not False:
                self._arrays.add(base if isinstance(base, Operation) else None)
        if op.name == "llvm.load" and not made and self._arrays:
            base = self._needed.base(op.operands[0])
            made = base is not False and (None in self._arrays or base is None or base in self._arrays)
        if made:
            self.values.update(op.results)
