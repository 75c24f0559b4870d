"""A layout evaluated: its offsets as a numpy array."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import ComposedLayout
from layoutcheck.errors import InputError

MAX_IMAGE = 1 << 26  # 64 Mi offsets, 512 MiB of int64: beyond it, ask symbolically


def image(layout: Layout | ComposedLayout) -> npt.NDArray[np.int64]:
    """The offset of every index 0 .. size-1, colexicographic: shape (size,), int64.

    Raises InputError for dynamic leaves, basis strides and images of more than `MAX_IMAGE` offsets.
    """
    if isinstance(layout, ComposedLayout):
        offsets = image(layout.outer) + int(layout.offset)
        if isinstance(layout.inner, Layout):
            table = image(layout.inner)
            if offsets.size and (offsets.min() < 0 or offsets.max() >= table.size):
                return _evaluate(layout.inner, offsets)
            looked_up: npt.NDArray[np.int64] = table[offsets]
            return looked_up
        return layout.inner(offsets)
    shape, stride = flatten(layout.shape), flatten(layout.stride)
    size = 1
    for leaf in (*shape, *stride):
        if isinstance(leaf, Basis):
            raise InputError(f"{layout} maps to coordinates, not to offsets: it has no image in memory")
        if type(leaf) is not int:
            raise InputError(f"{layout} has run-time values: it has no single image")
    for extent in shape:
        size *= extent
    if size > MAX_IMAGE:
        raise InputError(f"{layout} has {size} elements: too many to enumerate (limit {MAX_IMAGE})")
    out = np.zeros(1, dtype=np.int64)
    for extent, step in zip(shape, stride, strict=True):
        out = (np.arange(extent, dtype=np.int64)[:, None] * step + out[None, :]).reshape(-1)
    return out


def _evaluate(layout: Layout, indices: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The layout at any indices; as in CuTe the last mode takes what exceeds the shape."""
    shape: tuple[Any, ...] = flatten(layout.shape)
    stride: tuple[Any, ...] = flatten(layout.stride)
    out = np.zeros_like(indices)
    rest = indices
    for extent, step in zip(shape[:-1], stride[:-1], strict=True):
        out += rest % extent * step
        rest = rest // extent
    result: npt.NDArray[np.int64] = out + rest * stride[-1]
    return result
