"""What `cute.copy` and its relatives check in Python before the verifier sees anything. Measured.

`cute.copy` also regroups its operands: whatever the views look like, the verifier gets `(V, (rest...))`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import is_static, product, rank, wrap
from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import DescriptorView
from layoutcheck.machine.dtypes import DType


def grouped(view: Memref) -> Memref:
    """`(V, (rest...))`: at least one rest mode, (1):(0) where there is none, and all of them in one."""
    layout = view.layout
    shape, stride = wrap(layout.shape), wrap(layout.stride)
    if len(shape) == 1:
        shape, stride = (*shape, 1), (*stride, 0)
    return view.with_layout(Layout.trusted((shape[0], tuple(shape[1:])), (stride[0], tuple(stride[1:]))))


def through_copy(copy: Copy) -> Prediction | Copy:
    """`cute.copy`: its own checks, or the copy as the verifier gets it."""
    stopped = differing_widths(
        copy, "`copy` currently only supports equal source and destination element type bit width"
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
    aux = None if copy.aux is None else grouped(copy.aux)
    return replace(copy, src=grouped(copy.src), dst=grouped(copy.dst), pred=pred, aux=aux)


def differing_widths(
    copy: Copy, message: str, as_copied: Callable[[DType], DType] = lambda element: element
) -> Prediction | None:
    """Nothing is converted, so the widths of the elements `as_copied` agree; descriptors have none.

    Beside a second destination they are not compared.
    """
    if isinstance(copy.src, DescriptorView) or isinstance(copy.dst, DescriptorView) or copy.aux is not None:
        return None
    src, dst = as_copied(copy.src.dtype).bits, as_copied(copy.dst.dtype).bits
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
        stopped = differing_widths(
            copy,
            "`copy_atom_call` currently only supports equal source and destination element type bit width",
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
