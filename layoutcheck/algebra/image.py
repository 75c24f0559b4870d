"""A layout evaluated: its offsets as a numpy array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import ComposedLayout
from layoutcheck.errors import InputError

MAX_IMAGE = 1 << 26  # 64 Mi offsets, 512 MiB of int64: beyond it, ask symbolically
MAX_OFFSET = 1 << 62


def image(layout: Layout | ComposedLayout) -> npt.NDArray[np.int64]:
    """The offset of every index 0 .. size-1, colexicographic: shape (size,), int64.

    Raises InputError for dynamic leaves, basis strides and images of more than `MAX_IMAGE` offsets.
    """
    if isinstance(layout, ComposedLayout):
        offset = (
            layout.offset[0] if type(layout.offset) is tuple and len(layout.offset) == 1 else layout.offset
        )
        if type(offset) is not int or abs(offset) > MAX_OFFSET:
            raise InputError(f"{layout} has no single image: its offset is not one static 62-bit integer")
        offsets = image(layout.outer) + offset
        if isinstance(layout.inner, Layout):
            _require_static(layout.inner)
            far = int(np.abs(offsets).max()) + 1
            if far * sum(map(abs, flatten(layout.inner.stride))) > MAX_OFFSET:
                raise InputError(f"{layout} reaches offsets of more than 62 bits")
            return _evaluate(layout.inner, offsets)
        return layout.inner(offsets)
    _require_static(layout)
    shape, stride = flatten(layout.shape), flatten(layout.stride)
    size = math.prod(shape)
    if size > MAX_IMAGE:
        raise InputError(f"{layout} has {size} elements: too many to enumerate (limit {MAX_IMAGE})")
    if sum((extent - 1) * abs(step) for extent, step in zip(shape, stride, strict=True)) > MAX_OFFSET:
        raise InputError(f"{layout} reaches offsets of more than 62 bits")
    out = np.zeros(1, dtype=np.int64)
    for extent, step in zip(shape, stride, strict=True):
        if extent == 1:  # also where its stride is enormous
            continue
        out = (np.arange(extent, dtype=np.int64)[:, None] * step + out[None, :]).reshape(-1)
    return out


def _require_static(layout: Layout) -> None:
    for leaf in flatten((layout.shape, layout.stride)):
        if isinstance(leaf, Basis):
            raise InputError(f"{layout} maps to coordinates, not to offsets: it has no image in memory")
        if type(leaf) is not int:
            raise InputError(f"{layout} has run-time values: it has no single image")


def _evaluate(layout: Layout, indices: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The layout at any indices: the last mode takes what exceeds the shape, and A(-i) = -A(i)."""
    shape: tuple[Any, ...] = flatten(layout.shape)
    stride: tuple[Any, ...] = flatten(layout.stride)
    out = np.zeros_like(indices)
    rest = np.abs(indices)
    for extent, step in zip(shape[:-1], stride[:-1], strict=True):
        if extent > MAX_OFFSET:  # no index gets beyond it
            stride = (*stride[:-1], step)
            break
        out += rest % extent * step
        rest = rest // extent
    return (out + rest * stride[-1]) * np.sign(indices)
