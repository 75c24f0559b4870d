"""Loops: `scf.for` and `scf.while` over all threads of a block.

Copies that were unrolled by the compiler's wish, and short loops, run from end to end. Of a longer one the
first, second and last iteration run in full, where threads have different counts each thread's last; between
them runs only what carries state from one iteration to the next (a pipeline's stage and phase), so that the
last iteration is the real one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from math import inf
from operator import or_
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered.flow import Flow, Maker
from layoutcheck.dsl.lowered.machine import Step
from layoutcheck.dsl.lowered.most import most
from layoutcheck.dsl.lowered.needed import handed_on, terminator
from layoutcheck.dsl.lowered.removed import constant_of, unrolled
from layoutcheck.dsl.lowered.values import flat, number, select
from layoutcheck.sources.mlir import Block, Operation, Value, each_once, integer

WHOLE = 8  # iterations that are all run in full
UNROLLED = 1024  # the same of a loop that the compiler will unroll
MOST_ITERATIONS = 4096  # of one loop; what comes after is noted, not run
MOST_STEPS = 40_000  # operations of one outermost loop; once they are spent its loops run twice at most
MOST_CONSECUTIVE = 600_000  # the same where all iterations run in full
_GUESSED = "a loop that ends by a value loaded at run time is followed for some turns"
_BOUNDS = re.compile(r"\.(?:(?:min|max|rem)[su]i|and|sh[rl])|select")  # of an integer that is made
_BELOW = {2: 1, 3: 0, 6: 1, 7: 0}  # how far below a bound a number is at least, by arith.cmpi's predicate
_OF_NUMBERS = re.compile(r"arith\.|llvm\.mlir\.constant|nvvm\.read\.ptx\.sreg\.n?tid\.")
CUT_SHORT = "a loop was cut short: a value that it ends by was assumed, or it is long"


class _For:
    """An `scf.for`; `run` is its step."""

    def __init__(self, flow: Flow, op: Operation, fast: bool) -> None:
        self.flow, self.op, self.fast = flow, op, fast
        block = op.regions[0].blocks[0]
        carried, ends = block.arguments[1:], terminator(block).operands
        self.bounds = flow.slots_of(op.operands[:3])
        self.induction, self.counter = flow.slots[block.arguments[0]], block.arguments[0]
        self.enter = flow.moves(op.operands[3:], carried, fast)
        self.again = flow.moves(ends, carried, fast)
        self.leave = flow.moves(carried, op.results, fast)
        self.whole, self.quick = flow.steps(block, fast), flow.quick(block)
        self.later = self.whole if fast else flow.later(op, self.whole)
        self.tags = frozenset() if fast else flow.tags_in(op.regions[0])
        self.own = flow.made_by(op) != ""  # the copy's own loop over its instructions
        self.end = most(op.operands[1])
        self.most = UNROLLED if self.own or unrolled(op) else WHOLE

    def run(self) -> None:
        """Run the loop, and as one that is not reached a body that no thread has met."""
        flow, machine = self.flow, self.flow.machine
        start, stop, stride = (number(machine.values[slot]) for slot in self.bounds)
        bits = reduce(or_, (machine.provenance[slot] for slot in self.bounds))
        flow.move(self.enter, bits)
        trips = _trips(start, stop, stride, self._least(start) if bits else 0)
        outer, guard = machine.mask, machine.guard
        machine.guard = guard | bits
        count = trips if isinstance(trips, int) else int((trips if outer is None else trips[outer]).max())

        def once(k: int, steps: list[Step]) -> None:
            machine.values[self.induction], machine.provenance[self.induction] = start + k * stride, bits
            around = machine.iterations
            if not self.own:
                machine.iterations = (*around, k)
            try:
                flow.run(steps)
            finally:
                machine.iterations = around

        _enter_loop(flow)
        try:
            self._turns(trips, count, once)
        finally:
            machine.mask, machine.guard = outer, guard
            flow.depth -= 1
        if not count and self.tags and id(self.whole) not in machine.tried and not machine.met(self.tags):
            machine.tried.add(id(self.whole))
            flow.pretend(lambda: once(0, self.whole), bits)
            flow.move(self.enter, bits)
        flow.move(self.leave, bits)

    def _least(self, start: Any) -> int:
        """The turns that it has at least with other numbers, as far as constants do not bound its end.

        A stride may be another number of the host, as a grid's size is: 1.
        """
        least = self.flow.turns.least
        if self.end == inf or not isinstance(start, int) or self.flow.machine.provenance[self.bounds[0]]:
            return least  # a start of the host's may be smaller
        stride = max(1, constant_of(self.op.operands[2]) or 1)
        return max(0, min(least, -(-(int(self.end) - start) // stride)))

    def _turns(self, trips: Any, count: int, once: Callable[[int, list[Step]], None]) -> None:
        """Its iterations: `count`, of a thread `trips` (an int where all threads have the same)."""
        flow, machine, outer = self.flow, self.flow.machine, self.flow.machine.mask
        for k, full in self._chosen(trips, count):
            steps = self.whole if full else self.quick()
            if isinstance(trips, int):
                if full and k and not self.later and not self.again:
                    return
                once(k, self.later if full and k else steps)
                flow.move(self.again)
                continue
            mask = trips > k if outer is None else outer & (trips > k)
            machine.mask = mask
            once(k, steps)
            _advance(flow, self.again, mask)

    def _chosen(self, trips: Any, count: int) -> Iterator[tuple[int, bool]]:
        """The iterations to run, and whether in full; each is asked for once the one before it has run."""
        flow, values = self.flow, self.flow.machine.values
        every = count <= self.most or flow.turns.whole(self.op)
        ends = {0, 1, count - 1} if isinstance(trips, int) else {0, 1, *(trips - 1).tolist()}
        turns: Iterable[int] = range(count)
        if not every and not self.again and not self.quick():  # nothing happens between
            turns = sorted(k for k in ends if 0 <= k < count)
        if not self.fast and not every and count > len(ends):
            flow.shortened.add(self.op)
        alike = flow.turns.until_repeated and isinstance(trips, int)  # turns that carry the same do the same
        alike &= not flow.full.arrays and self.counter not in flow.full.levels
        begun = set[tuple[int | bytes, ...]]()
        for turn, k in enumerate(turns):
            if _spent(flow, turn):
                return
            if every and alike:
                carried = _state([values[slot] for _, slot in self.again])
                every = carried not in begun
                begun.add(carried)
            yield k, not self.fast and (every or k in ends)


class _While:
    """An `scf.while`; `run` is its step."""

    def __init__(self, flow: Flow, op: Operation, fast: bool) -> None:
        self.flow, self.op, self.fast = flow, op, fast
        before, after = op.regions[0].blocks[0], op.regions[1].blocks[0]
        last, around = terminator(before).operands, terminator(after).operands
        self.condition = flow.slots[last[0]]
        self.enter = flow.moves(op.operands, before.arguments, fast)
        self.onward = flow.moves(last[1:], after.arguments, fast)
        self.again = flow.moves(around, before.arguments, fast)
        self.leave = flow.moves(last[1:], op.results, fast)
        self.whole = flow.steps(before, fast), flow.steps(after, fast)
        self.quick = flow.quick(before), flow.quick(after)
        self.tags = frozenset() if fast else flow.tags_in(op.regions[0]) | flow.tags_in(op.regions[1])
        self.goes_on = _Condition(flow, op, last[0])

    def run(self) -> None:
        """Run the loop, and as one that is not reached a body that no thread has met."""
        flow, machine = self.flow, self.flow.machine
        flow.move(self.enter)
        outer, guard, where = machine.mask, machine.guard, machine.iterations
        _enter_loop(flow)
        try:
            turns, ended = self._turns()
            if not turns and self.tags and not machine.met(self.tags):
                self._pretend()
        finally:
            machine.mask, machine.guard, machine.iterations = outer, guard, where
            flow.depth -= 1
        flow.move(self.leave, ended)

    def _turns(self) -> tuple[int, int]:
        """(its last turn, what the number of turns rests on)."""
        flow, machine = self.flow, self.flow.machine
        outer, where, ended = machine.mask, machine.iterations, 0
        for k in range(MOST_ITERATIONS + 1):
            full = not self.fast and (k < WHOLE or flow.turns.whole(self.op))
            head, body = self.whole if full else (self.quick[0](), self.quick[1]())
            if not full and not self.fast:
                flow.shortened.add(self.op)
            machine.iterations = (*where, k)
            flow.run(head)
            bits = machine.provenance[self.condition]
            machine.guard |= bits
            ended |= bits
            if not self._goes_on(k, bits) or _spent(flow, k):
                break
            if flow.turns.every and k and _ends(flow, self.op, k, bits):
                break
            flow.move(self.onward)
            flow.run(body)
            if machine.mask is outer:
                flow.move(self.again)
            else:
                _advance(flow, self.again, machine.mask)
        return k, ended

    def _goes_on(self, k: int, bits: int) -> bool:
        """Whether any thread has turn `k`; those that have it are the mask then."""
        machine = self.flow.machine
        if bits and self.goes_on.otherwise(k):
            return True
        inside = number(machine.values[self.condition])
        if isinstance(inside, int):
            return bool(inside & 1)
        mask = inside.astype(bool) if machine.mask is None else machine.mask & inside.astype(bool)
        if not np.count_nonzero(mask):
            return False
        machine.mask = mask
        return True

    def _pretend(self) -> None:
        """Run the body as one that is not reached, once."""
        flow, values, provenance = self.flow, self.flow.machine.values, self.flow.machine.provenance
        if id(self.whole[1]) in flow.machine.tried:
            return
        flow.machine.tried.add(id(self.whole[1]))
        saved = [(t, values[t], provenance[t]) for _, t in self.enter]
        flow.move(self.onward)
        flow.pretend(lambda: flow.run(self.whole[1]), provenance[self.condition])
        for slot, value, bits in saved:
            values[slot], provenance[slot] = value, bits


class _Condition:
    """What an `scf.while` goes on by: whether it could hold with other numbers than those of this run."""

    def __init__(self, flow: Flow, loop: Operation, condition: Value) -> None:
        self.flow, self.loop = flow, loop
        self.parts = flow.slots_of(_comparisons(loop, condition))
        self.counter, self.end = -1, inf  # the slot that is compared, and the largest number that goes on
        self.first: float = 0
        made = condition.definition
        below = _BELOW.get(integer(made.attributes.get("predicate", "")) or 0) if made is not None else None
        if made is not None and made.name == "arith.cmpi" and below is not None:
            self.counter, self.end = flow.slots[made.operands[0]], most(made.operands[1]) - below

    def otherwise(self, k: int) -> bool:
        """Whether turn `k` is run for numbers that this run does not have, as far as these are followed."""
        turns = self.flow.turns
        return (k < turns.least and self._could(k)) or (k < turns.guessed.get(self.loop, 1) and self._may())

    def _could(self, k: int) -> bool:
        """Whether it can hold in turn `k` with other numbers of the host: constants may bound its end.

        What is compared grows by 1 a turn at least: its step may be the host's, as the size of a grid is.
        """
        machine, slot = self.flow.machine, self.counter
        if slot < 0:
            return True
        if not k:  # a start of the host's may be smaller
            self.first = -inf if machine.provenance[slot] else int(np.min(number(machine.values[slot])))
        return self.first + k <= self.end

    def _may(self) -> bool:
        """Whether a loop that ends by what only a run knows could have another turn, and is followed so far.

        It could if its condition compares numbers that nothing bounds, and what is known of it holds.
        """
        machine = self.flow.machine
        if self.flow.turns.guessed.get(self.loop, 1) == 1 or not self.parts:
            return False
        guessed = [machine.reasons.guessed(machine.provenance[slot]) for slot in self.parts]
        known = (machine.values[slot] for slot, free in zip(self.parts, guessed, strict=True) if not free)
        if not any(guessed) or not all(isinstance(one, int) and one & 1 for one in known):
            return False
        machine.notes.add(_GUESSED)
        return True


def _comparisons(loop: Operation, condition: Value) -> list[Value]:
    """The comparisons that must all hold, if none is of a number with a bound; else none."""
    made = condition.definition
    if made is not None and made.name == "arith.andi":
        both = [_comparisons(loop, operand) for operand in made.operands]
        return [one for each in both for one in each] if all(both) else []
    if made is None or made.name not in ("arith.cmpi", "arith.cmpf") or made.operands[0].type == "i1":
        return []
    free = not any(op.regions or _BOUNDS.search(op.name) for op in _made_of(loop, made.operands))
    return [condition] if free else []


def _made_of(loop: Operation | None, values: Iterable[Value]) -> Iterator[Operation]:
    """The operations that values are made of, back to loads, through turns of `loop`, an `scf.while`."""
    queue = list(values)
    for value in each_once(queue):
        if (made := value.definition) is not None:
            yield made
            queue += [] if "load" in made.name else made.operands
        elif loop is not None and (given := _handed_on(value))[0] is loop:
            queue += given[1]


def rests_freely(condition: Value) -> bool | None:
    """Whether loaded values may make a condition hold or not hold in any thread; None: it rests on none.

    Not where numbers of the thread may bound what is compared with them.
    """
    made = condition.definition
    ops = list(_made_of(None, [condition]))
    if made is None or not any("load" in op.name for op in ops):
        return None
    whole = made.name in ("arith.andi", "arith.ori", "arith.xori", "arith.cmpi")
    if whole and made.operands[0].type == "i1":
        parts = [rests_freely(operand) for operand in made.operands]
        return any(parts) and (made.name in ("arith.xori", "arith.cmpi") or False not in parts)
    if made.name == "scf.if":
        ends = [terminator(region.blocks[0]).operands[condition.index] for region in made.regions]
        parts = [rests_freely(part) for part in (made.operands[0], *ends)]
        return any(parts) and False not in parts
    bits = (operand.type == "i1" for op in ops for operand in op.operands)
    compared = made.name in ("arith.cmpi", "arith.cmpf")
    return compared and not (any(bits) or any(op.regions or _BOUNDS.search(op.name) for op in ops))


def _handed_on(value: Value) -> tuple[Operation | None, list[Value]]:
    """The `scf.while` that hands a value from turn to turn, and what it hands on as that; else (None, [])."""
    block = value.owner
    loop = block.parent.parent if isinstance(block, Block) else None
    return (loop, handed_on(value)) if loop is not None and loop.name == "scf.while" else (None, [])


def ends_alike(loop: Operation) -> bool:
    """Whether constants, and the number of a thread, alone say how often an `scf.while` turns."""
    queue = [terminator(loop.regions[0].blocks[0]).operands[0]]
    for value in each_once(queue):
        made, (around, given) = value.definition, _handed_on(value)
        if (made is None or made.regions or not _OF_NUMBERS.match(made.name)) and around is None:
            return False
        queue += given if made is None else made.operands
    return True


def _advance(flow: Flow, again: list[tuple[int, int]], mask: Any) -> None:
    """The next iteration's values, of the threads that are in the loop."""
    values, provenance = flow.machine.values, flow.machine.provenance
    if mask.all():
        flow.move(again)
        return
    found = [(select(mask, values[s], values[t]), provenance[s] | provenance[t]) for s, t in again]
    for (_, target), (value, bits) in zip(again, found, strict=True):
        values[target], provenance[target] = value, bits


