"""`cute.autovec_copy`, `cute.basic_copy` and `cute.basic_copy_if`: what they check in Python. Measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from layoutcheck.algebra.inttuple import is_static, product
from layoutcheck.algebra.inverse import right_inverse
from layoutcheck.atoms.autovec import autovec_width, resolve, stored
from layoutcheck.atoms.autovec.loops import check_loop, class_name
from layoutcheck.atoms.compiler import predict_verifier
from layoutcheck.atoms.family import Compiler
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.copies.compiler.prediction import ACCEPTED, Prediction, rejected
from layoutcheck.copies.compiler.python_layer import differing_widths
from layoutcheck.copies.compiler.shared import align_bits, sub_byte_abort
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError


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
            return rejected(
                "dynamic_shape",
                "autovec_copy expects source and destination tensors to be statically shaped",
                operand,
            )
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
        return rejected(
            "size",
            "basic_copy expects the size of source, destination, and predicate tensors to match",
            src_size=s,
            dst_size=d,
        )
    return check_loop(copy)


_REACHED: dict[str, Callable[[Copy], Prediction | Copy | None]] = {
    "autovec_copy": through_autovec,
    "basic_copy": through_basic_copy,
    "basic_copy_if": through_basic_copy_if,
}
COMPILER = Compiler(through_python=through_python)
