"""Slices: fix some coordinates, keep the modes of the others. None in a coordinate keeps its mode."""

from __future__ import annotations

from typing import Any

from layoutcheck.algebra.inttuple import AnyLayout, Coord
from layoutcheck.algebra.layout import Layout, crd2idx, plus, text
from layoutcheck.algebra.swizzle import ComposedLayout
from layoutcheck.errors import InputError


def slice_(a: AnyLayout, coord: Coord) -> Any:
    """The modes at which `coord` is None, in order, as one layout; a composed layout's offset moves.

    Where the coordinate fixes every mode, the empty layout ():() of one element is left.
    Raises InputError where the coordinate does not fit.

    >>> print(slice_(Layout((2, (3, 4)), (1, (2, 6))), (0, (None, 1))))
    (3):(2)
    >>> print(slice_(Layout((2, (3, 4)), (1, (2, 6))), (0, 5)))
    ():()
    """
    if isinstance(a, ComposedLayout):
        return ComposedLayout(a.inner, plus(a.offset, _offset(a.outer, coord)), slice_(a.outer, coord))
    return _kept(a, coord, True)


def dice(a: Layout, coord: Coord) -> Layout:
    """The modes at which `coord` is an integer: what `slice_` leaves out.

    Raises InputError where the coordinate does not fit, and where it has no integer.

    >>> print(dice(Layout((2, (3, 4)), (1, (2, 6))), (0, (None, 1))))
    (2,4):(1,6)
    """
    return _kept(a, coord, False)


def slice_and_offset(a: AnyLayout, coord: Coord) -> tuple[Any, Any]:
    """(slice_(A, coord), A(coord with 0 for None)): the view, and how far into A it begins, in elements.

    Raises InputError where the coordinate does not fit.
    """
    if isinstance(a, ComposedLayout):
        return slice_(a, coord), 0
    return slice_(a, coord), _offset(a, coord)


def _offset(a: Layout, coord: Any) -> Any:
    return 0 if coord is None else crd2idx(coord, a.shape, a.stride)


def _kept(a: Layout, coord: Any, free: bool) -> Layout:
    if type(coord) is not tuple and (coord is None) == free:
        return a
    shapes: list[Any] = []
    strides: list[Any] = []
    _collect(coord, a.shape, a.stride, free, shapes, strides)
    if not shapes and not free:
        raise InputError(f"coordinate {coord_text(coord)} leaves nothing of {a}")
    return Layout.trusted(tuple(shapes), tuple(strides))


def _collect(coord: Any, shape: Any, stride: Any, free: bool, shapes: list[Any], strides: list[Any]) -> None:
    if type(coord) is tuple:
        if type(shape) is not tuple or len(coord) != len(shape):
            raise InputError(f"coordinate {coord_text(coord)} does not fit shape {text(shape)}")
        for c, s, d in zip(coord, shape, stride, strict=True):
            _collect(c, s, d, free, shapes, strides)
    elif (coord is None) == free:
        shapes.append(shape)
        strides.append(stride)


def coord_text(coord: Any) -> str:
    """A coordinate as CuTe prints it, `_` for None."""
    if type(coord) is tuple:
        return f"({','.join(map(coord_text, coord))})"
    return "_" if coord is None else str(coord)
