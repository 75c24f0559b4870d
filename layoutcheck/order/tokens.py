"""`settle(meanings)`: a trial of an mbarrier that ends its own loop is a wait."""

from __future__ import annotations

from layoutcheck.dsl.lowered.evaluate import KERNELS
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.unused import uses_beside
from layoutcheck.sources.mlir import Operation, Value, each_once


def settle(meanings: dict[Operation, Meaning]) -> None:
    """A trial that ends the loop around it is a wait; one whose result nobody uses does nothing."""
    uses: dict[Value, list[tuple[Operation, int]]] | None = None
    for op, meaning in list(meanings.items()):
        if meaning.kind != "mbar_token":
            continue
        if uses is None:
            uses = uses_beside(op)
        if not uses.get(op.results[0]):
            del meanings[op]
        elif _ends_its_loop(op, uses):
            meaning.kind = "mbar_wait"


def _ends_its_loop(op: Operation, uses: dict[Value, list[tuple[Operation, int]]]) -> bool:
    """Whether the result decides on the innermost `scf.while` around the trial, and no loop is nearer."""
    loop = op.outer("scf.while", "scf.for", *KERNELS)
    if loop.name != "scf.while":
        return False
    before = loop.regions[0].blocks[0]
    queue = list(op.results)
    for value in each_once(queue):
        for user, index in uses[value]:
            if user.name == "scf.condition":
                if index == 0 and user.parent_operation is loop:
                    return True
            elif user.name == "scf.yield":
                around = user.parent_operation
                if around is loop and index < len(before.arguments):
                    queue.append(before.arguments[index])
                elif around is not None and around is not loop and index < len(around.results):
                    queue.append(around.results[index])
            elif user.name.startswith("arith."):
                queue += user.results
    return False
