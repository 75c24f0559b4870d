"""Copies written as a loop over elements in Python: `basic_copy_if`, and `basic_copy` of run-time shapes.

They load and store one element at a time and reach no copy verifier. Measured.
"""

from __future__ import annotations

from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.compiler.shared import printed_pointer
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.machine.dtypes import DType

SPACES = ("rmem", "smem", "gmem", "generic")

# The DSL's Python class of an element type, as its messages name it.
CLASSES = {
    "bf16": "BFloat16", "f16": "Float16", "f32": "Float32", "tf32": "TFloat32", "f64": "Float64",
    "f8E4M3FN": "Float8E4M3FN", "f8E5M2": "Float8E5M2", "f8E4M3": "Float8E4M3", "f8E8M0FNU": "Float8E8M0FNU",
    "f8E4M3B11FNUZ": "Float8E4M3B11FNUZ", "f6E2M3FN": "Float6E2M3FN", "f6E3M2FN": "Float6E3M2FN",
    "f4E2M1FN": "Float4E2M1FN", "i4": "Int4", "i8": "Int8", "i16": "Int16", "i32": "Int32", "i64": "Int64",
    "i128": "Int128", "si8": "Int8", "ui8": "Uint8",
}  # fmt: skip


def class_name(element: DType) -> str:
    """The DSL's class for an element type."""
    return CLASSES.get(element.name, element.name)


def check_loop(copy: Copy) -> Prediction | None:
    """What loading the predicate and the source and storing to the destination meet, in that order."""
    for operand, view in (("pred", copy.pred), ("src", copy.src), ("dst", copy.dst)):
        stopped = None if view is None else _access(operand, view)
        if stopped:
            return stopped
    return _store(copy.src.dtype, copy.dst.dtype)


def _access(operand: str, view: Memref) -> Prediction | None:
    """Whether single elements of a view can be loaded and stored."""
    if view.space not in SPACES:
        return rejected("space", f"{printed_tensor(view)} doesn't support load and store", operand)
    element = view.dtype
    if element.bits % 8 and element.bits != 1:
        message = f"Sub-byte scalar dereference not supported for type {class_name(element)}"
        if element.kind == "int":
            message = f"unsupported element type, got '{element}', bitwidth: {element.bits}"
        return rejected("sub_byte_element", message, operand, element_bits=element.bits)
    return None


def _store(src: DType, dst: DType) -> Prediction | None:
    """A store converts to a type of the same kind that is at least as wide; of another kind, to none."""
    if src.kind == dst.kind and src.bits <= dst.bits:
        return None
    if src.bits != dst.bits:
        name = class_name(src)
        message = f"Type mismatch, store {name} (-> {name}) to Tensor with element type {class_name(dst)}"
        return rejected("element_width", message, src_bits=src.bits, dst_bits=dst.bits)
    return rejected("element_type", f"type mismatch, store {src} to {class_name(dst)}")


def printed_tensor(view: Memref) -> str:
    """A tensor as the DSL's Python prints it."""
    return f"tensor<{printed_pointer(view)} o {view.layout}>"
