"""Whether two threads that store to one place by one statement store different numbers.

Most often it is one number: a constant, a sum that all lanes have, what all load from one place. It is not
if the number is made of loads of global memory by arithmetic of the thread alone, and the two load other
places. Nothing is said of what lanes give each other, of shared memory, and of choices.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from layoutcheck.dsl.lowered.needed import CARRIERS, terminator
from layoutcheck.order.contents import stored
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.problems import Party
from layoutcheck.order.watched import Event, lanes_of
from layoutcheck.sources.mlir import Block, Operation, Value

_GLOBAL = "!llvm.ptr<1>"
_ARITHMETIC = re.compile(
    r"arith\.(?!select)\w+|math\.\w+|vector\.\w+|nvvm\.(?:fm(?:ax|in)|(?:add|mul|fma|sub)\.packed\.f32x2)"
)


def differ(first: Party, second: Party, ours: Iterable[Event], theirs: Iterable[Event]) -> bool:
    """Whether they do; `ours` and `theirs` are the events of the two threads' blocks."""
    op = first.event.meaning.op
    if op is None or op is not second.event.meaning.op or first.event.turns != second.event.turns:
        return False
    loads = loads_behind(op, first.event.meaning)
    if not loads:
        return False
    own = _places(loads, first, ours)
    return own is not None and own != _places(loads, second, theirs)


def loads_behind(op: Operation, meaning: Meaning) -> set[Operation] | None:
    """The loads of global memory that a store's numbers are made of; None if of anything else, too."""
    ops, _ = behind(stored(op, meaning))
    loads = {one for one in ops if one.name == "llvm.load" and one.operands[0].type == _GLOBAL}
    others = ops - loads
    return loads if all(one.name in CARRIERS or _ARITHMETIC.fullmatch(one.name) for one in others) else None


def behind(values: Iterable[Value]) -> tuple[set[Operation], bool]:
    """The operations that values are made of, back to loads, and whether a loop hands some of them on."""
    queue, seen, ops, carried = list(values), set[Value](), set[Operation](), False
    while queue:
        value = queue.pop()
        if value in seen:
            continue
        seen.add(value)
        made = value.definition
        loop, index = (made, value.index) if made is not None else _around(value)
        if loop is not None and loop.name == "scf.for" and index >= 0:
            carried = True
            queue += [terminator(loop.regions[0].blocks[0]).operands[index], loop.operands[3 + index]]
        elif made is not None:
            ops.add(made)
            queue += [] if made.name == "llvm.load" or made.regions else made.operands
    return ops, carried


def _around(value: Value) -> tuple[Operation | None, int]:
    """The operation that a block's argument belongs to, and which of the values that a loop carries it is."""
    block = value.owner
    return (block.parent.parent, value.index - 1) if isinstance(block, Block) else (None, -1)


def _places(loads: set[Operation], party: Party, events: Iterable[Event]) -> list[tuple[int, int]] | None:
    """(operation, address) of what a thread loads before it stores; None if some of it only a run knows."""
    found = []
    for event in events:
        if event is party.event:
            break
        if event.meaning.op in loads:
            if event.doubt or event.guarded:
                return None
            if lanes_of(event, party.thread + 1)[party.thread]:
                found.append((id(event.meaning.op), event.number_of(0, party.thread)))
    return found
