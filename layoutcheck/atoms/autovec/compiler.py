"""`cute.autovec_copy`, `cute.basic_copy` and `cute.basic_copy_if`: what they check in Python. Measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from layoutcheck.algebra.inttuple import is_static, product
from layoutcheck.algebra.inverse import right_inverse
from layoutcheck.atoms.autovec import autovec_width, resolve, stored
from layoutcheck.atoms.compiler import predict_verifier
from layoutcheck.atoms.family import Compiler
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.copies.compiler.prediction import ACCEPTED, Prediction, rejected
from layoutcheck.copies.compiler.python_layer import differing_widths
from layoutcheck.copies.compiler.shared import align_bits, printed_pointer, printed_view, sub_byte_abort
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import DType, class_name, dtype


def through_python(copy: Copy) -> Prediction:
    """The function's own checks, then the verifier's word on the copy that it makes."""
    reached = _REACHED[copy.op](copy)
    if reached is None:
        return ACCEPTED
    return reached if isinstance(reached, Prediction) else predict_verifier(reached)


def through_autovec(copy: Copy) -> Prediction | Copy:
    """`cute.autovec_copy`: its own checks, or the copy it makes of itself."""
    src, dst = stored(copy.src.dtype), stored(copy.dst.dtype)
    names = f"{class_name(src)} and {class_name(dst)}"
    stopped = differing_widths(
        copy,
        f"autovec_copy only supports equal source and destination element type bit widths, got {names}",
        stored,
    )
    if stopped:
        return stopped
    for operand, view in (("src", copy.src), ("dst", copy.dst)):
        if not is_static(view.layout.shape):
            message = "autovec_copy expects source and destination tensors to be statically shaped"
            return rejected("dynamic_shape", message, operand)
    for operand, view in (("src", copy.src), ("dst", copy.dst)):
        if view.space != "rmem" and align_bits(view) is None:
            return sub_byte_abort(operand, view)
    try:
        width_bits = autovec_width(copy.src, copy.dst)
    except InputError:
        a, b = copy.src.layout, right_inverse(copy.dst.layout)
        return rejected(
            "inadmissible_common",
            f"unable to compute the following composition: '!cute.layout<\"{a}\">' o '!cute.layout<\"{b}\">'",
        )
    if 0 < width_bits < src.bits:
        return rejected(
            "autovec_alignment",
            "Expected size in shape to be strictly positive, but got 0",
            "src" if copy.src.access_align_bytes * 8 < src.bits and copy.src.space != "rmem" else "dst",
            width_bits=width_bits,
            element_bits=src.bits,
        )
    made = resolve(copy)
    if isinstance(made.atom, RegisterCopy):
        return _evict_priority(copy, made)
    return made


def _evict_priority(copy: Copy, made: Copy) -> Prediction | Copy:
    """Only the atoms between gmem and registers take an eviction priority."""
    spaces = copy.src.space, copy.dst.space
    if spaces in (("gmem", "rmem"), ("rmem", "gmem")):
        return made
    if spaces in (("smem", "rmem"), ("rmem", "smem")):
        op = "CopyS2ROp" if spaces[0] == "smem" else "CopyR2SOp"
        message = f"{op}._make_trait() got an unexpected keyword argument 'l1c_evict_priority'"
    else:
        message = (
            "Memory attributes {'l1c_evict_priority'} are not supported for "
            f"{spaces[0]} -> {spaces[1]} copies (no specialized op available)."
        )
    return rejected("evict_priority", message)


def through_basic_copy(copy: Copy) -> Prediction | Copy | None:
    """`cute.basic_copy`: a copy of single elements; views of run-time shape are looped over."""
    if is_static(copy.src.layout.shape) and is_static(copy.dst.layout.shape):
        return resolve(copy)
    return check_loop(replace(copy, pred=None))


def through_basic_copy_if(copy: Copy) -> Prediction | None:
    """`cute.basic_copy_if`: a loop over elements. The predicate's size is not compared."""
    stopped = differing_widths(
        copy,
        "basic_copy_if currently only supports equal source and destination element type bit width",
        stored,
    )
    if stopped:
        return stopped
    shapes = [view.layout.shape for view in (copy.src, copy.dst, copy.pred) if view is not None]
    s, d = product(shapes[0]), product(shapes[1])
    if all(map(is_static, shapes)) and s != d:
        message = "basic_copy expects the size of source, destination, and predicate tensors to match"
        return rejected("size", message, src_size=s, dst_size=d)
    return check_loop(copy)


