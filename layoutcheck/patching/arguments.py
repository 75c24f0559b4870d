"""An argument of a call written otherwise: by its name, by its position, or where its parameter is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layoutcheck.lint.source import Source
from layoutcheck.patching.edit import Candidate, Edit, rewritten
from layoutcheck.patching.program import Program, Site
from layoutcheck.syntax import argument_of, name_of


def argument(
    program: Program, place: Site, keyword: str, value: str, position: int | None, earlier: list[Site]
) -> Iterator[Candidate]:
    """An argument of a call written otherwise; where it is a parameter, first at the calls that led here.

    So a function that others call, too, stays as it is.
    """
    call, scope = place.call, place.scope
    node = argument_of(call, keyword, position)
    if isinstance(node, ast.Name) and scope.name and node.id in scope.parameters:
        at = scope.parameters.index(node.id)
        for one in reversed(earlier):
            if isinstance(one.node, ast.Call) and name_of(one.node) == scope.name:
                bound = isinstance(one.node.func, ast.Attribute) and scope.parameters[0] == "self"
                yield from with_keyword(program.sources[one.path], one.node, node.id, value, at - bound)
    yield from with_keyword(program.sources[place.path], call, keyword, value, position)


def parts(source: Source, node: ast.expr) -> list[str]:
    """What stands within a sum or a product: `n` of `2 * n`, in the program's own words."""
    if not isinstance(node, ast.BinOp):
        return []
    inner = [one for one in (node.left, node.right) if not isinstance(one, ast.Constant)]
    found = [source.text_of(one) for one in inner]
    return [*found, *(text for one in inner for text in parts(source, one))]


def with_keyword(
    source: Source, call: ast.Call, keyword: str, value: str, position: int | None
) -> Iterator[Candidate]:
    """The call with an argument, by its name or its position, written so; nothing where it is."""
    for one in call.keywords:
        if one.arg == keyword:
            if source.text_of(one.value) != value:
                yield (rewritten(source, one.value, value),)
            return
    if position is not None and len(call.args) > position:
        if source.text_of(call.args[position]) != value:
            yield (rewritten(source, call.args[position], value),)
        return
    ends = [source.span_of(one)[1] for one in (*call.args, *(k.value for k in call.keywords))]
    text = f"{keyword}={value}"
    end = max(ends, default=source.span_of(call)[1] - 1)
    yield (Edit(source.path, end, end, f", {text}" if ends else text),)
