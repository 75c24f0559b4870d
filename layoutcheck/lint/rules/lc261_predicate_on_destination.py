"""LC261 predicate-on-destination: a false predicate of a `cp.async` writes zeros past the end of the destination."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layoutcheck.lint import resolve
from layoutcheck.lint.rule import Hit, make_rule
from layoutcheck.lint.scopes import Call, Scope
from layoutcheck.lint.source import Source

_SIZES = frozenset(("shape", "size", "cosize"))


@make_rule("wrong", "copy")
def rule(source: Source) -> Iterator[Hit]:
    """Copies of a `cp.async` atom whose predicate is compared with the destination's own extent."""
    for call in source.called("copy"):
        pred, dst = call.argument(None, "pred"), call.argument(2, "dst")
        if pred is None or dst is None or not call.node.args:
            continue
        op = resolve.op_of(source, call.scope, resolve.atom_of(source, call.scope, call.node.args[0]))
        if op is None or resolve.last(source, op) != "CopyG2SOp":
            continue
        tensors = _destinations(source, call, dst)
        limit = _compared(source, call.scope, pred, tensors)
        if limit is not None:
            yield Hit(
                pred,
                f"a false predicate entry writes zeros to '{limit}'; it does not skip the copy",
                f"The predicate is compared with the extent of '{limit}', the destination of a cp.async. False entries "
                "read nothing and write zeros, beyond the end as well. Compare with the source's extent and round the "
                "destination up, or put the copy under an `if`.",
                {"destination": limit},
            )


def _destinations(source: Source, call: Call, dst: ast.expr) -> frozenset[str]:
    """The names of the tensor that the destination is a part of."""
    names: set[str] = set()
    node: ast.expr | None = dst
    for _ in range(8):
        found = resolve.root(node) if node is not None else None
        if found is None or found.id in names:
            break
        names.add(found.id)
        bound = call.scope.only(found.id)
        node = None if bound is None else bound.node
        if isinstance(node, ast.Call) and resolve.last(source, node).startswith("partition_") and node.args:
            node = node.args[0]  # thr.partition_D(sA) is a part of sA
    return frozenset(names)


def _compared(source: Source, scope: Scope, pred: ast.expr, tensors: frozenset[str]) -> str | None:
    """The destination whose extent the predicate's entries are compared with."""
    target = resolve.root(pred)
    entries = [pred] if target is None else _entries(scope, target.id)
    for entry in entries:
        for node in resolve.slice_back(scope, entry):
            for each in ast.walk(node):
                limit: ast.expr | None = None
                if (
                    isinstance(each, ast.Call)
                    and resolve.last(source, each) == "elem_less"
                    and len(each.args) > 1
                ):
                    limit = each.args[1]
                elif isinstance(each, ast.Compare) and isinstance(each.ops[0], ast.Lt | ast.LtE):
                    limit = each.comparators[0]
                name = None if limit is None else _extent_of(source, limit)
                if name in tensors:
                    return name
    return None


def _entries(scope: Scope, name: str) -> list[ast.expr]:
    """What is stored in the entries of a predicate tensor: `pred[i] = ...`."""
    found = resolve.given(scope, name)
    for node in resolve.statements(scope):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            target = resolve.root(node.targets[0])
            if target is not None and target.id == name:
                found.append(node.value)
    return found


def _extent_of(source: Source, node: ast.expr) -> str | None:
    """The tensor whose extent an expression is: `sA.shape[0]`, `cute.size(sA)`."""
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and each.attr == "shape":
            found = resolve.root(each.value)
            return None if found is None else found.id
        if isinstance(each, ast.Call) and resolve.last(source, each) in _SIZES and each.args:
            found = resolve.root(each.args[0])
            return None if found is None else found.id
    return None
