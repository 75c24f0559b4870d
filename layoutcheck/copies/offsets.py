"""Offsets of a layout's elements as numpy arrays, and the shape every copy is read in: V mode and rest.

`cute.copy` takes mode 0 of a view as V, the part one instruction (or one vector) moves, and iterates over
the remaining modes by one linear index. Where V is a tuple of exactly two modes, ((n, m), ...), some atoms
take n elements at a time and iterate over m as well.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from layoutcheck.algebra.inttuple import flatten, product
from layoutcheck.algebra.layout import Layout
from layoutcheck.errors import InputError

IntArray = npt.NDArray[np.int64]

# The GNU C library maps a large block anew at each request, and gives freed memory back, up to sizes that
# grow with the largest block freed so far (mallopt(3), M_MMAP_THRESHOLD). This block, which nothing touches,
# sets them: the arrays of the next copy take the pages of the last one.
np.empty((4 << 20) - 1, dtype=np.uint8)

_FEW = 1024
MAX_MOVES = 1 << 22  # bytes moved, over all threads; int64 addresses of both sides then take 64 MiB


class CompilerFails(InputError):
    """The verifier accepts the copy, and a later pass of the compiler fails on it or dies."""


class TooLarge(InputError):
    """The copy is too large to follow byte by byte."""


def limit(moves: int) -> None:
    """Raises TooLarge for a copy of more than `MAX_MOVES` bytes."""
    if moves > MAX_MOVES:
        raise TooLarge(f"a copy of {moves} bytes is too large to follow byte by byte (limit {MAX_MOVES})")


def distinct(values: IntArray) -> int:
    """How many different values there are, without np.unique, which would load numpy.ma (20 ms)."""
    ordered = np.sort(values, axis=None)
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + bool(ordered.size)


def v_mode(layout: Layout) -> Layout:
    """Mode 0."""
    return layout[0]


def rest_modes(layout: Layout) -> Layout:
    """Modes 1 and later as one layout; 1:0 where there are none."""
    if type(layout.shape) is not tuple or len(layout.shape) == 1:
        return Layout.trusted(1, 0)
    return Layout.trusted(layout.shape[1:], layout.stride[1:])


def has_inner_rest(layout: Layout) -> bool:
    """Whether V is a tuple of exactly two modes, so that its second is iterated over."""
    v = v_mode(layout)
    return type(v.shape) is tuple and len(v.shape) == 2


def size(layout: Layout) -> int:
    """Number of elements. Raises InputError where an extent is dynamic."""
    n = product(layout.shape)
    if type(n) is not int:
        raise InputError(f"{layout} has a dynamic extent: its elements cannot be enumerated")
    return n


def offsets(layout: Layout) -> IntArray:
    """The offset of each index 0 .. size-1 of a static layout, colexicographic; not to be written to."""
    return _few_offsets(layout) if size(layout) <= _FEW else _offsets(layout)


def _offsets(layout: Layout) -> IntArray:
    shape, stride = flatten(layout.shape), flatten(layout.stride)
    limit(size(layout))
    out = np.zeros(1, dtype=np.int64)
    for extent, step in zip(shape, stride, strict=True):
        if extent == 1:
            continue
        column = np.arange(extent, dtype=np.int64)[:, None] * _static(step, layout)
        out = (column + out).reshape(-1)
    out.setflags(write=False)
    return out


_few_offsets = lru_cache(maxsize=1024)(_offsets)  # the same modes are asked for by intent, execution, ...


def offsets_at(layout: Layout, indices: IntArray) -> IntArray:
    """The offset of each of `indices`; as in CuTe, the last mode takes what exceeds the shape."""
    shape, stride = flatten(layout.shape), flatten(layout.stride)
    out = np.zeros_like(indices)
    left = indices
    for extent, step in zip(shape[:-1], stride[:-1], strict=True):
        if extent != 1:
            out = out + left % extent * _static(step, layout)
            left = left // extent
    return out + left * _static(stride[-1], layout)


def _static(step: Any, layout: Layout) -> int:
    if type(step) is not int:
        raise InputError(f"{layout} has no offsets in memory: its strides are not all known integers")
    if abs(step) > 1 << 40:
        raise InputError(f"the stride {step} of {layout} reaches past any memory")
    return step
