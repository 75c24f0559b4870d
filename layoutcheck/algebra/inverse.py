"""Inverses, and what two layouts have in common."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.composition import composition
from layoutcheck.algebra.integers import Dynamic, Int
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.simplify import coalesce, merged
from layoutcheck.errors import InputError

# A mode of the layout that is inverted: stride, extent, and the index step that its coordinate 1 stands for.
_Mode = tuple[int, int, int]
_Modes = tuple[list[Any], list[Any]]


def right_inverse(a: Layout) -> Layout:
    """The longest R with A(R(i)) = i for every i < size(R).

    A run-time stride, a gap or a stride of 0 ends it. Raises InputError for run-time extents.

    >>> print(right_inverse(Layout((4, 8), (8, 1))))
    (8,4):(4,1)
    """
    return _inverse(a, "right", _right)


def left_inverse(a: Layout, *, strict: bool = True) -> Layout:
    """L with L(A(i)) = i for every i < size(A), where A is one-to-one; else A(L(A(i))) = A(i).

    It exists where A, strides of 0 aside, does not overlap itself and, by ascending stride, each stride
    divides the next. Raises InputError naming the mode where not, for negative strides and for run-time
    values. With `strict=False` overlapping modes are inverted as the DSL does: an inverse only by luck.

    >>> print(left_inverse(Layout((4, 8), (1, 5))))
    (5,8):(1,4)
    """
    for extent, leaf in zip(inttuple.flatten(a.shape), inttuple.flatten(a.stride), strict=True):
        value = leaf.value if isinstance(leaf, Basis) else leaf
        if isinstance(value, Dynamic) or (value < 0 and extent != 1):
            kind = "run-time" if isinstance(value, Dynamic) else "negative"
            raise InputError(f"no left inverse of {a}: its stride {leaf} is {kind}")
    return _inverse(a, "left", lambda modes: _left(a, modes, strict))


def _inverse(a: Layout, side: str, invert: Callable[[list[_Mode]], _Modes]) -> Layout:
    """`invert` of the coalesced modes by ascending stride; of basis strides, for each path by itself."""
    shape, stride = inttuple.flatten(a.shape), inttuple.flatten(a.stride)
    for s in shape:
        if type(s) is not int:
            raise InputError(f"no {side} inverse of {a}: its extent {s} is a run-time value")
    stride = tuple(0 if isinstance(d, Dynamic) else d for d in stride)
    paths: dict[tuple[int, ...], list[_Mode]] = {}
    step = 1
    for s, d in zip(*merged(shape, stride), strict=True):
        path, value = (d.path, d.value) if isinstance(d, Basis) else ((), d)
        if s != 1 and value != 0 and type(value) is int:
            paths.setdefault(path, []).append((value, s, step))
        step *= s
    for modes in paths.values():
        modes.sort(key=itemgetter(0))
    if not any(isinstance(d, Basis) for d in stride):
        return coalesce(Layout.trusted(*map(tuple, invert(paths.get((), [])))))  # type: ignore[no-any-return]
    if () in paths:
        raise InputError(f"no {side} inverse of {a}: some of its strides are basis strides, some are not")
    shapes, strides = _tree(paths, (), invert)
    return Layout.trusted(shapes, strides)


def _tree(paths: dict[tuple[int, ...], list[_Mode]], at: tuple[int, ...], invert: Any) -> tuple[Any, Any]:
    """The inverses of all paths below `at`, nested as the paths are."""
    width = max((p[len(at)] + 1 for p in paths if len(p) > len(at) and p[: len(at)] == at), default=0)
    if width == 0:
        one = coalesce(Layout.trusted(*map(tuple, invert(paths.get(at, [])))))
        return one.shape, one.stride
    parts = [_tree(paths, (*at, i), invert) for i in range(width)]
    return tuple(p[0] for p in parts), tuple(p[1] for p in parts)


def _right(modes: list[_Mode]) -> _Modes:
    shapes, strides, reached = [1], [0], 1
    for d, s, step in modes:
        if d == reached:
            shapes.append(s)
            strides.append(step)
            reached *= s
    return shapes, strides


def _left(a: Layout, modes: list[_Mode], strict: bool) -> _Modes:
    shapes, strides = [], [0]
    unit = reached = 1  # the last stride, and the end of its mode
    extent = 1
    for d, s, step in modes:
        n, off = divmod(d, unit)
        if off:
            raise InputError(
                f"no left inverse of {a}: the stride of its mode {s}:{d} is not a multiple of {unit}"
            )
        if d < reached and strict:
            raise InputError(f"no left inverse of {a}: its mode {s}:{d} begins below {reached}")
        shapes.append(n)
        strides.append(step)
        unit, reached, extent = d, d * s, s
    return [*shapes, extent], strides


def nullspace(a: Layout) -> Layout:
    """The indices that A maps to 0 because they move along strides of 0: A(N(i)) = 0.

    size(N) = size(A) / size(filter(A)) for static strides.

    >>> print(nullspace(Layout((4, 8, 2), (1, 0, 0))))
    16:4
    """
    shapes: list[Int] = [1]
    strides: list[Any] = [0]
    step: Any = 1
    for s, d in zip(inttuple.flatten(a.shape), inttuple.flatten(a.stride), strict=True):
        if d == 0:
            shapes.append(s)
            strides.append(step)
        step = inttuple.product((step, s))
    return coalesce(Layout.trusted(tuple(shapes), tuple(strides)))  # type: ignore[no-any-return]


def max_common_layout(a: Layout, b: Layout) -> Layout:
    """The longest R with A(R(i)) = B(R(i)) = i: the elements that are contiguous in both.

    Only static strides count. Raises InputError where the DSL cannot compose A with B's inverse either.

    >>> print(max_common_layout(Layout((8, 4), (1, 8)), Layout((8, 4), (1, 9))))
    8:1
    """
    inverse = right_inverse(b)
    n = _common(a, inverse)
    return composition(inverse, Layout.trusted(n, 1)) if n > 1 else Layout.trusted(1, 0)


def max_common_vector(a: Layout, b: Layout) -> int:
    """size(max_common_layout(A, B)): the contiguous elements of both layouts, from 0 on."""
    return _common(a, right_inverse(b))


def _common(a: Layout, inverse: Layout) -> int:
    # The first mode of A o B^-1 is right by the DSL's rule too: only what follows it may be rounded.
    first = coalesce(composition(a, inverse, strict=False))[0]
    return first.shape if type(first.shape) is int and first.stride == 1 else 1
