"""How large a layout is: of its domain (size, rank, depth) and of its codomain (cosize, max_alignment)."""

from __future__ import annotations

import math
from typing import Any

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.integers import Dynamic, Int, add, mul
from layoutcheck.algebra.inttuple import Sized, Tree
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import ComposedLayout
from layoutcheck.errors import InputError


def shape_of(a: Any) -> Any:
    """The shape of a layout, composed layout or identity on a shape. Raises InputError for text."""
    if isinstance(a, str):
        raise InputError(f"'{a[:40]}' is text", expected="a layout or a shape; parse_layout reads text")
    return a.shape if isinstance(a, (Layout, ComposedLayout)) else a


def valid_shape(a: Any) -> Any:
    """The shape of a layout, or a shape, checked. Raises InputError where it is none."""
    return a.shape if isinstance(a, (Layout, ComposedLayout)) else Layout(a).shape


def size(a: Sized) -> Int:
    """Number of coordinates: the product of all extents of a layout or shape.

    >>> size(Layout((4, (2, 3)), (1, (4, 8))))
    24
    """
    return inttuple.product(shape_of(a))


def rank(a: Tree) -> int:
    """Number of top-level modes; 1 for an integral shape."""
    return inttuple.rank(shape_of(a))


def depth(a: Tree) -> int:
    """Nesting depth: 0 for an integral shape, 1 for a flat tuple."""
    return inttuple.depth(shape_of(a))


def cosize(a: Layout) -> Int:
    """1 + sum of (extent - 1) * |stride|: the span from the smallest to the largest offset, both included.

    For non-negative strides that is the smallest n with every offset < n. Basis strides: the product over
    the coordinate's modes.

    >>> cosize(Layout((4, 8), (1, 9)))
    67
    """
    reach: dict[tuple[int, ...], Int] = {(): 0}
    for extent, stride in zip(inttuple.flatten(a.shape), inttuple.flatten(a.stride), strict=True):
        path: tuple[int, ...] = ()
        if isinstance(stride, Basis):
            path, stride = stride.path, stride.value
        step = abs(stride) if type(stride) is int else stride
        reach[path] = add(reach.get(path, 0), mul(add(extent, -1), step))
    out: Int = 1
    for far in reach.values():
        out = mul(out, add(far, 1))
    return out


def max_alignment(a: Layout | ComposedLayout) -> int:
    """The largest n such that the layout moves in aligned runs of n: what `recast` to n-fold elements bears.

    As the DSL's `layout.max_alignment`: run-time strides are ignored, so it is no proof where there are any.

    >>> max_alignment(Layout((8, 16), (1, 12)))
    4
    """
    if isinstance(a, ComposedLayout):
        raise InputError(
            f"{a}: a composed layout's alignment depends on its swizzle; ask for the outer one's"
        )
    shape, stride = inttuple.flatten(a.shape), inttuple.flatten(a.stride)
    if any(isinstance(d, Basis) for d in stride):
        return 1
    # Static strides, ascending: the run grows as long as the next mode begins where it ends.
    known = sorted(
        (d, 1 if isinstance(s, Dynamic) else s) for s, d in zip(shape, stride, strict=True) if type(d) is int
    )
    run = 1
    rest = 0
    for d, s in known:
        if s == 1 or d == 0:
            continue
        if d == run:
            run *= s
        else:
            rest = math.gcd(rest, d)
    return math.gcd(run, rest)
