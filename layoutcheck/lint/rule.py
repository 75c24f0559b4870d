"""`SourceRule`: a rule about source text; its page is in docs/rules, as with rules about copies."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from layoutcheck.lint.finding import Edit, LintFinding
from layoutcheck.lint.source import Source
from layoutcheck.markdown import Page, heading


@dataclass(frozen=True, slots=True)
class Hit:
    """A place in the source that a rule speaks of, and what it says."""

    node: ast.expr
    title: str
    message: str
    evidence: dict[str, Any] = field(default_factory=dict)
    edit: Edit | None = None


@dataclass(frozen=True, slots=True)
class SourceRule(Page):
    """`find` yields the rule's hits in a module.

    `needs` are calls, by the last part of their name, without one of which the rule has nothing to look at.
    """

    find: Callable[[Source], Iterator[Hit]]
    needs: frozenset[str]

    def findings(self, source: Source, path: str) -> Iterator[LintFinding]:
        """What the rule finds in a module."""
        if self.needs and not any(source.called(*self.needs)):
            return
        for hit in self.find(source):
            node = hit.node
            yield LintFinding(
                self.code, self.severity, path, node.lineno, source.column(node.lineno, node.col_offset),
                hit.title, hit.message, node.end_lineno or node.lineno,
                source.column(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset),
                hit.evidence, hit.edit,
            )  # fmt: skip


def make_rule(severity: str, *needs: str) -> Callable[[Callable[[Source], Iterator[Hit]]], SourceRule]:
    """Makes a `find` the rule whose code, name and summary are the docstring of its module."""
    return lambda find: SourceRule(*heading(find.__globals__["__doc__"], severity), find, frozenset(needs))
