"""What is read of a module that the DSL has built: where its operations stand, and what the verifier refuses.

Only names, locations and the printed text are read: touching the operands of a traced operation makes the
DSL's casters emit operations of their own, which corrupts the heap (measured).
"""

from __future__ import annotations

import importlib
import itertools
import sys
from typing import Any

from layoutcheck.dsl.tagged import TAGGED

COPIES = ("cute.copy", "cute.copy_atom_call")
EXPERIMENTAL = "builtin.module(lir-to-cute-dsl)"


def plain(operation: Any) -> Any:
    """The module without operations of `cute.experimental`: what its own passes, which run first, make of it.

    Where it does not verify, or they fail, the module as it is: the compile that follows says why.
    """
    if not _holds_experimental(operation):
        return operation
    ir = sys.modules["cutlass._mlir.ir"]
    manager = importlib.import_module("cutlass._mlir.passmanager").PassManager
    plain = operation.clone()
    try:
        operation.verify()
        with operation.context:
            passes = manager.parse(EXPERIMENTAL)
        passes.enable_verifier(False)  # as the DSL has it
        passes.run(plain)
    except (ValueError, ir.MLIRError):  # a DSL without the passes, or a module that they refuse
        return operation
    return plain


def _holds_experimental(operation: Any) -> bool:
    """Whether a kernel is one of `cute.experimental`, whose function is of its dialect."""
    inner = [op for region in operation.regions for block in region for op in block.operations]
    kernels = [op.operation for op in inner if op.operation.name == "gpu.module"]
    return any(
        op.operation.name == "lir.func" for one in kernels for op in one.regions[0].blocks[0].operations
    )


def locations_of(operation: Any) -> tuple[str, ...]:
    """Where each copy stands, in the order of the text. Printing all locations takes longer than the rest."""
    ir = sys.modules["cutlass._mlir.ir"]
    found: list[str] = []

    def visit(op: Any) -> Any:
        if op.name in COPIES:
            found.append(str(op.location))
        return ir.WalkResult.ADVANCE

    operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return tuple(found)


def sites_of(operation: Any) -> tuple[dict[str, tuple[int, ...]], tuple[str, ...]]:
    """Where everything that moves or orders memory stands: by name, in the order of the text."""
    ir = sys.modules["cutlass._mlir.ir"]
    sites: dict[str, list[int]] = {}
    places: dict[str, int] = {}

    def visit(op: Any) -> Any:
        name = op.name
        if TAGGED.match(name):
            sites.setdefault(name, []).append(places.setdefault(str(op.location), len(places)))
        return ir.WalkResult.ADVANCE

    operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return {name: tuple(found) for name, found in sites.items()}, tuple(places)


def refusals_of(operation: Any) -> tuple[tuple[tuple[int, str], ...], tuple[tuple[str, str, str], ...]]:
    """What the verifier says of each operation by itself, in the order of the text."""
    ir = sys.modules["cutlass._mlir.ir"]
    copies: list[tuple[int, str]] = []
    others: list[tuple[str, str, str]] = []
    seen = itertools.count()

    def visit(op: Any) -> Any:
        copy = op.name in COPIES
        index = next(seen) if copy else -1
        if copy or not len(op.regions):
            try:
                op.verify()
            except ir.MLIRError as error:
                found = error.error_diagnostics
                message = str(found[0].message if found else error)
                if copy:
                    copies.append((index, message))
                else:
                    others.append((op.name, message, str(op.location)))
        return ir.WalkResult.ADVANCE

    operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return tuple(copies), tuple(others)
