"""The rules about operands, one a file: `lc6NN_name.py`."""

from __future__ import annotations

from layoutcheck.operands.rules import lc601_operand_order
from layoutcheck.operands.rules.rule import OperandRule


def rules() -> dict[str, OperandRule]:
    """Every rule about operands by its code."""
    return {one.code: one for one in (lc601_operand_order.RULE,)}
