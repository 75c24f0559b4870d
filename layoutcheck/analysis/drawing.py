"""The one vector that a report draws: where the layouts have its elements, what the instruction touches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.analysis.vector import elements, width_bits
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand

if TYPE_CHECKING:
    from layoutcheck.analysis import Analysis

_MOST = 16  # elements drawn


def drawing(analysis: Analysis) -> dict[str, Any]:
    """`{"elements", "element_bytes", "width_bytes", "src": side, "dst": side}`, of the first instruction.

    A side is `{"asked": [byte offset or None], "used": [byte offset]}`: offsets from the address of the
    vector's first element; None where a run-time stride leaves it open. Empty where nothing is one vector.
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
    """Byte offsets of the first n elements of the view by its layout."""
    size = memref.dtype.bits // 8
    shape = inttuple.flatten(memref.layout.shape)
    stride = inttuple.flatten(memref.layout.stride)
    out: list[int | None] = []
    for index in range(n):
        offset: int | None = 0
        left = index
        for extent, step in zip(shape, stride, strict=True):
            if isinstance(extent, Dynamic):
                extent = left + 1
            coordinate, left = left % extent, left // extent
            if coordinate and isinstance(step, Dynamic):
                offset = None
            elif offset is not None and coordinate:
                offset += coordinate * step
        out.append(None if offset is None or left else offset * size)
    return out
