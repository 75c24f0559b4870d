"""Whether two threads that store to one place by one statement store different numbers.

Most often it is one number: a constant, a sum that all lanes have, what all load from one place. It is not
if the number is made of loads of global memory by arithmetic of the thread alone, and the two load other
places, in whatever order, in this turn of the loops around the store and in earlier ones if a loop hands a
number on. Nothing is said of what lanes give each other, of shared memory, of choices, and where many threads
store to one place and the others have their own: beyond a tensor's end, to a place that nobody reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from layoutcheck.dsl.lowered.needed import CARRIERS, terminator
from layoutcheck.order.contents import stored
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.problems import Party
from layoutcheck.order.watched import Event, lanes_of
from layoutcheck.sources.mlir import Operation, Value, each_once

_GLOBAL = "!llvm.ptr<1>"
_ARITHMETIC = re.compile(
    r"arith\.(?!select)\w+|math\.\w+|vector\.\w+|nvvm\.(?:fm(?:ax|in)|(?:add|mul|fma|sub)\.packed\.f32x2)"
)


def differ(first: Party, second: Party, ours: Iterable[Event], theirs: Iterable[Event]) -> bool:
    """Whether they do; `ours` and `theirs` are the events of the two threads' blocks."""
    op = first.event.meaning.op
    if op is None or op is not second.event.meaning.op or first.event.turns != second.event.turns:
        return False
    ops, carrying = behind(stored(op, first.event.meaning))
    loads = _global_loads(ops)
    if not loads or _beyond(first.event):
        return False
    shared = {load: _same_turns(load, op, carrying) for load in loads}
    own = _places(shared, first, ours)
    return own is not None and own != _places(shared, second, theirs)


def loads_behind(op: Operation, meaning: Meaning) -> set[Operation] | None:
    """The loads of global memory that a store's numbers are made of; None if of anything else, too."""
    return _global_loads(behind(stored(op, meaning))[0])


def _global_loads(ops: set[Operation]) -> set[Operation] | None:
    """The loads of global memory among operations that a number is made of; None beside anything else."""
    loads = {one for one in ops if one.name == "llvm.load" and one.operands[0].type == _GLOBAL}
    others = ops - loads
    return loads if all(one.name in CARRIERS or _ARITHMETIC.fullmatch(one.name) for one in others) else None


def behind(values: Iterable[Value]) -> tuple[set[Operation], set[Operation]]:
    """The operations that values are made of, back to loads, and the loops that hand some of them on."""
    queue, ops, carrying = list(values), set[Operation](), set[Operation]()
    for value in each_once(queue):
        made = value.definition
        loop, index = value.carried
        if loop is not None:
            carrying.add(loop)
            queue += [terminator(loop.regions[0].blocks[0]).operands[index], loop.operands[3 + index]]
        elif made is not None:
            ops.add(made)
            queue += [] if made.name == "llvm.load" or made.regions else made.operands
    return ops, carrying


def _beyond(event: Event) -> bool:
    """Whether many threads store to one place, and the others to places of their own."""
    at = event.values[0]
    if isinstance(at, int):
        return False
    _, counts = np.unique(at[lanes_of(event, at.size)], return_counts=True)
    return counts.size > 1 and int((counts > 1).sum()) == 1


def _same_turns(load: Operation, store: Operation, carrying: set[Operation]) -> int:
    """Of how many loops, from the outermost, what is stored was loaded in the turn of the store."""
    loops = [[one for one in op.around() if one.name in ("scf.for", "scf.while")] for op in (load, store)]
    same = 0
    for one, other in zip(*(reversed(each) for each in loops), strict=False):
        if one is not other or one in carrying:
            break
        same += 1
    return same


def _places(loads: Mapping[Operation, int], party: Party, events: Iterable[Event]) -> list[int] | None:
    """The addresses that a thread loads before it stores, sorted; None if some of them only a run knows.

    `loads` give the number of loops whose turn has to be that of the store.
    """
    found, turns = [], party.event.turns
    for event in events:
        if event is party.event:
            break
        same = loads.get(event.meaning.op) if event.meaning.op is not None else None
        if same is not None and event.turns[:same] == turns[:same]:
            if event.doubt or event.guarded:
                return None
            if lanes_of(event, party.thread + 1)[party.thread]:
                found.append(event.number_of(0, party.thread))
    return sorted(found)
