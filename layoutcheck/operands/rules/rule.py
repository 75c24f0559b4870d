"""Rules about operands; a module's docstring is its rule's page, as everywhere."""

from __future__ import annotations

from layoutcheck.markdown import TracedRule, heading


def make_rule(module_doc: str | None, severity: str, flagged: str, clean: str) -> TracedRule:
    """The rule whose code, name, summary and documentation are in its module's docstring."""
    code, name, summary, doc = heading(module_doc)
    return TracedRule(code, name, severity, summary, doc, (flagged, clean))
