"""Complement: the layout that fills what another leaves out."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.basis import Basis, basis_of
from layoutcheck.algebra.integers import Dynamic, Int, ceil_div, floor_div, mul
from layoutcheck.algebra.inttuple import Sized
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.measure import valid_shape
from layoutcheck.algebra.simplify import coalesce
from layoutcheck.errors import InputError


def complement(a: Layout, cotarget: Sized = 1, *, strict: bool = True) -> Layout:
    """A* such that (A, A*) reaches every offset below size(cotarget), each exactly once.

    A* is ordered (A*(i) < A*(i+1)) and disjoint from A apart from 0; size(A) * size(A*) is at least
    size(cotarget). `cotarget` is a size, a shape or a layout (its shape). Strides of 0 do not count.

    It exists where, by ascending stride, every mode's stride is a multiple of stride * extent of the mode
    before. Raises InputError naming the mode where not, for negative strides, and for a run-time stride
    beside other modes. With `strict=False` a gap that is not a whole number of steps is rounded down, as the
    DSL does: the result then does not fill it.

    With basis strides every mode of the cotarget has a complement of its own.

    >>> print(complement(Layout((2, 2), (1, 6)), 24))
    (3,2):(2,12)
    """
    shape, stride = inttuple.flatten(a.shape), inttuple.flatten(a.stride)
    target = cotarget if type(cotarget) is int and cotarget > 0 else valid_shape(cotarget)
    for d in stride:
        if type(d) is Basis:
            return Layout.trusted(*_by_mode(a, shape, stride, target, (), strict))
    return Layout.trusted(*fill(a, shape, stride, target, strict))


def fill(a: Layout, shape: Any, stride: Any, target: Any, strict: bool = True) -> tuple[Any, Any]:
    """Shape and stride of the complement of flat integer modes of `a`, up to the shape `target`."""
    modes = [(d, s) for s, d in zip(shape, stride, strict=True) if s != 1 and d != 0]
    if len(modes) > 1:
        modes = _ascending(a, modes)
    if not modes and type(target) is not int:
        whole = coalesce(Layout(target))
        return whole.shape, whole.stride
    shapes: list[Any] = []
    strides: list[Any] = []
    reached: Int = 1  # every offset below it is covered by A and the modes so far
    for d, s in modes:
        if type(d) is int and type(reached) is int:
            gap, off = divmod(d, reached)
            if d < reached or (off and strict):
                raise _refuse(a, s, d, reached)
            if gap != 1:
                shapes.append(gap)
                strides.append(reached)
            reached = d * s if type(s) is int else mul(s, d)
        else:
            shapes.append(floor_div(d, reached))
            strides.append(reached)
            reached = mul(s, d)
    if type(target) is int and type(reached) is int:
        if reached < target:
            shapes.append(-(-target // reached))
            strides.append(reached)
    else:
        _beyond(target, reached, shapes, strides)
    if len(shapes) == 1:
        return shapes[0], strides[0]
    return (tuple(shapes), tuple(strides)) if shapes else (1, 0)


def _ascending(a: Layout, modes: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    for d, s in modes:
        if type(d) is not int:
            raise InputError(
                f"no complement of {a}: its mode {s}:{d} has a run-time stride, beside other modes"
            )
    return sorted(modes, key=itemgetter(0))


def _refuse(a: Layout, s: Any, d: int, reached: int) -> InputError:
    if d < 0:
        return InputError(f"no complement of {a}: its mode {s}:{d} has a negative stride")
    if d < reached:
        why = f"its mode {s}:{d} begins within the {reached} offsets that its other modes reach"
    else:
        why = f"the stride of its mode {s}:{d} is not a multiple of {reached}, which its other modes reach"
    return InputError(f"no complement of {a}: {why}")


def _beyond(target: Any, reached: Int, shapes: list[Any], strides: list[Any]) -> None:
    """Append ceil(target / reached), one extent for each of `target`, compact from `reached` on."""
    extents: list[Any] = []
    rest = reached
    for s in inttuple.flatten(target):
        n, rest = ceil_div(s, rest), ceil_div(rest, s)
        if extents and isinstance(extents[-1], Dynamic) == isinstance(n, Dynamic):
            extents[-1] = mul(extents[-1], n)
        else:
            extents.append(n)
    step = reached
    for n in extents:
        if n != 1:
            shapes.append(n)
            strides.append(step)
            step = mul(step, n)


def _by_mode(
    a: Layout, shape: Any, stride: Any, target: Any, path: tuple[int, ...], strict: bool
) -> tuple[Any, Any]:
    """The complement within mode `path` of the codomain, whose extents are `target`."""
    here = [(s, d.value) for s, d in zip(shape, stride, strict=True) if type(d) is Basis and d.path == path]
    below = any(type(d) is Basis and len(d.path) > len(path) and d.path[: len(path)] == path for d in stride)
    if below and not here and type(target) is tuple:
        parts = [_by_mode(a, shape, stride, t, (*path, i), strict) for i, t in enumerate(target)]
        return tuple(p[0] for p in parts), tuple(p[1] for p in parts)
    if below:
        raise InputError(
            f"no complement of {a} in a codomain of shape {target}: its basis strides reach deeper"
        )
    if not here:
        return target, basis_of(target, path)
    shapes, strides = fill(a, [s for s, _ in here], [d for _, d in here], target, strict)
    if type(strides) is tuple:
        return shapes, tuple(Basis(d, path) for d in strides)
    return shapes, Basis(strides, path) if strides != 0 else 0
