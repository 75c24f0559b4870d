"""What the verifier of `cute.copy` checks of the operands' shapes before it looks at the atom.

In its order, measured: memrefs that can be made, static shapes, equal ranks, equal sizes mode by mode, the
predicate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.inttuple import flatten, is_static, product, rank, wrap
from layoutcheck.algebra.layout import text
from layoutcheck.copies.atom import Atom
from layoutcheck.copies.compiler.prediction import Prediction, aborts, rejected
from layoutcheck.copies.compiler.shared import printed_pointer
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import DescriptorView

PRED_SPACES = ("rmem", "smem", "gmem", "generic")


def check_shapes(copy: Copy) -> Prediction | None:
    """Source against destination."""
    src, dst = copy.src.layout.shape, copy.dst.layout.shape
    for operand, shape in (("src", src), ("dst", dst)):
        if not is_static(shape):
            return rejected("dynamic_shape", "expects src and dst to have static shape", operand)
    if rank(src) != rank(dst):
        return rejected(
            "rank",
            f"`src.rank() = {rank(src)}` != `dst.rank() = {rank(dst)}`",
            src_rank=rank(src),
            dst_rank=rank(dst),
        )
    return _sizes(src, dst)


def _sizes(src: Any, dst: Any) -> Prediction | None:
    """Sizes agree mode by mode; where both V modes are (atom, rest), the atoms' sizes are not compared."""
    both = f"but got srcShape: {text(src)} and dstShape: {text(dst)}"
    modes: list[tuple[int, tuple[Any, Any]]] = [*enumerate(zip(wrap(src), wrap(dst), strict=True))]
    for i, (s, d) in modes[1:] + modes[:1]:  # V last
        if i == 0 and is_pair(s) and is_pair(d):
            if product(s[1]) != product(d[1]):
                return rejected(
                    "rest_v_size",
                    f"expects same size in restAtomVRank, {both}",
                    src_size=product(s[1]),
                    dst_size=product(d[1]),
                )
        elif product(s) != product(d):
            return rejected(
                "mode_size",
                f"expects same size in rank {i} {both}",
                mode=i,
                src_size=product(s),
                dst_size=product(d),
            )
    return None


def check_aux(copy: Copy) -> Prediction | None:
    """A second destination against the first, mode by mode. Their V modes are not compared."""
    if copy.aux is None:
        return None
    dst, aux = copy.dst.layout.shape, copy.aux.layout.shape
    if rank(aux) != rank(dst):
        message = (
            f"expects all operands to have the same rank, but got: dst[1]: {rank(aux)} != dst[0]: {rank(dst)}"
        )
        return rejected("aux_rank", message, "aux", aux_rank=rank(aux), dst_rank=rank(dst))
    rest = wrap(aux)[1:], wrap(dst)[1:]
    if not is_static(rest):
        return aborts("aux_dynamic_shape", "comparing run-time extents of two destinations", "aux")
    if list(map(product, rest[0])) != list(map(product, rest[1])):
        message = (
            f"expects all operands to have the same rest modes, but got: dst[1]: {text(aux)} "
            f"and dst[0]: {text(dst)}"
        )
        return rejected("aux_rest", message, "aux")
    return None


def is_pair(shape: Any) -> bool:
    """Whether a V mode has the form (atom, rest)."""
    return type(shape) is tuple and len(shape) == 2


def check_predicate(copy: Copy, flat: Callable[[], Prediction | None]) -> Prediction | None:
    """The predicate against the source: one entry an atom where both V modes are (atom, rest).

    Where one is flat, one entry an element; `flat` is what the atom then asks. Nobody looks at the
    predicate's element type.
    """
    pred = copy.pred
    if pred is None:
        return None
    src, shape = copy.src.layout.shape, pred.layout.shape
    if pred.space not in PRED_SPACES:
        return rejected("pred_space", "expects pred's address space to be rmem/smem/gmem/generic", "pred")
    if not is_static(shape):
        return rejected("pred_dynamic_shape", "expects pred to have static shape", "pred")
    if rank(shape) != rank(src):
        return rejected(
            "pred_rank",
            f"`pred rank = {rank(shape)}` != `src rank = {rank(src)}`",
            "pred",
            pred_rank=rank(shape),
            src_rank=rank(src),
        )
    want = src
    if is_pair(wrap(src)[0]) and is_pair(wrap(copy.dst.layout.shape)[0]):
        want = (wrap(src)[0][1], *wrap(src)[1:])
    else:
        stopped = flat()
        if stopped:
            return stopped
    if list(map(product, wrap(want))) != list(map(product, wrap(shape))):
        return rejected(
            "pred_shape",
            f"expects pred to have compatible shape with: {text(want)} "
            f"but got actual predShape: {text(shape)}",
            "pred",
            want=text(want),
            got=text(shape),
        )
    return None


def check_memrefs(atom: Atom, copy: Copy) -> Prediction | None:
    """Every atom but tcgen05.cp takes tensors in memory only."""
    for operand, view in (("src", copy.src), ("dst", copy.dst)):
        if isinstance(view, DescriptorView):
            return rejected("operand_kind", f"'{atom}' src and dst need be CuteMemRefType", operand)
    return None


def check_pointers(copy: Copy) -> Prediction | None:
    """Which memrefs cannot be made ("Inputs are incorrect for type: ...").

    Tensor memory comes in chunks of 32 bits, and offsets are numbers.
    """
    for operand, view in (("src", copy.src), ("dst", copy.dst), ("pred", copy.pred)):
        stopped = None if view is None else _tensor_memory(operand, view) or _codomain(operand, view)
        if stopped:
            return stopped
    return None


def _tensor_memory(operand: str, view: Memref) -> Prediction | None:
    if view.space != "tmem":
        return None
    if view.swizzle is not None and view.swizzle.bits:
        return rejected("pointer_type", "tmem pointer does not support non-identity swizzle", operand)
    chunk = math.lcm(view.dtype.bits, 32)
    if chunk & (chunk - 1):
        return rejected(
            "pointer_type",
            f"tmem pointer only supports 32 bit chunks that is a power of 2, got {chunk}",
            operand,
        )
    return None


def _codomain(operand: str, view: Memref) -> Prediction | None:
    """Memory is addressed by one number: basis strides make coordinates, which only a coord_tensor holds."""
    paths = [stride.path for stride in flatten(view.layout.stride) if isinstance(stride, Basis)]
    if not paths:
        return None
    return rejected(
        "codomain",
        "expected iterator and layout codomain to have congruent profiles, but got iterator "
        f"'!cute.{printed_pointer(view)}' and layout layout: {view.layout} "
        f"with co-domain profile {text(_profile(paths))}",
        operand,
    )


def _profile(paths: list[tuple[int, ...]]) -> Any:
    """The tree of ones that coordinates along `paths` have."""
    width = max((path[0] for path in paths if path), default=-1) + 1
    inner = [[path[1:] for path in paths if path[:1] == (i,)] for i in range(width)]
    return tuple(map(_profile, inner)) if width else 1
