"""Layouts evaluated by the definition and nothing else: what the algebra is measured by."""

from __future__ import annotations

from typing import Any

import numpy as np


def leaves(t: Any) -> list[Any]:
    return [leaf for a in t for leaf in leaves(a)] if isinstance(t, tuple) else [t]


def count(layout: Any) -> int:
    n = 1
    for s in leaves(layout.shape):
        n *= s
    return n


def offset(layout: Any, index: Any) -> Any:
    """The layout at an index, or an array of them.

    The first extent is the fastest, the last stride goes on forever; A(-i) = -A(i).
    """
    extents, strides = leaves(layout.shape), leaves(layout.stride)
    rest = np.abs(np.asarray(index, dtype=np.int64))
    at = np.zeros_like(rest)
    for s, d in zip(extents[:-1], strides[:-1], strict=True):
        at += rest % s * d
        rest = rest // s
    at += rest * strides[-1]
    return at * np.sign(index)


def offsets(layout: Any) -> Any:
    """All offsets, in the order of the index."""
    return offset(layout, np.arange(count(layout)))


def is_composition(result: Any, a: Any, b: Any) -> bool:
    """R(c) = A(B(c)) for every index c of B."""
    return count(result) == count(b) and np.array_equal(offsets(result), offset(a, offsets(b)))


def is_complement(result: Any, a: Any, target: int) -> bool:
    """(A, A*) reaches every offset once, up to `target` at least, strides of 0 of A aside; A* ascends."""
    mine, others = np.unique(offsets(a)), offsets(result)
    both = np.sort((mine[:, None] + others[None, :]).reshape(-1))
    ascending = bool(np.all(others[1:] > others[:-1]))
    return ascending and np.array_equal(both, np.arange(len(both))) and len(both) >= target


def is_left_inverse(result: Any, a: Any) -> bool:
    """A(L(A(i))) = A(i); a one-to-one layout gets its index back: L(A(i)) = i."""
    image = offsets(a)
    back = offset(result, image)
    if not np.array_equal(offset(a, back), image):
        return False
    return len(np.unique(image)) < len(image) or np.array_equal(back, np.arange(len(image)))
