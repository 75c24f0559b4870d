"""A stage that is given back too early: its release, moved behind the access that comes after it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layoutcheck.patching.edit import Candidate
from layoutcheck.patching.ordering import slots
from layoutcheck.patching.program import Program
from layoutcheck.sources.traced import KernelPlace
from layoutcheck.syntax import name_of

TITLE = "synchronise: give the stage back behind the access; it is still read before"
_GIVING = {"consumer_release", "release", "mbarrier_arrive"}
_BESIDE = {"sync_warp", "elect_one", "const_expr"}
_MORE = (ast.Assign, ast.AugAssign, ast.For, ast.While)


def later(program: Program, access: KernelPlace) -> Iterator[tuple[str, Candidate]]:
    """Titles and edits, the innermost block around the access and the last release before it first."""
    for frame in (access.where, *access.stack):
        found = slots.statement(program, frame)
        if found is None:
            continue
        source, steps = found
        for step in reversed(steps):
            behind = slots.Slot(source, step.stmt, True, 0)
            early = [one for one in step.block if one.lineno < step.stmt.lineno and _gives_back(one)]
            for one in reversed(early):
                there = slots.Step(one, step.block)
                edits = slots.removed(source, there), slots.elsewhere(source, there, behind)
                if edits[0] is not None and edits[1] is not None:
                    yield TITLE, (edits[0], edits[1])


def _gives_back(stmt: ast.stmt) -> bool:
    """Whether a statement gives a stage back, and does nothing else."""
    nodes = list(ast.walk(stmt))
    names = {name_of(node) for node in nodes if isinstance(node, ast.Call)}
    return (
        bool(names & _GIVING) and names <= _GIVING | _BESIDE and not any(isinstance(n, _MORE) for n in nodes)
    )
