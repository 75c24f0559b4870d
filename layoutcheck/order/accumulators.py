"""Registers of wgmma: accumulators that are read before their wait, or written without a fence behind it.

`find(kernel, meanings)` looks at a kernel's text once: which operation reads a register that a wgmma writes,
which one writes a register that a wgmma reads. `registers` holds the replay against it.

PTX ISA, wgmma.fence: stands before the first wgmma.mma_async and after every other access of its registers;
wgmma.wait_group: accumulators may be accessed behind it only. ptxas mends both (the SASS is the same), so
they are notes.

Accumulators are values of the lowered module, or lie in an `llvm.alloca` where a loop carries them; an
`llvm.alloca` is looked at as a whole. Fragments of A in registers are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.dsl.lowered.needed import CARRIERS
from layoutcheck.dsl.lowered.operations import CONSTANTS
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.unused import alloca, uses_beside
from layoutcheck.sources.mlir import Operation, Value

PASSING = CARRIERS  # what hands registers on is no use of them
_NOTHING = ("llvm.mlir.undef", "llvm.mlir.poison", "llvm.mlir.zero", *CONSTANTS)


def find(kernel: Operation, meanings: dict[Operation, Meaning]) -> None:
    """Say in `meanings` which operations read (`reads`) or write (`sets`) wgmma's registers."""
    wgmmas = [op for op, meaning in meanings.items() if meaning.kind == "wgmma"]
    if wgmmas:
        _Finder(kernel, wgmmas, meanings).run()


class _Finder:
    """Follows the accumulators of all wgmmas of a kernel."""

    def __init__(
        self, kernel: Operation, wgmmas: list[Operation], meanings: dict[Operation, Meaning]
    ) -> None:
        self.wgmmas, self.meanings = set(wgmmas), meanings
        self.users = uses_beside(kernel)
        self.memory: dict[Operation, list[Operation]] = {}  # alloca -> its loads and stores, in program order
        for op in kernel.walk():
            if op.name in ("llvm.load", "llvm.store"):
                place = alloca(op.operands[op.name == "llvm.store"])
                if place is not None:
                    self.memory.setdefault(place, []).append(op)

    def run(self) -> None:
        """Note the first read and the last write of every block: those between do not matter."""
        for wgmma in sorted(self.wgmmas, key=lambda op: op.start):
            reads = sorted(self._reads(wgmma), key=lambda op: op.start, reverse=True)
            for op in {op.parent: op for op in reads}.values():
                self._meaning(op).reads.append(wgmma)
            sets = sorted(self._sets(wgmma), key=lambda op: op.start)
            for op in {op.parent: op for op in sets}.values():
                self._meaning(op).sets.append(wgmma)

    def _meaning(self, op: Operation) -> Meaning:
        return self.meanings.setdefault(op, Meaning("registers", op=op))

    def _reads(self, wgmma: Operation) -> Iterator[Operation]:
        """What uses a value that the wgmma makes, other than another wgmma."""
        seen: set[Value | Operation] = set()
        queue = [(value, False) for value in wgmma.results]
        while queue:
            value, carried = queue.pop()
            if value in seen:
                continue
            seen.add(value)
            for user, index in self.users.get(value, ()):
                if user in self.wgmmas:
                    continue
                if user.name in PASSING:
                    queue += [(result, carried) for result in user.results]
                elif user.name == "llvm.store":
                    place = alloca(user.operands[1])
                    if place is None:
                        yield user
                    elif place not in seen:
                        seen.add(place)
                        yield from self._loads(place)
                elif user.name == "scf.yield":
                    queue += handed_on(user, index)
                elif not carried or user.start < wgmma.start:  # a carried value, before the next one is made
                    yield user

    def _loads(self, place: Operation) -> Iterator[Operation]:
        """Loads of registers in memory that feed anything other than a wgmma."""
        for op in self.memory.get(place, ()):
            users = self.users.get(op.results[0], ()) if op.name == "llvm.load" else ()
            if any(user not in self.wgmmas for user, _ in users):
                yield op

    def _sets(self, wgmma: Operation) -> Iterator[Operation]:
        """What makes an accumulator that the wgmma reads, other than another wgmma."""
        seen: set[Value | Operation] = set()
        queue = [value for value in wgmma.operands if value.type == "f32"]
        while queue:
            value = queue.pop()
            made = value.definition
            if value in seen:
                continue
            seen.add(value)
            if made is None:
                queue += _brought(value)
            elif made.name in PASSING:
                queue += made.operands
            elif made.name == "llvm.load" and (place := alloca(made.operands[0])) is not None:
                if place not in seen:
                    seen.add(place)
                    yield from (op for op in self.memory[place] if self._ordinary(op))
            elif made.regions:
                queue += _ends(made, value.index)
            elif made.name not in _NOTHING and made not in self.wgmmas:
                yield made

    def _ordinary(self, op: Operation) -> bool:
        """Whether a store's value is anything other than what came out of a wgmma."""
        if op.name != "llvm.store":
            return False
        made = op.operands[0].definition
        while made is not None and made.name in PASSING:
            made = made.operands[0].definition
        return made not in self.wgmmas


def handed_on(end: Operation, index: int) -> list[tuple[Value, bool]]:
    """Where an operand of `scf.yield` goes: the result of what it ends, and the next iteration of a loop."""
    around = end.parent_operation
    if around is None:
        return []
    found = [(around.results[index], False)] if index < len(around.results) else []
    if around.name == "scf.for":
        found.append((around.regions[0].blocks[0].arguments[index + 1], True))
    return found


def _brought(value: Value) -> list[Value]:
    """What a loop brings to an argument of its block: from before it, and from the iteration before."""
    around, index = value.carried
    return [] if around is None else [around.operands[index + 3], *_ends(around, index)]


def _ends(op: Operation, index: int) -> list[Value]:
    """The values that the regions of an operation yield as its result `index`."""
    last = [block.operations[-1] for region in op.regions for block in region.blocks if block.operations]
    return [one.operands[index] for one in last if one.name == "scf.yield" and index < len(one.operands)]
