"""Control flow: `scf` regions over all threads of a block, the mask saying which threads are in them.

Where no thread takes a branch, it is still tried, once, as if all did, and its stores are undone: what stands
only there is recorded as not reached. `loops.py` has the loops.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from layoutcheck.dsl.lowered.machine import Machine, Step
from layoutcheck.dsl.lowered.needed import Needed, terminator
from layoutcheck.dsl.lowered.removed import Left
from layoutcheck.dsl.lowered.values import Value, number, select
from layoutcheck.sources.mlir import Block, Operation, integers
from layoutcheck.sources.mlir import Value as SsaValue

# flow, operation, fast -> its step
Maker: TypeAlias = "Callable[[Flow, Operation, bool], Step]"


@dataclass(frozen=True, slots=True)
class Turns:
    """Which turns of loops run in full; of a loop that is not `whole`, the first, the second and the last.

    With `every` all turns of all loops do, in order, but those of the loops `ends_only`. Then a loop whose
    number of turns rests on a loaded value has one, or as many as `guessed` says; a loop of `most` has no
    more than it says; and with `until_repeated` a loop runs in full until a turn begins as one before it did.
    A loop whose end rests on what only a run knows has `least` turns at least, as with other numbers.
    """

    every: bool = False
    ends_only: Collection[Operation] = ()
    until_repeated: bool = False
    most: Mapping[Operation, int] = field(default_factory=dict)
    guessed: Mapping[Operation, int] = field(default_factory=dict)
    least: int = 0

    def whole(self, loop: Operation) -> bool:
        """Whether all turns of a loop run in full, however many they are."""
        return self.every and loop not in self.ends_only


class Flow:
    """Turns blocks into lists of steps; `translate` makes the step of an operation without regions.

    `control` makes those of branches and loops, by the operation's name. `full` is what a run needs, `fast`
    gives what carries state through loops, which many runs never ask for. `tags` gives the tag under which an
    operation is recorded, `made_by` that of what it was lowered from. `turns` says which turns of loops run
    in full; `shortened` are the loops some of whose turns did not. `left` says what the compiler leaves of a
    load or store. `tick` is called before every run of a block, and may raise. Both arms of a branch are run
    wherever `either` says so of what its condition rests on.
    """

    def __init__(
        self,
        machine: Machine,
        slots: dict[SsaValue, int],
        full: Needed,
        fast: Callable[[], Needed],
        translate: Callable[[Operation], Step],
        tags: Callable[[Operation], str],
        made_by: Callable[[Operation], str],
        control: Mapping[str, Maker],
        left: Left,
    ) -> None:
        self.machine, self.slots = machine, slots
        self.full, self._fast = full, fast
        self.translate, self.tag, self.made_by, self.control = translate, tags, made_by, control
        self.left = left
        self._translated: dict[Operation, Step] = {}
        self._tags: dict[Any, frozenset[str]] = {}  # in a region
        self.turns = Turns()
        self.tick: Callable[[], None] = lambda: None  # no time limit
        self.either: Callable[[int], bool] = lambda _bits: False  # as the condition says
        # What the last of such `scf.for`s has to run when all are beyond their first turns; None: all of it.
        self.again: Callable[[tuple[Operation, ...]], set[Operation] | None] = lambda _loops: None
        self._later: tuple[Operation, ...] = ()  # these loops, of what `steps` are made for now
        self._only: set[Operation] | None = None  # what that is of them
        self.restart()

    def restart(self) -> None:
        """As if nothing had run."""
        self.shortened: set[Operation] = set()
        # Loops that had these turns and would go on, with the turns of the loops around them.
        self.cut: set[tuple[Operation, tuple[int, ...]]] = set()
        self.depth = self.start = 0  # loops around, and the steps taken when the outermost began

    @cached_property
    def fast(self) -> Needed:
        """What carries state through loops."""
        return self._fast()

    def steps(self, block: Block, fast: bool) -> list[Step]:
        """What to run of a block."""
        needed, only = (self.fast if fast else self.full).operations, self._only
        return [
            self.step(op, fast) for op in block.operations if op in needed and (only is None or op in only)
        ]

    def later(self, loop: Operation, whole: list[Step]) -> list[Step]:
        """What to run of a loop in its turns after the first; `whole` is that of the first."""
        around, only = self._later, self._only
        part = self.again((*around, loop))
        if part is None:
            return whole
        self._later, self._only = (*around, loop), part
        try:
            return self.steps(loop.regions[0].blocks[0], False)
        finally:
            self._later, self._only = around, only

    def quick(self, block: Block) -> Callable[[], list[Step]]:
        """`steps` of what carries state, made when they are first asked for."""
        return cache(partial(self.steps, block, True))

    def step(self, op: Operation, fast: bool) -> Step:
        """One operation as a function without arguments."""
        if op.regions:
            maker = self.control.get(op.name)
            if maker is not None:
                return maker(self, op, fast)
            if op.name == "scf.execute_region" and len(op.regions[0].blocks) == 1:
                return self._inline(op, fast)
        found = self._translated.get(op)
        if found is None:
            self._translated[op] = found = self._kept(op, self.translate(op))
        return found

    def _kept(self, op: Operation, step: Step) -> Step:
        """The step of an operation that the compiler may remove in some turns of the loops around it."""
        left = self.left(op)
        return step if left is None else lambda: step() if left()[1] else None

    def run(self, steps: list[Step]) -> None:
        """Run steps, and count them."""
        self.tick()
        self.machine.steps += len(steps)
        for step in steps:
            step()

    def slots_of(self, values: list[SsaValue]) -> list[int]:
        """The places of SSA values."""
        return [self.slots[value] for value in values]

    def moves(self, sources: list[SsaValue], targets: list[SsaValue], fast: bool) -> list[tuple[int, int]]:
        """Slots to copy, of the targets that are needed."""
        needed = self.fast if fast else self.full
        return [
            (self.slots[s], self.slots[t])
            for s, t in zip(sources, targets, strict=False)
            if t in needed.levels
        ]

    def move(self, moves: list[tuple[int, int]], extra: int = 0) -> None:
        """Copy slots, all at once; `extra` is what it rests on besides."""
        values, provenance = self.machine.values, self.machine.provenance
        found = [(values[s], provenance[s]) for s, _ in moves]
        for (_, target), (value, bits) in zip(moves, found, strict=True):
            values[target], provenance[target] = value, bits | extra

    def tags_in(self, region: Any) -> frozenset[str]:
        """The tags of everything in a region. Those of regions inside it, asked for as well, are kept."""
        found = self._tags.get(region)
        if found is None:
            every = [op for block in region.blocks for op in block.operations]
            own = {tag for op in every if (tag := self.tag(op))}
            found = frozenset(own.union(*(self.tags_in(inner) for op in every for inner in op.regions)))
            self._tags[region] = found
        return found

    def pretend(self, action: Callable[[], None], bits: int) -> None:
        """Do what does not happen: what it meets is recorded as not reached, what it stores is undone."""
        machine = self.machine
        reached, guard = machine.reached, machine.guard
        outermost = machine.registers.journal is None
        if outermost:
            machine.registers.begin()
        machine.reached, machine.guard = False, guard | bits
        try:
            action()
        finally:
            machine.reached, machine.guard = reached, guard
            if outermost:
                machine.registers.rollback()

    def _inline(self, op: Operation, fast: bool) -> Step:
        block = op.regions[0].blocks[0]
        steps, moves = self.steps(block, fast), self.moves(terminator(block).operands, op.results, fast)

        def run() -> None:
            self.run(steps)
            self.move(moves)

        return run


class Branch(NamedTuple):
    """What runs, the slots to copy at its end, and the tags in it."""

    steps: list[Step]
    moves: list[tuple[int, int]]
    tags: frozenset[str]


_NOTHING = Branch([], [], frozenset())


def _if(flow: Flow, op: Operation, fast: bool) -> Step:
    machine, condition = flow.machine, flow.slots[op.operands[0]]
    branches = [_branch(flow, op, region, fast) for region in op.regions]
    if len(branches) == 1:
        branches.append(_NOTHING)

    own = flow.made_by(op) != ""  # the copy's own predicate: its addresses count, whoever it lets through
    nobody = np.zeros(machine.launch.threads, bool)

    def run() -> None:
        taken = number(machine.values[condition])
        bits = machine.provenance[condition]
        if own and not fast and isinstance(taken, int) and not taken & 1:
            _take(flow, branches[0], nobody, bits)
        if isinstance(taken, int):
            chosen = 0 if taken & 1 else 1
            _take(flow, branches[chosen], machine.mask, bits)
            if not fast:
                _try(flow, branches[1 - chosen], bits, partial(may_be, flow, op.operands[0], bool(chosen)))
            return
        masks = _split(taken.astype(bool), machine.mask)
        ends: list[list[tuple[Value, int]] | None] = []
        for branch, mask in zip(branches, masks, strict=True):
            if np.count_nonzero(mask) or (own and not fast and branch is branches[0]):
                _take(flow, branch, mask, bits)
                ends.append([(machine.values[t], machine.provenance[t]) for _, t in branch.moves])
            else:
                ends.append(None)
        if (yes := ends[0]) is not None and (no := ends[1]) is not None:
            for (_, target), (one, a), (other, b) in zip(branches[0].moves, yes, no, strict=True):
                machine.values[target] = select(taken, one, other)
                machine.provenance[target] = a | b | bits
        elif not fast:
            first = ends[0] is None
            _try(flow, branches[not first], bits, partial(may_be, flow, op.operands[0], first))

    return run


def may_be(flow: Flow, condition: SsaValue, wanted: bool) -> Any:
    """The threads for which a condition may be `wanted`, if what `either` tells of may be anything."""
    slot, made = flow.slots[condition], condition.definition
    if not flow.either(flow.machine.provenance[slot]):
        return (number(flow.machine.values[slot]) & 1) == wanted
    if made is not None and made.name in ("arith.andi", "arith.ori"):
        a, b = (may_be(flow, operand, wanted) for operand in made.operands)
        return a & b if (made.name == "arith.andi") == wanted else a | b
    if made is not None and made.name == "scf.if":
        a, b = (
            may_be(flow, made.operands[0], taken)
            & may_be(flow, terminator(region.blocks[0]).operands[condition.index], wanted)
            for taken, region in zip((True, False), made.regions, strict=True)
        )
        return a | b
    return True


def _switch(flow: Flow, op: Operation, fast: bool) -> Step:
    """`scf.index_switch`: region 0 is the default, the others have their case."""
    machine, selector = flow.machine, flow.slots[op.operands[0]]
    cases = integers(op.attributes.get("cases", "")) or ()
    branches = [_branch(flow, op, region, fast) for region in op.regions]

    def run() -> None:
        value = number(machine.values[selector])
        bits = machine.provenance[selector]
        chosen = value if isinstance(value, int) else int(value[0])
        if not isinstance(value, int) and not (value == chosen).all():
            machine.notes.add("a switch that threads take differently is followed for the first of them")
        index = cases.index(chosen) + 1 if chosen in cases else 0
        _take(flow, branches[index], machine.mask, bits)
        if not fast:
            for other in branches[:index] + branches[index + 1 :]:
                _try(flow, other, bits)

    return run


def _branch(flow: Flow, op: Operation, region: Any, fast: bool) -> Branch:
    if not region.blocks:
        return _NOTHING
    block = region.blocks[0]
    tags = frozenset() if fast else flow.tags_in(region)
    return Branch(flow.steps(block, fast), flow.moves(terminator(block).operands, op.results, fast), tags)


def _take(flow: Flow, branch: Branch, mask: Any, bits: int) -> None:
    machine = flow.machine
    outer, guard = machine.mask, machine.guard
    machine.mask, machine.guard = mask, guard | bits
    try:
        flow.run(branch.steps)
        flow.move(branch.moves, bits)
    finally:
        machine.mask, machine.guard = outer, guard


def _try(flow: Flow, branch: Branch, bits: int, may: Callable[[], Any] = lambda: True) -> None:
    """Run a branch that is not taken, if something in it was never met, and undo what it did.

    Where `either` arm is run, for the threads that `may` take it.
    """
    machine, outer = flow.machine, flow.machine.mask
    if not flow.either(bits):
        if not branch.tags or id(branch.steps) in machine.tried or machine.met(branch.tags):
            return
        machine.tried.add(id(branch.steps))
    elif (taking := may()) is not True:
        taking = np.broadcast_to(taking, (machine.launch.threads,))
        machine.mask = taking if outer is None else outer & taking
    try:
        flow.pretend(lambda: flow.run(branch.steps), bits)
    finally:
        machine.mask = outer


def _split(taken: Any, mask: Any) -> tuple[Any, Any]:
    return (taken, ~taken) if mask is None else (taken & mask, ~taken & mask)


BRANCHES: dict[str, Maker] = {"scf.if": _if, "scf.index_switch": _switch}
