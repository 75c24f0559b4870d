"""Which memrefs cannot be made: "Inputs are incorrect for type: ...". Measured."""

from __future__ import annotations

import math
from typing import Any

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import text
from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.compiler.shared import printed_pointer
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref


def check_pointers(copy: Copy) -> Prediction | None:
    """Which memrefs cannot be made: tensor memory comes in chunks of 32 bits, and offsets are numbers."""
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
