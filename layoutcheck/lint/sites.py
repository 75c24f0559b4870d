"""Copy sites: the calls in the source that copy, whether or not anything is known of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from layoutcheck.lint.literal import is_cute
from layoutcheck.lint.source import Module

COPIES = ("copy", "autovec_copy", "basic_copy", "basic_copy_if", "copy_atom_call")


@dataclass(frozen=True, slots=True)
class Site:
    """A call that copies; `verdict` is set where the copy is written out and was judged from the text."""

    line: int
    end_line: int
    column: int
    call: str
    verdict: str | None = None
    cell: int = 0  # of a notebook

    def to_dict(self) -> dict[str, Any]:
        """For JSON and for the cache."""
        return asdict(self)


def sites(module: Module, verdicts: dict[tuple[int, int], str]) -> list[Site]:
    """Every copy site; `verdicts` are by line and column of the call."""
    found = []
    for name in COPIES:
        for call in module.all_calls(name):
            if is_cute(module, call):
                node = call.node
                at = (node.lineno, module.column(node.lineno, node.col_offset))
                found.append(Site(at[0], node.end_lineno or at[0], at[1], f"cute.{name}", verdicts.get(at)))
    return sorted(found, key=lambda site: (site.line, site.column))
