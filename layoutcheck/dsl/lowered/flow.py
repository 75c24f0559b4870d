"""Control flow: `scf` regions over all threads of a block, the mask saying which threads are in them.

Loops. Copies that were unrolled by the compiler's wish, and short loops, run from end to end. Of a longer one
the first, second and last iteration run in full; between them runs only what carries state from one iteration
to the next (a pipeline's stage and phase), so that the last iteration is the real one.

Branches. Where no thread takes a branch, it is still tried, once, as if all did, and its stores are undone:
what stands only there is recorded as not reached.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered.machine import Machine, Step
from layoutcheck.dsl.lowered.needed import NUMBER, Needed, terminator
from layoutcheck.dsl.lowered.values import Value, number, select
from layoutcheck.sources.mlir import Block, Operation
from layoutcheck.sources.mlir import Value as SsaValue

WHOLE = 8  # iterations that are all run in full
UNROLLED = 1024  # the same of a loop that the compiler will unroll
MOST_ITERATIONS = 4096  # of one loop; what comes after is noted, not run
MOST_STEPS = 40_000  # operations of one outermost loop; once they are spent its loops run twice at most


class Flow:
    """Turns blocks into lists of steps; `translate` makes the step of an operation without regions.

    `tags` gives the tag under which an operation is recorded, `made_by` that of what it was lowered from.
    """

    def __init__(
        self,
        machine: Machine,
        slots: dict[SsaValue, int],
        full: Needed,
        fast: Needed,
        translate: Callable[[Operation], Step],
        tags: Callable[[Operation], str],
        made_by: Callable[[Operation], str],
    ) -> None:
        self.machine, self.slots = machine, slots
        self.full, self.fast = full, fast
        self.translate, self.tag, self.made_by = translate, tags, made_by
        self._translated: dict[Operation, Step] = {}
        self._depth = self._start = 0  # loops around, and the steps taken when the outermost began

    def steps(self, block: Block, fast: bool) -> list[Step]:
        """What to run of a block."""
        needed = self.fast if fast else self.full
        return [self.step(op, fast) for op in block.operations if op in needed.operations]

    def step(self, op: Operation, fast: bool) -> Step:
        """One operation as a function without arguments."""
        if op.regions:
            maker = {"scf.for": self._for, "scf.if": self._if, "scf.while": self._while}.get(op.name)
            if maker is not None:
                return maker(op, fast)
            if op.name == "scf.index_switch":
                return self._switch(op, fast)
            if op.name == "scf.execute_region" and len(op.regions[0].blocks) == 1:
                return self._inline(op, fast)
        found = self._translated.get(op)
        if found is None:
            self._translated[op] = found = self.translate(op)
        return found

    def run(self, steps: list[Step]) -> None:
        """Run steps, and count them."""
        self.machine.steps += len(steps)
        for step in steps:
            step()

    def _slots_of(self, values: list[SsaValue]) -> list[int]:
        return [self.slots[value] for value in values]

    def _moves(self, sources: list[SsaValue], targets: list[SsaValue], fast: bool) -> list[tuple[int, int]]:
        """Slots to copy, of the targets that are needed."""
        needed = self.fast if fast else self.full
        return [
            (self.slots[s], self.slots[t])
            for s, t in zip(sources, targets, strict=False)
            if t in needed.levels
        ]

    def _move(self, moves: list[tuple[int, int]], extra: int = 0) -> None:
        values, trust = self.machine.values, self.machine.trust
        found = [(values[s], trust[s]) for s, _ in moves]
        for (_, target), (value, bits) in zip(moves, found, strict=True):
            values[target], trust[target] = value, bits | extra

    def _inline(self, op: Operation, fast: bool) -> Step:
        block = op.regions[0].blocks[0]
        steps, moves = self.steps(block, fast), self._moves(terminator(block).operands, op.results, fast)

        def run() -> None:
            self.run(steps)
            self._move(moves)

        return run

    # Branches.

    def _if(self, op: Operation, fast: bool) -> Step:
        machine, condition = self.machine, self.slots[op.operands[0]]
        branches = [self._branch(op, region, fast) for region in op.regions]
        if len(branches) == 1:
            branches.append(([], [], frozenset()))

        own = self.made_by(op) != ""  # the copy's own predicate: its addresses count, whoever it lets through
        nobody = np.zeros(machine.launch.threads, bool)

        def run() -> None:
            taken = number(machine.values[condition])
            bits = machine.trust[condition]
            if own and not fast and isinstance(taken, int) and not taken & 1:
                self._take(branches[0], nobody, bits)
            if isinstance(taken, int):
                chosen = 0 if taken & 1 else 1
                self._take(branches[chosen], machine.mask, bits)
                if not fast:
                    self._try(branches[1 - chosen], bits)
                return
            masks = _split(taken.astype(bool), machine.mask)
            ends: list[list[tuple[Value, int]] | None] = []
            for branch, mask in zip(branches, masks, strict=True):
                if mask.any() or (own and not fast and branch is branches[0]):
                    self._take(branch, mask, bits)
                    ends.append(self._ends(branch[1]))
                else:
                    ends.append(None)
            if ends[0] is not None and ends[1] is not None:
                self._merge(taken, branches[0][1], ends, bits)
            elif not fast:
                self._try(branches[0 if ends[0] is None else 1], bits)

        return run

    def _branch(
        self, op: Operation, region: Any, fast: bool
    ) -> tuple[list[Step], list[tuple[int, int]], frozenset[str]]:
        if not region.blocks:
            return [], [], frozenset()
        block = region.blocks[0]
        tags = frozenset() if fast else self._tags_in(region)
        return self.steps(block, fast), self._moves(terminator(block).operands, op.results, fast), tags

    def _tags_in(self, region: Any) -> frozenset[str]:
        return frozenset(
            tag
            for block in region.blocks
            for top in block.operations
            for op in top.walk()
            if (tag := self.tag(op))
        )

    def _take(self, branch: tuple[list[Step], list[tuple[int, int]], Any], mask: Any, bits: int) -> None:
        machine = self.machine
        outer, guard = machine.mask, machine.guard
        machine.mask, machine.guard = mask, guard | bits
        try:
            self.run(branch[0])
            self._move(branch[1], bits)
        finally:
            machine.mask, machine.guard = outer, guard

    def _try(self, branch: tuple[list[Step], list[tuple[int, int]], frozenset[str]], bits: int) -> None:
        """Run a branch that is not taken, if something in it was never met, and undo what it did."""
        machine = self.machine
        if not branch[2] or id(branch[0]) in machine.tried or machine.met(branch[2]):
            return
        machine.tried.add(id(branch[0]))
        self._pretend(lambda: self.run(branch[0]), bits)

    def _pretend(self, action: Callable[[], None], bits: int) -> None:
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

    def _ends(self, moves: list[tuple[int, int]]) -> list[tuple[Value, int]]:
        return [(self.machine.values[t], self.machine.trust[t]) for _, t in moves]

    def _merge(self, mask: Any, moves: list[tuple[int, int]], ends: list[Any], bits: int) -> None:
        for (_, target), (yes, a), (no, b) in zip(moves, ends[0], ends[1], strict=True):
            self.machine.values[target] = select(mask, yes, no)
            self.machine.trust[target] = a | b | bits

    def _switch(self, op: Operation, fast: bool) -> Step:
        """`scf.index_switch`: region 0 is the default, the others have their case."""
        from layoutcheck.sources.mlir import integers

        machine, selector = self.machine, self.slots[op.operands[0]]
        cases = integers(op.attributes.get("cases", "")) or ()
        branches = [self._branch(op, region, fast) for region in op.regions]

        def run() -> None:
            value = number(machine.values[selector])
            bits = machine.trust[selector]
            chosen = value if isinstance(value, int) else int(value[0])
            index = cases.index(chosen) + 1 if chosen in cases else 0
            self._take(branches[index], machine.mask, bits)
            if not fast:
                for other in branches[:index] + branches[index + 1 :]:
                    self._try(other, bits)

        return run

    # Loops.

    def _enter_loop(self) -> None:
        if not self._depth:
            self._start = self.machine.steps
        self._depth += 1

    def _spent(self, k: int) -> bool:
        """Whether a loop has to end before its iteration `k`."""
        if k >= MOST_ITERATIONS or (k > 1 and self.machine.steps - self._start > MOST_STEPS):
            self.machine.notes.add("a loop was cut short: a value that it ends by was assumed, or it is long")
            return True
        return False

    def _for(self, op: Operation, fast: bool) -> Step:
        machine, values, trust = self.machine, self.machine.values, self.machine.trust
        low, high, step = self._slots_of(op.operands[:3])
        block = op.regions[0].blocks[0]
        induction = self.slots[block.arguments[0]]
        ends = terminator(block).operands
        enter = self._moves(op.operands[3:], block.arguments[1:], fast)
        again = self._moves(ends, block.arguments[1:], fast)
        leave = self._moves(block.arguments[1:], op.results, fast)
        whole, quick = self.steps(block, fast), self.steps(block, True)
        tags = frozenset() if fast else self._tags_in(op.regions[0])
        own = self.made_by(op) != ""  # the copy's own loop over its instructions
        most = UNROLLED if own or "full = true" in op.attributes.get("loop_annotation", "") else WHOLE

        def once(k: int, steps: list[Step], start: Any, stride: Any, bits: int) -> None:
            values[induction], trust[induction] = start + k * stride, bits
            outer = machine.iterations
            if not own:
                machine.iterations = (*outer, k)
            try:
                self.run(steps)
            finally:
                machine.iterations = outer

        def run() -> None:
            start, stop, stride = (number(values[slot]) for slot in (low, high, step))
            bits = trust[low] | trust[high] | trust[step]
            self._move(enter, bits)
            trips = _trips(start, stop, stride)
            outer, guard = machine.mask, machine.guard
            machine.guard = guard | bits
            count = (
                trips
                if isinstance(trips, int)
                else int(trips[outer].max() if outer is not None else trips.max())
            )
            self._enter_loop()
            try:
                for k in range(count):
                    if self._spent(k):
                        break
                    full = not fast and (count <= most or k < 2 or k == count - 1)
                    steps = whole if full else quick
                    if isinstance(trips, int):
                        once(k, steps, start, stride, bits)
                        self._move(again)
                        continue
                    mask = trips > k if outer is None else outer & (trips > k)
                    machine.mask = mask
                    once(k, steps, start, stride, bits)
                    self._advance(again, mask)
            finally:
                machine.mask, machine.guard = outer, guard
                self._depth -= 1
            if not count and tags and id(whole) not in machine.tried and not machine.met(tags):
                machine.tried.add(id(whole))
                self._pretend(lambda: once(0, whole, start, stride, bits), bits)
                self._move(enter, bits)
            self._move(leave)

        return run

    def _advance(self, again: list[tuple[int, int]], mask: Any) -> None:
        """The next iteration's values, of the threads that are in the loop."""
        values, trust = self.machine.values, self.machine.trust
        if mask.all():
            self._move(again)
            return
        found = [(select(mask, values[s], values[t]), trust[s] | trust[t]) for s, t in again]
        for (_, target), (value, bits) in zip(again, found, strict=True):
            values[target], trust[target] = value, bits

    def _while(self, op: Operation, fast: bool) -> Step:
        machine, values, trust = self.machine, self.machine.values, self.machine.trust
        before, after = op.regions[0].blocks[0], op.regions[1].blocks[0]
        last = terminator(before)
        condition = self.slots[last.operands[0]]
        enter = self._moves(op.operands, before.arguments, fast)
        onward = self._moves(last.operands[1:], after.arguments, fast)
        again = self._moves(terminator(after).operands, before.arguments, fast)
        leave = self._moves(last.operands[1:], op.results, fast)
        whole = (self.steps(before, fast), self.steps(after, fast))
        quick = (self.steps(before, True), self.steps(after, True))
        tags = frozenset() if fast else self._tags_in(op.regions[0]) | self._tags_in(op.regions[1])

        def run() -> None:
            self._move(enter)
            outer, guard, where = machine.mask, machine.guard, machine.iterations
            mask = outer
            self._enter_loop()
            try:
                for k in range(MOST_ITERATIONS + 1):
                    head, body = whole if not fast and k < WHOLE else quick
                    machine.iterations = (*where, k)
                    self.run(head)
                    inside = number(values[condition])
                    bits = trust[condition]
                    machine.guard |= bits
                    if isinstance(inside, int):
                        if not inside & 1:
                            break
                    else:
                        mask = inside.astype(bool) if mask is None else mask & inside.astype(bool)
                        if not mask.any():
                            break
                        machine.mask = mask
                    if self._spent(k):
                        break
                    self._move(onward)
                    self.run(body)
                    if machine.mask is outer:
                        self._move(again)
                    else:
                        self._advance(again, machine.mask)
                if not k and tags and id(whole[1]) not in machine.tried and not machine.met(tags):
                    machine.tried.add(id(whole[1]))
                    saved = [(t, values[t], trust[t]) for _, t in enter]
                    self._move(onward)
                    self._pretend(lambda: self.run(whole[1]), trust[condition])
                    for slot, value, bits in saved:
                        values[slot], trust[slot] = value, bits
            finally:
                machine.mask, machine.guard, machine.iterations = outer, guard, where
                self._depth -= 1
            self._move(leave)

        return run


