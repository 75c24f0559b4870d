"""What `cute.copy` and its relatives check in Python before the verifier sees anything. DSL 4.8.1.

`cute.copy` also regroups its operands: whatever the views look like, the verifier gets `(V, (rest...))`.
"""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import is_static, product, rank, wrap
from layoutcheck.algebra.inverse import right_inverse
from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.autovec import autovec_width, resolve, stored
from layoutcheck.copies.compiler.loops import check_loop, class_name
from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.compiler.shared import align_bits, sub_byte_abort
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.descriptor import DescriptorView
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError
from layoutcheck.machine.atoms import RegisterCopy


def grouped(view: Memref) -> Memref:
    """`(V, (rest...))`: at least one rest mode, (1):(0) where there is none, and all of them in one."""
    layout = view.layout
    shape, stride = wrap(layout.shape), wrap(layout.stride)
    if len(shape) == 1:
        shape, stride = (*shape, 1), (*stride, 0)
    return view.with_layout(Layout.trusted((shape[0], tuple(shape[1:])), (stride[0], tuple(stride[1:]))))


def through_copy(copy: Copy) -> Prediction | Copy:
    """`cute.copy`: its own checks, or the copy as the verifier gets it."""
    stopped = _same_width(
        copy,
        "`copy` currently only supports equal source and destination element type bit width",
        as_stored=False,
    )
    if stopped:
        return stopped
    src, dst = copy.src.layout.shape, copy.dst.layout.shape
    if rank(src) != rank(dst):
        return rejected(
            "rank",
            "Expected source and destination tensors to have the same rank, "
            f"but got {rank(src)} and {rank(dst)}",
            src_rank=rank(src),
            dst_rank=rank(dst),
        )
    s, d = (product(wrap(shape)[1:]) for shape in (src, dst))
    if is_static(wrap(src)[1:]) and is_static(wrap(dst)[1:]) and s != d:
        return rejected(
            "mode_size",
            f"Expected source and destination tensors to have the same size in mode-1, but got {s} and {d}",
            mode=1,
            src_size=s,
            dst_size=d,
        )
    pred = None if copy.pred is None else grouped(copy.pred)
    return replace(copy, src=grouped(copy.src), dst=grouped(copy.dst), pred=pred)


def _same_width(copy: Copy, message: str, as_stored: bool = True) -> Prediction | None:
    """Nothing is converted, so widths agree; descriptors have none.

    Where tensors are taken `as_stored`, i1 counts as a byte.
    """
    if isinstance(copy.src, DescriptorView) or isinstance(copy.dst, DescriptorView):
        return None
    src, dst = copy.src.dtype.bits, copy.dst.dtype.bits
    if as_stored:
        src, dst = stored(copy.src.dtype).bits, stored(copy.dst.dtype).bits
    if src != dst:
        return rejected("element_width", message, src_bits=src, dst_bits=dst)
    return None


def through_atom_call(copy: Copy) -> Prediction | Copy | None:
    """`cute.copy(unroll_factor=...)` and `cute.copy_atom_call`; None where nothing is left to check.

    With rest modes it is `cute.copy`'s loop, which falls back to the verified copy where their number is
    only known at run time. The call on each V checks its nesting; no verifier follows.
    """
    src, dst = copy.src.layout.shape, copy.dst.layout.shape
    if rank(src) == rank(dst) == 1:
        stopped = _same_width(
            copy,
            "`copy_atom_call` currently only supports equal source and destination element type bit width",
            as_stored=False,
        )
        if stopped:
            return stopped
        for operand, shape in (("src", src), ("dst", dst)):
            if type(shape) is not tuple:  # the DSL asks a bare extent for its mode 0
                name = f"Int{shape.bits}" if isinstance(shape, Dynamic) else "int"
                return rejected("bare_extent", f"'{name}' object is not subscriptable", operand)
    else:
        checked = through_copy(copy)
        if isinstance(checked, Prediction) or not is_static(wrap(src)[1:]):
            return checked
    s, d = rank(wrap(src)[0]), rank(wrap(dst)[0])
    if max(s, d) > 2:
        return rejected(
            "v_rank",
            "V-mode (mode-0) with rank > 2 is not supported yet, "
            f"but got rank(src, mode=[0]) = {s} and rank(dst, mode=[0]) = {d}",
            src_rank=s,
            dst_rank=d,
        )
    return None


def through_autovec(copy: Copy) -> Prediction | Copy:
    """`cute.autovec_copy`: its own checks, or the copy it makes of itself."""
    src, dst = stored(copy.src.dtype), stored(copy.dst.dtype)
    names = f"{class_name(src)} and {class_name(dst)}"
    stopped = _same_width(
        copy, f"autovec_copy only supports equal source and destination element type bit widths, got {names}"
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
    stopped = _same_width(
        copy,
        "basic_copy_if currently only supports equal source and destination element type bit width",
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
