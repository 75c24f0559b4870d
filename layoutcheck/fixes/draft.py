"""`Draft`: a repair as a strategy proposes it, before its copies are checked; and what strategies share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.layout import Layout
from layoutcheck.analysis import Analysis
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref

__all__ = ["ALLOCATED", "Analysis", "Draft", "Drafts", "compact_like", "fragment", "thread_value"]


class Draft(NamedTuple):
    """`copies` is everything the repaired program does in place of the copy; `note` what it asks elsewhere.

    The last `readers` of the copies are other copies of the program, which read what this one wrote.
    """

    strategy: str
    title: str
    code: str
    copies: tuple[Copy, ...]
    note: str = ""
    readers: int = 0


Drafts = Iterator[Draft]
ALLOCATED = "the tensor's allocation changes with it"  # a note of the copy alone


def compact_like(layout: Layout, shape: object = None) -> Layout | None:
    """The compact layout of the same shape whose leaves are ordered as `layout`'s strides are.

    None where the order is not known: strides that are dynamic, or equal ones of extents above 1.
    """
    shape = layout.shape if shape is None else shape
    extents, strides = inttuple.flatten(shape), inttuple.flatten(layout.stride)
    if any(isinstance(extent, Dynamic) for extent in extents) or len(extents) != len(strides):
        return None
    real = [i for i, extent in enumerate(extents) if extent != 1]
    # A run-time stride is that of a slower mode wherever one static stride 1 exists: the pitch.
    key = {i: math.inf if isinstance(strides[i], Dynamic) else abs(strides[i]) for i in real}
    if len(set(key.values())) != len(real) or 0 in key.values():
        return None
    steps = [0] * len(extents)
    step = 1
    for i in sorted(real, key=key.__getitem__):
        steps[i] = step
        step *= extents[i]
    return Layout(shape, inttuple.unflatten(iter(steps), shape))


def thread_value(tile: Layout, fast: int, vector: int, threads: int) -> tuple[Layout, Layout] | None:
    """Thread and value layouts that walk `tile` along mode `fast`, `vector` elements a thread.

    Neighbouring threads take neighbouring vectors, so that a warp's accesses coalesce. None where the
    threads do not divide the tile, or it has no such mode.
    """
    sizes = [inttuple.product(mode.shape) for mode in tile.modes]
    extents = [size for size in sizes if not isinstance(size, Dynamic)]
    if len(extents) != len(sizes) or fast >= len(sizes) or vector < 1 or extents[fast] % vector:
        return None
    shape, stride = [1] * len(extents), [0] * len(extents)
    left, step = threads, 1
    for i in [fast, *(i for i in range(len(extents)) if i != fast)]:
        vectors = extents[i] // vector if i == fast else extents[i]
        shape[i] = math.gcd(left, vectors)
        stride[i] = step if shape[i] > 1 else 0
        step *= shape[i]
        left //= shape[i]
    if left != 1:
        return None
    values = [vector if i == fast else 1 for i in range(len(extents))]
    value_strides = [1 if i == fast else 0 for i in range(len(extents))]
    return Layout(tuple(shape), tuple(stride)), Layout(tuple(values), tuple(value_strides))


def fragment(view: Memref) -> Memref:
    """The register tensor of a thread's view: compact, aligned as the DSL aligns fragments (32 bytes)."""
    return Memref(view.dtype, "rmem", Layout(view.layout.shape, _compact_v_first(view.layout)), 32)


def _compact_v_first(layout: Layout) -> object:
    steps, step = [], 1
    for extent in inttuple.flatten(layout.shape):
        steps.append(0 if extent == 1 else step)
        step *= extent
    return inttuple.unflatten(iter(steps), layout.shape)
