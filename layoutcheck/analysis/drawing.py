"""The one vector that a report draws: where the layouts have its elements, what the instruction touches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import crd2idx
from layoutcheck.analysis.vector import elements, width_bits
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand

if TYPE_CHECKING:
    from layoutcheck.analysis import Analysis

_MOST = 16  # elements drawn


def drawing(analysis: Analysis) -> dict[str, Any]:
    """`{"elements", "element_bytes", "width_bytes", "src": side, "dst": side}`, of the first instruction.

    A side is `{"asked": [byte offset or None], "used": [byte offset]}`: offsets from the address of the
    vector's first element; None where a run-time stride leaves it open, fewer where the view has no more
    elements. Empty where nothing is one vector.
    """
    copy = analysis.resolved if analysis.accepted else analysis.copy
    if isinstance(copy.src, OtherOperand) or isinstance(copy.dst, OtherOperand):
        return {}
    element_bits = copy.src.dtype.bits
    if copy.dst.dtype.bits != element_bits or element_bits % 8 or not width_bits(copy):
        return {}
    n = min(elements(copy), _MOST)
    size = element_bits // 8
    return {
        "elements": n,
        "element_bytes": size,
        "width_bytes": width_bits(copy) // 8,
        "src": {"asked": _asked(copy.src, n), "used": [i * size for i in range(n)]},
        "dst": {"asked": _asked(copy.dst, n), "used": [i * size for i in range(n)]},
    }


def _asked(memref: Memref, n: int) -> list[int | None]:
    """Byte offsets of the first n elements of the view by its layout; fewer where it has no more."""
    shape = tuple(n if isinstance(extent, Dynamic) else extent for extent in flatten(memref.layout.shape))
    stride = flatten(memref.layout.stride)
    count = math.prod(shape)
    offsets = [crd2idx(i, shape, stride) for i in range(min(n, count))]
    return [None if isinstance(offset, Dynamic) else offset * memref.dtype.bits // 8 for offset in offsets]
