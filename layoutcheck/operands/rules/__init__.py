"""The rules about operands, one a file: `lc6NN_name.py`."""

from __future__ import annotations

from layoutcheck.markdown import rules_in
from layoutcheck.operands.rules.rule import OperandRule


def rules() -> dict[str, OperandRule]:
    """Every rule about operands by its code."""
    return rules_in(__name__)
