"""The rules about operands, one a file: `lc6NN_name.py`."""

from __future__ import annotations

from layoutcheck.markdown import Page, rules_in


def rules() -> dict[str, Page]:
    """Every rule about operands by its code."""
    return rules_in(__name__)
