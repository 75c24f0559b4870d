"""The rules about source text: one a file, named `lcNNN_name.py`; docs/rules has their pages."""

from __future__ import annotations

from layoutcheck.lint.rule import SourceRule
from layoutcheck.markdown import rules_in


def rules() -> dict[str, SourceRule]:
    """Every rule about source text by its code, in the order of the codes."""
    return rules_in(__name__)
