"""LC263 tma-under-one-thread: a TMA load runs in one thread, but its own election needs the whole warp."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layoutcheck.lint import resolve
from layoutcheck.lint.rule import Hit, make_rule
from layoutcheck.lint.scopes import Scope
from layoutcheck.lint.source import Source


@make_rule("wrong", "copy")
def rule(source: Source) -> Iterator[Hit]:
    """TMA loads under a condition that one thread fulfils."""
    for call in source.called("copy"):
        one = next(
            (test.node for test in call.tests if test.holds and _one_thread(source, call.scope, test.node)),
            None,
        )
        if one is None or call.argument(None, "tma_bar_ptr") is None:  # which a TMA load has
            continue
        condition = source.in_one_line(one)[:60]
        yield Hit(
            call.node,
            f"a TMA load under '{condition}': its election waits for the whole warp",
            "cute.copy of a TMA load contains elect.sync for all 32 lanes. Run it in one whole warp (a condition on "
            "warp_idx), without elect_one.",
            {"condition": condition},
        )


def _one_thread(source: Source, scope: Scope, test: ast.expr) -> bool:
    """Whether a condition holds for one thread: `tidx == 0`, alone or in an `and`, or `elect_one()`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_one_thread(source, scope, part) for part in test.values)
    if isinstance(test, ast.Call):
        return resolve.last(source, test) == "elect_one"
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = (test.left, test.comparators[0])
    return any(_thread_index(source, scope, side) for side in sides)


def _thread_index(source: Source, scope: Scope, node: ast.expr) -> bool:
    found, index = resolve.follow(scope, node)
    if isinstance(found, ast.Subscript) and isinstance(found.slice, ast.Constant):
        index = 0 if found.slice.value == 0 else None
        found = found.value
    if not isinstance(found, ast.Call):
        return False
    name = resolve.last(source, found)
    return (name == "thread_idx" and index == 0) or (name == "lane_idx" and index is None)
