"""`SourceRule`: a rule about source text; its module's docstring is its page, as with rules about copies."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from layoutcheck.lint.finding import Edit, LintFinding
from layoutcheck.lint.source import Module
from layoutcheck.markdown import heading, source_page


@dataclass(frozen=True, slots=True)
class Hit:
    """A place in the source that a rule speaks of, and what it says."""

    node: ast.expr
    title: str
    message: str
    evidence: dict[str, Any] = field(default_factory=dict)
    edit: Edit | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """Two small files: one that the rule flags, one that it leaves alone."""

    flagged: str
    clean: str


@dataclass(frozen=True, slots=True)
class SourceRule:
    """`find` yields the rule's hits in a module; None for a rule that speaks of files or cases as a whole.

    `needs` are calls, by the last part of their name, without one of which the rule has nothing to look at.
    """

    code: str
    name: str
    severity: str
    summary: str
    doc: str
    find: Callable[[Module], Iterator[Hit]] | None
    example: Example | None
    needs: frozenset[str] = frozenset()

    def page(self) -> str:
        """The rule's page, in Markdown."""
        example = self.example
        shown = None if example is None else (example.flagged, example.clean)
        return source_page(self.code, self.name, self.severity, self.summary, self.doc, shown)

    def findings(self, module: Module, path: str) -> Iterator[LintFinding]:
        """What the rule finds in a module."""
        if self.find is None or (self.needs and self.needs.isdisjoint(module.calls)):
            return
        for hit in self.find(module):
            node = hit.node
            yield LintFinding(
                self.code,
                self.severity,
                path,
                node.lineno,
                module.column(node.lineno, node.col_offset),
                hit.title,
                hit.message,
                node.end_lineno or node.lineno,
                module.column(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset),
                hit.evidence,
                hit.edit,
            )


def make_rule(
    module_doc: str | None,
    severity: str,
    find: Callable[[Module], Iterator[Hit]] | None = None,
    example: Example | None = None,
    *,
    needs: tuple[str, ...] = (),
) -> SourceRule:
    """The rule whose code, name, summary and documentation are in its module's docstring."""
    code, name, summary, doc = heading(module_doc, traced=False)
    return SourceRule(code, name, severity, summary, doc, find, example, frozenset(needs))
