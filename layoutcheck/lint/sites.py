"""Copy sites: the calls in the source that copy, whether or not anything is known of them."""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.lint.scopes import Call
from layoutcheck.lint.source import Module

_STAR = "cutlass.cute.*"  # the alias that a star import leaves
COPIES = ("copy", "autovec_copy", "basic_copy", "basic_copy_if", "copy_atom_call")


@dataclass(frozen=True, slots=True)
class Site:
    """A call that copies."""

    line: int
    end_line: int
    column: int
    call: str
    cell: int = 0  # of a notebook


def is_cute(module: Module, call: Call) -> bool:
    """Whether a call named `copy` is CuTe's, not a dictionary's; also if another module hands `cute` on."""
    *owner, name = call.name.split(".")
    if owner or not name:
        return "cute" in owner
    return name != "copy" or (module.aliases.get("*") == _STAR and name not in module.scopes[0].values)


def sites(module: Module) -> list[Site]:
    """Every copy site."""
    found = []
    for name in COPIES:
        for call in module.all_calls(name):
            if is_cute(module, call):
                node = call.node
                at = (node.lineno, module.column(node.lineno, node.col_offset))
                found.append(Site(at[0], node.end_lineno or at[0], at[1], f"cute.{name}"))
    return sorted(found, key=lambda site: (site.line, site.column))
