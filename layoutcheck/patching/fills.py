"""Fills for fragments that are read where nothing has written them (LC609, LC610).

A fill stands behind the line that makes the fragment. The finding says what the fragment may begin with;
without that there is no edit. Which fragment it is only the trace of the edited program tells: those that the
finding's lines name come first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layoutcheck.lint.source import Source
from layoutcheck.patching.edit import Candidate, Edit, indent_of
from layoutcheck.sources.traced import KernelFinding
from layoutcheck.syntax import name_of

CODES = ("LC609", "LC610")
_MAKERS = (
    "make_rmem_tensor",
    "make_rmem_tensor_like",
    "make_fragment",
    "make_fragment_like",
    "make_fragment_C",
)


def fills(source: Source, finding: KernelFinding) -> Iterator[tuple[str, Candidate]]:
    """Titles and edits, the likeliest first."""
    value = str(finding.evidence.get("fill", ""))
    lines = [at.line for p in finding.places for at in (p.where, *p.stack) if at.file == source.path]
    named = _names(source, lines)
    around = {source.scope_at(line) for line in lines}
    made = [(stmt, name) for stmt, name in _made(source) if source.scope_of(stmt) in around] if value else []
    for stmt, name in sorted(made, key=lambda one: named.index(one[1]) if one[1] in named else len(named)):
        indent = indent_of(source, stmt)
        if indent is not None:
            end = source.span_of(stmt)[1]
            title = f"{name}.fill({value}): what nothing writes begins with it"
            yield title, (Edit(source.path, end, end, f"\n{indent}{name}.fill({value})"),)


def _names(source: Source, lines: list[int]) -> list[str]:
    """The names in lines, those of the last place first: where the registers are written."""
    by_line: dict[int, list[str]] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name):
            by_line.setdefault(node.lineno, []).append(node.id)
    return [name for line in reversed(lines) for name in by_line.get(line, ())]


def _made(source: Source) -> Iterator[tuple[ast.Assign, str]]:
    """The statements that make fragments, with the names that these get."""
    for stmt, _ in source.assignments:
        if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
            continue
        targets, values = stmt.targets, [stmt.value]
        if isinstance(stmt.targets[0], ast.Tuple) and isinstance(stmt.value, ast.Tuple):
            targets, values = stmt.targets[0].elts, stmt.value.elts
        for target, value in zip(targets, values, strict=False):
            if isinstance(target, ast.Name) and isinstance(value, ast.Call) and name_of(value) in _MAKERS:
                yield stmt, target.id