_REACHED: dict[str, Callable[[Copy], Prediction | Copy | None]] = {
    "autovec_copy": through_autovec,
    "basic_copy": through_basic_copy,
    "basic_copy_if": through_basic_copy_if,
}
COMPILER = Compiler(through_python=through_python)


SPACES = ("rmem", "smem", "gmem", "generic")


def check_loop(copy: Copy) -> Prediction | None:
    """`basic_copy_if`, and `basic_copy` of run-time shapes: a Python loop over elements, unverified.

    What loading the predicate and the source and storing to the destination meet, in that order (measured).
    """
    for operand, view in (("pred", copy.pred), ("src", copy.src), ("dst", copy.dst)):
        stopped = None if view is None else _access(operand, view)
        if stopped:
            return stopped
    return _store(copy.src.dtype, copy.dst.dtype)


def _access(operand: str, view: Memref) -> Prediction | None:
    """Whether single elements of a view can be loaded and stored."""
    if view.space not in SPACES:
        message = f"tensor<{printed_pointer(view)} o {view.layout}> doesn't support load and store"
        return rejected("space", message, operand)
    element = view.dtype
    if operand != "dst" and element.name == "i1" and view.space != "rmem":
        message = f"i1 element type is only supported for tensors in rmem, but got '{printed_view(view)}'"
        return rejected("element_type", message, operand)
    if not element.bits % 8 or element.bits == 1:
        return None
    if element.kind == "int":
        return None if operand == "dst" else _unheld(element, operand)
    message = f"Sub-byte scalar dereference not supported for type {class_name(element)}"
    return rejected("sub_byte_element", message, operand, element_bits=element.bits)


def _unheld(element: DType, operand: str, prefix: str = "") -> Prediction:
    """What is said of single integers that are no bytes."""
    message = f"{prefix}unsupported element type, got '{element}', bitwidth: {element.bits}"
    return rejected("sub_byte_element", message, operand, element_bits=element.bits)


def _store(src: DType, dst: DType) -> Prediction | None:
    """A store converts to a type of the same kind that is at least as wide; of another kind, to none."""
    held = stored(src)
    if src.name == "i1" and dst.kind == "int" and 1 < dst.bits < 8:
        return _unheld(dst, "dst", "'cute.memref.store' op ")
    if src.kind == dst.kind and src.bits <= dst.bits:
        if src.kind == "float" and src != dst and dst.bits == 8:
            return _uncast(f"truncf' op operand type '{src}' and result type '{dst}' are cast incompatible")
        if src.kind == "float" or src.name == dst.name != "i1":
            return None
        held = dtype(f"i{dst.bits}") if held.bits < dst.bits else held
        if held == dst and src.name[0] in "su":
            letter = src.name[0]
            return _uncast(
                f"ext{letter}i' op operand #0 must be signless-fixed-width-integer-like, but got '{src}'"
            )
        if held == dst:
            return None
    elif src.bits != dst.bits:
        name = class_name(src)
        message = f"Type mismatch, store {name} (-> {name}) to Tensor with element type {class_name(dst)}"
        return rejected("element_width", message, src_bits=src.bits, dst_bits=dst.bits)
    return rejected("element_type", f"type mismatch, store {held} to {class_name(dst)}")


def _uncast(said: str) -> Prediction:
    """What the verifier says of the operation that the conversion becomes."""
    return rejected("element_type", f"'arith.{said}")
