"""`LintFinding`: something to say about a place in a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from layoutcheck.findings import rank


@dataclass(frozen=True, slots=True)
class Edit:
    """A change that repairs a finding: the call at its place gets `keyword=value`.

    Without a keyword the expression at its place becomes `value`, which is Python source.
    """

    keyword: str
    value: str
    title: str


@dataclass(frozen=True, slots=True)
class LintFinding:
    """`path` is as shown to the user, relative to where the run started; lines and columns count from 1."""

    code: str
    severity: str
    path: str
    line: int
    column: int
    title: str
    message: str = ""
    end_line: int = 0
    end_column: int = 0
    evidence: dict[str, Any] = field(default_factory=dict)
    edit: Edit | None = None
    origin: str = "source"  # "source", or the case whose trace found it

    @property
    def order(self) -> tuple[Any, ...]:
        """Findings are listed in this order, whatever order they were found in."""
        return (self.path, self.line, self.column, *rank(self.code, self.severity), self.title)
