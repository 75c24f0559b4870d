"""MLIR as text: the generic operation form that every dialect prints, read without MLIR.

    module = parse(text)                       # print_generic_op_form, enable_debug_info, use_local_scope
    for op in module.walk():
        op.name, [value.type for value in op.operands], op.location_text

Types and attribute values stay raw text: what they mean is their reader's business. Reading the text is the
only safe way to look at a module that the CuTe DSL has traced: touching its operands runs the DSL's casters,
which emit operations of their own and corrupt the heap (measured).

Grammar: https://mlir.llvm.org/docs/LangRef (operations, locations).
"""

from __future__ import annotations

from layoutcheck.sources.mlir.ir import Block, Module, Operation, Region, Value, each_once
from layoutcheck.sources.mlir.parse import parse
from layoutcheck.sources.mlir.scan import integer, integers, without_locations

__all__ = [
    "Block", "Module", "Operation", "Region", "Value", "each_once", "integer", "integers", "parse",
    "without_locations",
]  # fmt: skip
