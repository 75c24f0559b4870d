"""Names and calls in a program's source: what is called, and what it gives a parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def name_of(call: ast.Call) -> str:
    """`make_layout` of `cute.make_layout(...)`; "" where no name is called."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def argument_of(call: ast.Call, keyword: str | None, position: int | None = None) -> ast.expr | None:
    """A call's argument by its name, else by its position; None where it has neither or a `*` comes first."""
    for one in call.keywords:
        if keyword is not None and one.arg == keyword:
            return one.value
    if position is None or not 0 <= position < len(call.args):
        return None
    head = call.args[: position + 1]
    return None if any(isinstance(one, ast.Starred) for one in head) else head[-1]


def paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """A target of an assignment with its value; of tuples that are as long, each of their parts."""
    parts, given = (one.elts if isinstance(one, (ast.Tuple, ast.List)) else () for one in (target, value))
    if parts and len(parts) == len(given):
        for pair in zip(parts, given, strict=True):
            yield from paired(*pair)
    else:
        yield target, value


def spans(node: ast.stmt | ast.expr, line: int) -> bool:
    """Whether a line is one of a statement's or an expression's."""
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def words_of(name: ast.expr) -> list[str]:
    """`a.b.c` as its words; [] for anything else."""
    if isinstance(name, ast.Attribute):
        front = words_of(name.value)
        return [*front, name.attr] if front else []
    return [name.id] if isinstance(name, ast.Name) else []
