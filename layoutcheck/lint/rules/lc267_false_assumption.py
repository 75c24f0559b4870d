"""LC267 false-assumption: `cute.assume` promises a divisor that the expression can never have."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import gcd

from layoutcheck.lint import resolve
from layoutcheck.lint.rule import Hit, make_rule
from layoutcheck.lint.scopes import Scope
from layoutcheck.lint.source import Source

_WRAPPERS = frozenset(("Int32", "Int64", "Uint32", "Uint64", "int", "assume"))


@make_rule("wrong", "assume")
def rule(source: Source) -> Iterator[Hit]:
    """Assumptions that contradict the constants of their own expression."""
    for call in source.called("assume"):
        divisor = resolve.integer(call.scope, call.argument(1, "divby"))
        value = call.argument(0, "src")
        if divisor is None or value is None or divisor < 2:
            continue
        modulus, remainder = _residue(source, call.scope, value, 16)
        common = gcd(modulus, divisor)
        if remainder % common if common else remainder % divisor:
            yield Hit(
                call.node,
                f"'{source.in_one_line(value)[:60]}' is never a multiple of {divisor}",
                f"It is {remainder % (common or divisor)} more than a multiple of {common or divisor}, whatever its variables are.",
                {"divby": divisor, "modulus": modulus, "remainder": remainder},
            )


def _residue(source: Source, scope: Scope, node: ast.expr, depth: int) -> tuple[int, int]:
    """(m, r): the value is r modulo m; m is 0 for a value that is known, 1 for one of which nothing is."""
    found, index = resolve.follow(scope, node)
    if found is None or index is not None or not depth:
        return 1, 0
    if isinstance(found, ast.Constant) and type(found.value) is int:
        return 0, found.value
    if isinstance(found, ast.Call) and found.args and resolve.last(source, found) in _WRAPPERS:
        return _residue(source, scope, found.args[0], depth - 1)
    if isinstance(found, ast.BinOp) and isinstance(found.op, ast.Add | ast.Sub | ast.Mult):
        m, r = _residue(source, scope, found.left, depth - 1)
        n, s = _residue(source, scope, found.right, depth - 1)
        if max(m, n, abs(r), abs(s)) >= 1 << 62:
            return 1, 0
        if isinstance(found.op, ast.Mult):
            return gcd(m * n, m * s, n * r), r * s
        return gcd(m, n), r + s if isinstance(found.op, ast.Add) else r - s
    return 1, 0
