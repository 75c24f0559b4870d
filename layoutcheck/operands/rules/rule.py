"""`OperandRule`: a rule about operands; its module's docstring is its page, as everywhere."""

from __future__ import annotations

from typing import NamedTuple

from layoutcheck.markdown import heading, source_page


class OperandRule(NamedTuple):
    """A code with its page; `example` is code that is flagged, and its right twin."""

    code: str
    name: str
    severity: str
    summary: str
    doc: str
    example: tuple[str, str]

    def page(self) -> str:
        """The rule's page, in Markdown."""
        return source_page(self.code, self.name, self.severity, self.summary, self.doc, self.example)


def make_rule(module_doc: str | None, severity: str, flagged: str, clean: str) -> OperandRule:
    """The rule whose code, name, summary and documentation are in its module's docstring."""
    code, name, summary, doc = heading(module_doc)
    return OperandRule(code, name, severity, summary, doc, (flagged, clean))
