"""The rules about operands, one a file: `lc6NN_name.py`."""

from __future__ import annotations

from layoutcheck.operands.rules import (
    lc601_operand_order,
    lc602_operand_element,
    lc603_operand_depth,
    lc604_result_place,
    lc605_swizzle_mismatch,
    lc606_blocks_transposed,
    lc607_operand_layout,
    lc608_operand_tensor,
    lc609_operand_unset,
    lc610_value_unset,
)
from layoutcheck.operands.rules.rule import OperandRule


def rules() -> dict[str, OperandRule]:
    """Every rule about operands by its code."""
    modules = (
        lc601_operand_order, lc602_operand_element, lc603_operand_depth, lc604_result_place,
        lc605_swizzle_mismatch, lc606_blocks_transposed, lc607_operand_layout, lc608_operand_tensor,
        lc609_operand_unset, lc610_value_unset,
    )  # fmt: skip
    return {one.RULE.code: one.RULE for one in modules}