def _enter_loop(flow: Flow) -> None:
    if not flow.depth:
        flow.start = flow.machine.steps
    flow.depth += 1


def _spent(flow: Flow, k: int) -> bool:
    """Whether a loop has to end before its iteration `k`."""
    most = MOST_CONSECUTIVE if flow.turns.every else MOST_STEPS
    if k >= MOST_ITERATIONS or (k > 1 and flow.machine.steps - flow.start > most):
        flow.machine.notes.add(CUT_SHORT)
        return True
    return False


def _ends(flow: Flow, loop: Operation, k: int, bits: int) -> bool:
    """Whether a loop has had its turns: it ends by what only a run can say, or is not followed further."""
    if flow.machine.reasons.guessed(bits):
        if k < flow.turns.guessed.get(loop, 1):
            return False
        flow.machine.notes.add(_GUESSED)
        return True
    if k < flow.turns.most.get(loop, k + 1):
        return False
    flow.cut.add((loop, flow.machine.iterations[:-1]))
    flow.machine.notes.add(f"a persistent loop is followed for its first {k} turns")
    return True


def _state(values: list[Any]) -> tuple[int | bytes, ...]:
    """What a loop carries, to be compared."""
    return tuple(n if isinstance(n, int) else n.tobytes() for value in values for n in flat(value))


def _trips(start: Any, stop: Any, step: Any, least: int) -> Any:
    """Iterations of a loop, `least` at least, an int where they are the same for all threads."""
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        return max(least, -(-(stop - start) // step)) if step > 0 else least
    step = np.maximum(np.asarray(step), 1)
    trips = np.maximum(least, -(-(np.asarray(stop) - np.asarray(start)) // step))
    trips = np.atleast_1d(trips)
    return int(trips[0]) if bool((trips == trips[0]).all()) else trips


LOOPS: dict[str, Maker] = {
    "scf.for": lambda flow, op, fast: _For(flow, op, fast).run,
    "scf.while": lambda flow, op, fast: _While(flow, op, fast).run,
}
