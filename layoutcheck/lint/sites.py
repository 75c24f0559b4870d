"""Copy sites, the calls in the source that copy, whatever is known of them; and kernels without one."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from layoutcheck.lint.scopes import Call
from layoutcheck.lint.source import COPIES, Source

_STAR = "cutlass.cute.*"  # the alias that a star import leaves


@dataclass(frozen=True, slots=True)
class CopySite:
    """A call that copies."""

    line: int
    end_line: int
    column: int
    call: str
    cell: int = 0  # of a notebook


def is_cute(source: Source, call: Call) -> bool:
    """Whether a call named `copy` is CuTe's, not a dictionary's; also if another module hands `cute` on."""
    *owner, name = call.name.split(".")
    if owner or not name:
        return "cute" in owner
    return name != "copy" or (source.aliases.get("*") == _STAR and name not in source.scopes[0].values)


def sites(source: Source) -> list[CopySite]:
    """Every copy site."""
    found = []
    for name in COPIES:
        for call in source.called(name):
            if is_cute(source, call):
                node = call.node
                at = (node.lineno, source.column(node.lineno, node.col_offset))
                found.append(CopySite(at[0], node.end_lineno or at[0], at[1], f"cute.{name}"))
    return sorted(found, key=lambda site: (site.line, site.column))


def bare_kernels(source: Source, inside: Sequence[CopySite]) -> tuple[int, ...]:
    """The lines of the kernels that have none of these copy sites: they access elements, or call others."""
    found = []
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names = [
                source.dotted(each.func if isinstance(each, ast.Call) else each).split(".")
                for each in node.decorator_list
            ]
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            kernel = any(name[-1] == "kernel" and "cute" in name for name in names)
            if kernel and not any(site.line in lines for site in inside):
                found.append(node.lineno)
    return tuple(sorted(found))
