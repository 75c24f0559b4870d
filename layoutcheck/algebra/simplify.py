"""The same function in fewer modes: coalesce, and filter, which also drops what does not move."""

from __future__ import annotations

from typing import Any

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.inttuple import AnyLayout, Tree, flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import map_modes
from layoutcheck.algebra.swizzle import ComposedLayout


def merged(shape: tuple[Any, ...], stride: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
    """The leaves with neighbours merged where s1 * d1 = d2, and extents of 1 dropped, except the last.

    Also beyond the layout's size it is the same function: a last extent of 1 is kept (unless it merges),
    because the last mode's stride is the one that goes on. Only static leaves merge.
    """
    shapes: list[Any] = []
    strides: list[Any] = []
    s0: Any = 1  # the mode that is still growing; of extent 1: none yet
    d0: Any = 0
    for s, d in zip(shape, stride, strict=True):
        if s0 == 1:
            s0, d0 = s, d
        elif type(s0) is int and type(s) is int and continues(s0, d0, d):
            s0 *= s
        else:
            shapes.append(s0)
            strides.append(d0)
            s0, d0 = s, d
            continue
        if shapes and type(shapes[-1]) is int and type(s0) is int and continues(shapes[-1], strides[-1], d0):
            s0, d0 = shapes.pop() * s0, strides.pop()
    shapes.append(s0)
    strides.append(d0)
    return shapes, strides


def continues(s: int, d: Any, after: Any) -> bool:
    """Whether a mode of stride `after` goes on where s:d ends."""
    if type(d) is int:
        return type(after) is int and s * d == after
    if isinstance(d, Basis) and isinstance(after, Basis) and type(d.value) is int:
        return d.path == after.path and s * d.value == after.value
    return False


def coalesce(a: AnyLayout, profile: Tree = None) -> Any:
    """R(i) = A(i) for every index i < size(A), in as few modes as possible; depth at most 1.

    With a tuple as `profile`, every mode at one of its leaves is coalesced by itself: (1, 1) keeps rank 2.
    Raises InputError where the profile has more modes than the layout.

    >>> print(coalesce(Layout((2, (1, 6)), (1, (6, 2)))))
    12:1
    >>> print(coalesce(Layout((2, (1, 6)), (1, (6, 2))), (1, 1)))
    (2,6):(1,2)
    """
    if isinstance(a, ComposedLayout):
        return ComposedLayout(a.inner, a.offset, coalesce(a.outer, profile))
    if type(profile) is tuple:
        return map_modes(coalesce, a, profile, "the profile")
    if type(a.shape) is not tuple:
        return a if a.shape != 1 else Layout.trusted(1, 0)
    return _layout(*joined(flatten(a.shape), flatten(a.stride)))


def joined(shape: tuple[Any, ...], stride: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
    """The leaves as `merged` joins them, without extents of 1; one extent of 1 if nothing else is left."""
    shapes, strides = merged(shape, stride)
    if shapes[-1] == 1:
        if len(shapes) == 1:
            return [1], [0]
        shapes.pop()
        strides.pop()
    return shapes, strides


def _layout(shapes: list[Any], strides: list[Any]) -> Layout:
    if len(shapes) == 1:
        return Layout.trusted(shapes[0], strides[0])
    return Layout.trusted(tuple(shapes), tuple(strides))


def filter_zeros(a: Layout, profile: Tree = None) -> Layout:
    """The layout with extent 1 in place of every extent whose stride (or `profile` leaf) is 0.

    >>> print(filter_zeros(Layout((4, 8), (0, 1))))
    (1,8):(0,1)
    """
    return Layout.trusted(_without_zeros(a.shape, a.stride if profile is None else profile), a.stride)


def _without_zeros(shape: Any, stride: Any) -> Any:
    if type(stride) is tuple and type(shape) is tuple:
        return (*map(_without_zeros, shape, stride), *shape[len(stride) :])
    return 1 if stride == 0 else shape


def filter(a: Layout, profile: Tree = None) -> Layout:  # noqa: A001 - CuTe's name
    """coalesce(filter_zeros(A)): the modes that move, as few as possible; the image is the same set.

    >>> print(filter(Layout((4, 8, 2), (1, 0, 4))))
    8:1
    """
    if type(profile) is tuple:
        return map_modes(filter, a, profile, "the profile")
    return _layout(*joined(flatten(_without_zeros(a.shape, a.stride)), flatten(a.stride)))
