"""`unused(world, party)`: whether a thread loads what it does not use, as of a branch that other warps take.

Such a load may come before the store without harm: the number is the thread's own and goes nowhere.
"""

from __future__ import annotations

from collections import defaultdict

from layoutcheck.dsl.lowered.evaluate import KERNELS
from layoutcheck.dsl.lowered.needed import CARRIERS
from layoutcheck.order.problems import Party
from layoutcheck.order.replay import World
from layoutcheck.order.watched import lanes_of
from layoutcheck.sources.mlir import Operation, Value

_ARITHMETIC = (
    "arith.",
    "index.",
    "llvm.inttoptr",
    "llvm.ptrtoint",
    "llvm.getelementptr",
    "llvm.addrspacecast",
)


def unused(world: World, party: Party) -> bool:
    """Only where each use is an operation that the replay follows, and this thread executes none of them."""
    op = party.event.meaning.op
    if op is None or party.event.meaning.kind != "read" or len(op.results) != 1:
        return False
    users = _users(op)
    followed = {event.meaning.op for event in world.events}
    if not users <= followed:
        return False
    block = (e for e, number in zip(world.events, world.block_of, strict=True) if number == party.block)
    return not any(e.meaning.op in users and lanes_of(e, world.threads)[party.thread] for e in block)


def _users(op: Operation) -> set[Operation | None]:
    """What uses the result of an operation, other than by arithmetic."""
    top = op
    while top.parent_operation is not None and top.name not in KERNELS:
        top = top.parent_operation
    uses: dict[Value, list[Operation]] = defaultdict(list)
    for one in top.walk():
        for value in one.operands:
            uses[value].append(one)
    found: set[Operation | None] = set()
    queue, seen = list(op.results), set[Value]()
    while queue:
        value = queue.pop()
        if value in seen:
            continue
        seen.add(value)
        for user in uses.get(value, ()):
            if user.name in CARRIERS or user.name.startswith(_ARITHMETIC):
                queue += user.results
            else:
                found.add(user)
    return found
