"""`unused(world, party)`: whether a thread loads what it does not use, as of a branch that other warps take.

Such a load may come before the store without harm: the number is the thread's own and goes nowhere.
"""

from __future__ import annotations

import re
from collections import defaultdict

from layoutcheck.dsl.lowered.evaluate import KERNELS
from layoutcheck.dsl.lowered.needed import CARRIERS
from layoutcheck.order.problems import Party
from layoutcheck.order.replay import World
from layoutcheck.order.watched import Event, lanes_of
from layoutcheck.sources.mlir import Operation, Value, each_once

_COLLECTIVE = re.compile(r"nvvm\.(?:shfl|vote|redux|match|mma)\.sync")
_POINTERS = ("inttoptr", "ptrtoint", "getelementptr", "addrspacecast")
_ARITHMETIC = ("arith.", "index.", *(f"llvm.{name}" for name in _POINTERS))


def unused(world: World, party: Party) -> bool:
    """Only where each use is an operation that the replay follows, and this thread executes none of them."""
    op = party.event.meaning.op
    if op is None or party.event.meaning.kind != "read" or len(op.results) != 1:
        return False
    if op not in world.uses:
        world.uses[op] = _uses(world, op)
    uses = world.uses[op]
    if uses is None:
        return False
    own = (event for number, event in uses if number == party.block)
    return not any(lanes_of(event, world.threads)[party.thread] for event in own)


def _uses(world: World, op: Operation) -> list[tuple[int, Event]] | None:
    """(block, event) of all that uses the result of an operation; None where not all of it is followed."""
    users = _users(op)
    found = [
        (number, event)
        for event, number in zip(world.events, world.block_of, strict=True)
        if event.meaning.op in users
    ]
    return found if users <= {event.meaning.op for _, event in found} else None


def uses_beside(op: Operation) -> dict[Value, list[tuple[Operation, int]]]:
    """What uses each value of the kernel that an operation is of, and as which of its operands."""
    uses: dict[Value, list[tuple[Operation, int]]] = defaultdict(list)
    for one in op.outer(*KERNELS).walk():
        for index, value in enumerate(one.operands):
            uses[value].append((one, index))
    return uses


def given_to_lanes(op: Operation) -> bool:
    """Whether other lanes get what is made of a loaded number: by then each of them has loaded its own.

    Also by way of a fragment that still lies in memory.
    """
    uses = uses_beside(op)
    queue = list(op.results)
    for value in each_once(queue):
        for user, index in uses[value]:
            if _COLLECTIVE.match(user.name):
                return True
            around = user.parent_operation if user.name in ("scf.yield", "scf.condition") else None
            queue += (around or user).results
            if user.name == "llvm.store" and index == 0:
                made = alloca(user.operands[1])
                queue += made.results if made is not None and made.results[0].type == "!llvm.ptr" else []
    return False


def _users(op: Operation) -> set[Operation | None]:
    """What uses the result of an operation, other than by arithmetic."""
    uses = uses_beside(op)
    found: set[Operation | None] = set()
    queue = list(op.results)
    for value in each_once(queue):
        for user, _ in uses[value]:
            if user.name in CARRIERS or user.name.startswith(_ARITHMETIC):
                queue += user.results
            else:
                found.add(user)
    return found


def alloca(pointer: Value) -> Operation | None:
    """The register memory that a pointer points to."""
    made = pointer.definition
    while made is not None and made.name in ("llvm.getelementptr", "llvm.bitcast", "llvm.addrspacecast"):
        made = made.operands[0].definition
    return made if made is not None and made.name == "llvm.alloca" else None
