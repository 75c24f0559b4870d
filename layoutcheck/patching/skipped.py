"""Which statements may stand under a condition, so that what it takes away is all that is not done.

A condition stands around the statements from the first to the last that leave a tensor, and those that read
what they bind. Threads may do nothing together there. Nothing may be lost that has nothing to do with what
leaves the tensor.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from layoutcheck.lint.scopes import Scope
from layoutcheck.lint.source import Source
from layoutcheck.patching.paddings import SHARED
from layoutcheck.patching.program import COPIES, Program, Site
from layoutcheck.sources.mlir import each_once
from layoutcheck.syntax import name_of, spans

# Calls of many threads, and calls that do more than give a value.
_TOGETHER = re.compile(r"sync|barrier|fence|arrive|wait|commit|gemm|reduc|shuffle|vote|match|elect")
_ACTS = re.compile(r"atomic|^red|store|copy|print|fill")
_REGISTERS = ("make_rmem_tensor", "make_fragment")
_ENDS = (ast.Return, ast.Break, ast.Continue, ast.Yield)


class Statement(NamedTuple):
    """A statement that accesses elements, the list of statements that it is in, and the function."""

    source: Source
    node: ast.stmt
    suite: list[ast.stmt]
    scope: Scope


def leaves(node: ast.stmt, lines: Iterable[int]) -> bool:
    """Whether a statement accesses elements outside of a tensor; `lines` are those that do."""
    return any(spans(node, line) for line in lines)


def skippable(at: Statement, indices: Sequence[int], lines: Sequence[int]) -> list[ast.stmt]:
    """The statements of its list from the first to the last of these, and those that read what they bind.

    None if others read that, if threads do something together there, if one statement leaves the block, or if
    something would be lost that has nothing to do with what leaves a tensor in the `lines`.
    """
    taken = _with_readers(at, min(indices), max(indices))
    inner = [node for one in taken for node in ast.walk(one)]
    ends = any(isinstance(node, _ENDS) for node in inner)
    return [] if ends or _together(at, inner) or _loses(at, taken, lines) else taken


def stays_in_block(program: Program, at: Statement) -> bool:
    """Whether a statement stores elements of shared memory or registers, by what made their tensor."""
    stored = (one for one in ast.walk(at.node) if isinstance(one, ast.Subscript))
    kept = [one.value for one in stored if isinstance(one.ctx, ast.Store)]
    made = (call for one in kept for call in program.reached(Site(at.source.path, one, at.scope)))
    names = [name_of(one.call) for one in made]
    return any(name in SHARED or name.startswith(_REGISTERS) for name in names)


def _with_readers(at: Statement, first: int, last: int) -> list[ast.stmt]:
    """The statements from the first to the last, and on to the last that reads what only they bind."""
    while True:
        taken = at.suite[first : last + 1]
        new = _names(taken, ast.Store) - _older(at, taken)
        reads = [one for one in _uses(at, ast.Load) if one.id in new and not _within(taken, one.lineno)]
        if not reads:
            return taken
        furthest = max(one.lineno for one in reads)
        behind = (n for n, one in enumerate(at.suite) if n > last and spans(one, furthest))
        last = next(behind, -1)
        if last < 0:
            return []


def _together(at: Statement, nodes: list[ast.AST]) -> bool:
    """Whether something is called that threads do together, here or in the file's own functions."""
    names = [name_of(node) for node in nodes if isinstance(node, ast.Call)]
    for name in each_once(names):
        if name in COPIES or _TOGETHER.search(name):
            return True
        if name:
            names += [name_of(one) for one in at.source.calls() if at.source.scope_of(one).name == name]
    return False


def _loses(at: Statement, taken: list[ast.stmt], lines: Sequence[int]) -> bool:
    """Whether something else is not done where the statements are not.

    That is a store, a call or a value for an older name, which rests on nothing that is read outside of a
    tensor; and such a value that takes the place of the last one, which is read in its stead then. A sum of
    what is read just has one summand less.
    """
    older = _older(at, taken) & _names(taken, ast.Store) if taken else set[str]()
    kept = {name for name in older if _read_apart(at, name, taken)}
    resting = set[str]()  # names whose values rest on what is read outside
    for one in (node for top in taken for node in ast.walk(top) if isinstance(node, ast.stmt)):
        if hasattr(one, "body"):
            continue
        loaded, bound = _names([one], ast.Load), _names([one], ast.Store)
        rests = leaves(one, lines) or not resting.isdisjoint(loaded)
        if not rests and (_acts(one) or kept & bound):
            return True
        if isinstance(one, ast.AugAssign):
            loaded |= bound
        if kept & bound - loaded - _names(_tests(taken, one), ast.Load):
            return True
        resting |= bound - older if rests else set()
    return False


def _read_apart(at: Statement, name: str, taken: list[ast.stmt]) -> bool:
    """Whether a value that statements give a name is read behind them, or in a loop's next turn."""
    start, end = _range(taken)
    loads = [one.lineno for one in _uses(at, ast.Load) if one.id == name]
    given = [one.lineno for one in _uses(at, ast.Store) if one.id == name]
    if any(line > end for line in loads):
        return True
    for loop in (one for one in ast.walk(at.scope.node) if isinstance(one, (ast.For, ast.While))):
        if loop.lineno < start and spans(loop, end):
            first = min(line for line in given if line >= loop.lineno)
            if any(loop.lineno <= line <= min(first, start - 1) for line in loads):
                return True
    return False


def _acts(node: ast.stmt) -> bool:
    """Whether a simple statement does more than to give names their values."""
    calls = [name_of(one) for one in ast.walk(node) if isinstance(one, ast.Call)]
    kept = [one for one in ast.walk(node) if isinstance(one, (ast.Subscript, ast.Attribute))]
    stored = any(isinstance(one.ctx, ast.Store) for one in kept)
    return stored or (isinstance(node, ast.Expr) and bool(calls)) or any(map(_ACTS.search, calls))


def _tests(taken: list[ast.stmt], inner: ast.AST) -> list[ast.expr]:
    """The conditions of the branches of statements around another one."""
    branches = (one for top in taken for one in ast.walk(top) if isinstance(one, ast.If))
    return [one.test for one in branches if any(inner is part for part in ast.walk(one))]


def _older(at: Statement, taken: list[ast.stmt]) -> set[str]:
    """The names that have a value before the first of the statements."""
    start, _ = _range(taken)
    return {*at.scope.parameters, *(one.id for one in _uses(at, ast.Store) if one.lineno < start)}


def _uses(at: Statement, kind: type[ast.expr_context]) -> Iterator[ast.Name]:
    """The names of the function that are loaded, or stored."""
    every = (one for one in ast.walk(at.scope.node) if isinstance(one, ast.Name))
    return (one for one in every if isinstance(one.ctx, kind))


def _names(nodes: Iterable[ast.AST], kind: type[ast.expr_context]) -> set[str]:
    """The names that are loaded, or stored, in parts of a program."""
    every = (one for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name))
    return {one.id for one in every if isinstance(one.ctx, kind)}


def _range(taken: list[ast.stmt]) -> tuple[int, int]:
    return taken[0].lineno, taken[-1].end_lineno or taken[-1].lineno


def _within(taken: list[ast.stmt], line: int) -> bool:
    start, end = _range(taken)
    return start <= line <= end