def fast_part(kernel: Operation, full: Needed) -> Needed:
    """What carries state through loops: carried numbers, conditions, and registers that are read back."""
    fast = Needed(kernel, ())
    for op in kernel.walk():
        if op not in full.operations:
            continue
        if op.name == "scf.for":
            ends = terminator(op.regions[0].blocks[0]).operands
            carried = zip(op.regions[0].blocks[0].arguments[1:], ends, strict=False)
            fast.add(op, [end for argument, end in carried if full.levels.get(argument, 0) == NUMBER])
        elif op.name == "scf.while":
            last, end = terminator(op.regions[0].blocks[0]), terminator(op.regions[1].blocks[0])
            carried = zip(op.regions[0].blocks[0].arguments, end.operands, strict=False)
            needed = [value for argument, value in carried if full.levels.get(argument, 0) == NUMBER]
            fast.add(op, [*last.operands[:1], *needed])
        elif op.name == "llvm.store" and full.stores_registers(op):
            fast.add(op, op.operands)
    return fast


def _split(taken: Any, mask: Any) -> tuple[Any, Any]:
    return (taken, ~taken) if mask is None else (taken & mask, ~taken & mask)


def _trips(start: Any, stop: Any, step: Any) -> Any:
    """Iterations of a loop, an int where they are the same for all threads."""
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        return max(0, -(-(stop - start) // step)) if step > 0 else 0
    step = np.maximum(np.asarray(step), 1)
    trips = np.maximum(0, -(-(np.asarray(stop) - np.asarray(start)) // step))
    trips = np.atleast_1d(trips)
    return int(trips[0]) if bool((trips == trips[0]).all()) else trips
