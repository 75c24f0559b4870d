"""Divides: split a layout into tiles and the rest, by composing it with (tiler, complement of the tiler).

A tiler is a layout (of indices into the divided layout), an integer n (n:1), or a tuple of tilers, one a
mode; modes beyond it, and modes whose tiler is None, are not divided. Divides that zip take a mode whose
tiler is None to be divided already: it must be a (tile, rest). An 8x8 layout and the tiler (2,4):

    logical   ((2,4),(4,2))     (tile, rest) in every mode
    zipped    ((2,4),(4,2))     (tiles, rests): all of the tile first
    tiled     ((2,4),4,2)       zipped, the rests unpacked
    flat      (2,4,4,2)         zipped, both unpacked

Where a tiler does not divide its mode, the last tiles reach beyond the layout (CuTe's rounding up).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.complement import complement, fill
from layoutcheck.algebra.composition import compose
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import AnyLayout, Tiler, flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import expect_layout, make_layout, map_modes
from layoutcheck.algebra.simplify import coalesce
from layoutcheck.algebra.swizzle import ComposedLayout
from layoutcheck.digits import many
from layoutcheck.errors import InputError


def logical_divide(a: AnyLayout, tiler: Tiler, *, strict: bool = True) -> Any:
    """A o (T, complement(T, size(A))): mode 0 runs through one tile, mode 1 through the tiles.

    Raises InputError where the composition is not admissible or the tiler has no complement;
    `strict=False` answers as the DSL does even where that is wrong (see `composition`).

    >>> print(logical_divide(Layout(24, 3), Layout(4, 2)))
    (4,(2,3)):(6,(3,24))
    >>> print(logical_divide(Layout((8, 8), (8, 1)), (2, Layout(4, 2))))
    ((2,4),(4,2)):((8,16),(2,1))
    """
    if isinstance(a, ComposedLayout):
        return ComposedLayout(a.inner, a.offset, logical_divide(a.outer, tiler, strict=strict))
    if type(tiler) is tuple:
        return map_modes(lambda m, t: logical_divide(m, t, strict=strict), a, tiler, "the tiler")
    return a if tiler is None else _divide(a, tiler, strict)


def _divide(a: Layout, tiler: Any, strict: bool) -> Layout:
    """A o (T, T*) for one tiler, a layout or an integer."""
    tiler, a = as_layout(tiler), expect_layout(a)
    shape, stride = tiler.shape, tiler.stride
    flat = flatten(stride)
    for d in flat:
        if type(d) is Basis:  # picks modes of A, so A's modes are what is to be filled
            rest = complement(tiler, a.shape, strict=strict)
            return Layout.trusted(*compose(a, (shape, rest.shape), (stride, rest.stride), strict))
    target = a.shape if type(a.shape) is int else coalesce(a).shape
    rest_shape, rest_stride = fill(tiler, flatten(shape), flat, target, strict)
    return Layout.trusted(*compose(a, (shape, rest_shape), (stride, rest_stride), strict))


def as_layout(tiler: Any) -> Layout:
    """A tiler's leaf as a layout: an integer n is n:1. Raises InputError for anything else."""
    if isinstance(tiler, Layout):
        return tiler
    if isinstance(tiler, Dynamic) or (type(tiler) is int and tiler > 0):
        return Layout.trusted(tiler, 1 if tiler != 1 else 0)
    raise InputError(f"a tiler is a layout, a positive integer or a tuple of tilers, not {tiler!r}")


def unzipped(split: Callable[[Layout, Any], Layout], a: Layout, tiler: Any) -> tuple[Layout, Layout]:
    """(all first halves, all second halves) of `split` applied at the leaves of the tiler."""
    if type(tiler) is tuple:
        modes = expect_layout(a).modes
        if len(tiler) > len(modes):
            raise InputError(f"the tiler has {many(len(tiler), 'mode')}, more than the {len(modes)} of {a}")
        pairs = [unzipped(split, m, t) for m, t in zip(modes, tiler, strict=False)]
        rests = (*(p[1] for p in pairs), *modes[len(tiler) :])
        return make_layout(*(p[0] for p in pairs)), make_layout(*rests)
    both = a if tiler is None else split(a, as_layout(tiler))
    if len(both) != 2:
        raise InputError(f"{a} is left undivided, so it cannot be zipped", expected="a mode of (tile, rest)")
    return both[0], both[1]


def zipped_divide(a: AnyLayout, tiler: Tiler, *, strict: bool = True) -> Any:
    """(tiles, rests): ((T0, T1, ..), (R0, R1, .., modes not divided)). Raises as `logical_divide` does.

    >>> print(zipped_divide(Layout((8, 8), (8, 1)), (2, 4)))
    ((2,4),(4,2)):((8,1),(16,4))
    """
    if isinstance(a, ComposedLayout):
        return ComposedLayout(a.inner, a.offset, zipped_divide(a.outer, tiler, strict=strict))
    return make_layout(*unzipped(lambda m, t: _divide(m, t, strict), a, tiler))


def tiled_divide(a: AnyLayout, tiler: Tiler, *, strict: bool = True) -> Any:
    """(tiles, R0, R1, ..): the zipped divide with its rests unpacked. Raises as `logical_divide` does.

    >>> print(tiled_divide(Layout((8, 8), (8, 1)), (2, 4)))
    ((2,4),4,2):((8,1),16,4)
    """
    if isinstance(a, ComposedLayout):
        return ComposedLayout(a.inner, a.offset, tiled_divide(a.outer, tiler, strict=strict))
    tile, rest = unzipped(lambda m, t: _divide(m, t, strict), a, tiler)
    return make_layout(tile, *rest.modes)


def flat_divide(a: AnyLayout, tiler: Tiler, *, strict: bool = True) -> Any:
    """(T0, T1, .., R0, R1, ..): the zipped divide with both halves unpacked. Raises as `logical_divide` does.

    >>> print(flat_divide(Layout((8, 8), (8, 1)), (2, 4)))
    (2,4,4,2):(8,1,16,4)
    """
    if isinstance(a, ComposedLayout):
        return ComposedLayout(a.inner, a.offset, flat_divide(a.outer, tiler, strict=strict))
    tile, rest = unzipped(lambda m, t: _divide(m, t, strict), a, tiler)
    return make_layout(*tile.modes, *rest.modes)
