"""A rule about operands; its module's docstring is its page, as everywhere."""

from __future__ import annotations

from layoutcheck.markdown import Example, PageRule, heading


def make_rule(module_doc: str | None, severity: str, flagged: str, clean: str) -> PageRule:
    """The rule whose code, name, summary and documentation are in its module's docstring."""
    code, name, summary, doc = heading(module_doc)
    return PageRule(code, name, severity, summary, doc, Example(flagged, clean))
