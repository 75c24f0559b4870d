"""LC266 promise-not-made: the code checks a fact about alignment but does not tell the compiler."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layoutcheck.lint import resolve
from layoutcheck.lint.finding import Edit
from layoutcheck.lint.rule import Hit, make_rule
from layoutcheck.lint.scopes import Call, Scope
from layoutcheck.lint.source import Source


@make_rule("note", "from_dlpack", "mark_compact_shape_dynamic")
def rule(source: Source) -> Iterator[Hit]:
    """Calls after an `assert`, or an `if ...: raise`, that proves what they leave out."""
    for call in source.called("from_dlpack"):
        if not call.node.args or call.argument(1, "assumed_align") is not None:
            continue
        tensor = call.node.args[0]
        if isinstance(tensor, ast.Name) and not _starred(call.node):
            number = _proved(call, f"{tensor.id}.data_ptr()")
            if number:
                yield _hit(call.node, "assumed_align", number, f"the address of '{tensor.id}'")
    for call in source.called("mark_compact_shape_dynamic"):
        mode = resolve.integer(call.scope, call.argument(0, "mode"))
        if mode is None or call.argument(2, "divisibility") is not None or _starred(call.node):
            continue
        name = _tensor_behind(source, call)
        number = _proved(call, f"{name}.shape[{mode}]", f"{name}.size({mode})") if name else 0
        if number:
            yield _hit(call.node, "divisibility", number, f"{name}.shape[{mode}]")


def _hit(node: ast.Call, keyword: str, number: int, what: str) -> Hit:
    edit = Edit(keyword, str(number), f"{keyword}={number}, which the code has checked")
    return Hit(
        node,
        f"{what} is known to be a multiple of {number}, but the compiler is not told",
        f"Add {keyword}={number}.",
        {keyword: number},
        edit,
    )


def _starred(node: ast.Call) -> bool:
    return any(keyword.arg is None for keyword in node.keywords) or any(
        isinstance(a, ast.Starred) for a in node.args
    )


def _tensor_behind(source: Source, call: Call) -> str | None:
    """`x` of `from_dlpack(x).mark_...(...)`, or of a name bound to it."""
    if not isinstance(call.node.func, ast.Attribute):
        return None
    made, index = resolve.follow(call.scope, call.node.func.value)
    if index is not None or not isinstance(made, ast.Call) or resolve.last(source, made) != "from_dlpack":
        return None
    return made.args[0].id if made.args and isinstance(made.args[0], ast.Name) else None


def _proved(call: Call, *asked: str) -> int:
    """The N that every run up to the call has checked one of the expressions to be a multiple of; else 0."""
    scope = call.scope
    if not isinstance(scope.node, ast.FunctionDef | ast.AsyncFunctionDef):
        return 0
    bound = scope.values.get(asked[0].partition(".")[0], [])
    if any(value is None for value in bound):
        return 0
    last = max((value.node.lineno for value in bound if value is not None), default=0)
    best = 0
    for statement in scope.node.body:  # only what always runs: the function's own statements, before the call
        if statement.lineno >= call.node.lineno:
            break
        if statement.lineno > last:  # the name means since then what it means at the call
            for test, holds in _demands(statement):
                best = max(best, _multiple(scope, test, holds, asked))
    return best if last < call.node.lineno else 0


def _demands(statement: ast.stmt) -> Iterator[tuple[ast.expr, bool]]:
    """Conditions that hold (True) or do not hold (False) after a statement."""
    if isinstance(statement, ast.Assert):
        test = statement.test
        parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
        for part in parts:
            yield part, True
    elif isinstance(statement, ast.If) and not statement.orelse and isinstance(statement.body[-1], ast.Raise):
        yield statement.test, False


def _multiple(scope: Scope, test: ast.expr, holds: bool, asked: tuple[str, ...]) -> int:
    """N of `X % N == 0` that holds, or of `X % N`, `X % N != 0` that does not."""
    remainder: ast.expr = test
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        zero = resolve.integer(scope, test.comparators[0]) == 0
        if not zero or not isinstance(test.ops[0], ast.Eq if holds else ast.NotEq):
            return 0
        remainder = test.left
    elif holds:
        return 0
    if not (isinstance(remainder, ast.BinOp) and isinstance(remainder.op, ast.Mod)):
        return 0
    if ast.unparse(remainder.left) not in asked:
        return 0
    number = resolve.integer(scope, remainder.right) or 0
    return number if number > 1 and number & (number - 1) == 0 else 0
