"""Products: repeat a layout (the block) over another (the tiler), each copy beyond the ones before it.

`logical_product` keeps block and tiler apart as two modes. The rank-sensitive products interleave them mode
by mode, so that a 2D block over a 2D tiler is 2D again; a (2,2) block over a (3,4) tiler:

    logical   ((2,2),(3,4))     (block, tiler)
    blocked   ((2,3),(2,4))     in every mode the block first: whole blocks side by side
    raked     ((3,2),(4,2))     in every mode the tiler first: the blocks interleaved
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import Any

from layoutcheck.algebra.complement import complement
from layoutcheck.algebra.composition import composition
from layoutcheck.algebra.divide import as_layout, unzipped
from layoutcheck.algebra.integers import Dynamic, ceil_div, mul
from layoutcheck.algebra.inttuple import AnyLayout, Shape, Tiler, Tree, flatten, product, unflatten, wrap
from layoutcheck.algebra.layout import Layout, compact_col_major, text
from layoutcheck.algebra.measure import cosize, size, valid_shape
from layoutcheck.algebra.modes import append, expect_layout, make_layout, map_modes, zip_modes
from layoutcheck.algebra.simplify import coalesce
from layoutcheck.algebra.swizzle import ComposedLayout
from layoutcheck.errors import InputError


def logical_product(block: AnyLayout, tiler: Tiler, *, strict: bool = True) -> Any:
    """(A, complement(A, size(A) * cosize(B)) o B): mode 0 is the block, mode 1 moves from copy to copy.

    A tuple as tiler applies mode by mode. Raises InputError where the block has no complement or the
    composition is not admissible.

    >>> print(logical_product(Layout((2, 2), (4, 1)), Layout(3, 2)))
    ((2,2),3):((4,1),8)
    """
    if isinstance(block, ComposedLayout):
        return ComposedLayout(block.inner, block.offset, logical_product(block.outer, tiler, strict=strict))
    if type(tiler) is tuple:
        return map_modes(lambda m, t: logical_product(m, t, strict=strict), block, tiler, "the tiler")
    return block if tiler is None else _product(block, as_layout(tiler), strict)


def _product(block: Layout, tiler: Layout, strict: bool) -> Layout:
    block = expect_layout(block)
    if not any(flatten(tiler.stride)):  # a single copy needs no room beyond the block
        return make_layout(block, tiler)
    rest = complement(block, mul(size(block), cosize(tiler)), strict=strict)
    return make_layout(block, composition(rest, tiler, strict=strict))


def zipped_product(block: Layout, tiler: Tiler, *, strict: bool = True) -> Layout:
    """(blocks, tilers): the logical product, all block modes first. Raises as `logical_product` does."""
    return make_layout(*unzipped(lambda m, t: _product(m, t, strict), block, tiler))


def tiled_product(block: Layout, tiler: Tiler, *, strict: bool = True) -> Layout:
    """(blocks, tiler modes ..): the zipped product, its second half unpacked. Raises as `logical_product`.

    >>> print(tiled_product(Layout((2, 2)), Layout((3, 4))))
    ((2,2),3,4):((1,2),4,12)
    """
    first, second = unzipped(lambda m, t: _product(m, t, strict), block, tiler)
    return make_layout(first, *second.modes)


def flat_product(block: Layout, tiler: Tiler, *, strict: bool = True) -> Layout:
    """(block modes .., tiler modes ..): zipped, both halves unpacked. Raises as `logical_product`."""
    first, second = unzipped(lambda m, t: _product(m, t, strict), block, tiler)
    return make_layout(*first.modes, *second.modes)


def blocked_product(block: AnyLayout, tiler: Layout, *, strict: bool = True) -> Any:
    """Mode i is (block mode i, tiler mode i): the block repeated side by side. Raises as `logical_product`.

    >>> print(blocked_product(Layout((2, 2), (1, 2)), Layout((3, 4), (1, 3))))
    ((2,3),(2,4)):((1,4),(2,12))
    """
    if isinstance(block, ComposedLayout):
        return ComposedLayout(block.inner, block.offset, blocked_product(block.outer, tiler, strict=strict))
    return zip_modes(*_ranked(block, tiler, strict))


def raked_product(block: AnyLayout, tiler: Layout, *, strict: bool = True) -> Any:
    """Mode i is (tiler mode i, block mode i), coalesced: the blocks interleaved. Raises as `logical_product`.

    >>> print(raked_product(Layout((2, 2), (1, 2)), Layout((3, 4), (1, 3))))
    ((3,2),(4,2)):((4,1),(12,2))
    """
    if isinstance(block, ComposedLayout):
        return ComposedLayout(block.inner, block.offset, raked_product(block.outer, tiler, strict=strict))
    first, second = _ranked(block, tiler, strict)
    zipped = zip_modes(second, first)
    return coalesce(zipped, (1,) * len(zipped))


def _ranked(block: Layout, tiler: Layout, strict: bool) -> tuple[Layout, Layout]:
    """The halves of the logical product, both padded with modes 1:0 to the same rank."""
    block, tiler = expect_layout(block), as_layout(tiler)
    ranks = max(len(block), len(tiler))
    both = _product(append(block, up_to_rank=ranks), append(tiler, up_to_rank=ranks), strict)
    first, second = both[0], both[1]
    if ranks == 1 and (type(block.shape) is not tuple or type(tiler.shape) is not tuple):
        return make_layout(first), make_layout(second)  # one mode each, however it is nested
    return first, second


def make_ordered_layout(shape: Shape, order: Tree) -> Layout:
    """The compact layout of `shape` whose strides grow in the order of the numbers in `order`.

    A number ranks a leaf of the shape, or a whole mode, which then is compact with its first leaf fastest.
    Modes of the same number begin at the same stride, as in the DSL. Raises InputError where shape and order
    do not fit.

    >>> print(make_ordered_layout((3, 5, 7), (2, 0, 1)))
    (3,5,7):(35,1,5)
    >>> print(make_ordered_layout(((4, 2), 3), (1, 0)))
    ((4,2),3):((3,12),1)
    """
    ranked: list[tuple[int, Any]] = []
    shape = valid_shape(shape)
    _rank(shape, order, ranked)
    starts: dict[int, Any] = {}  # of each number: the size of all that come before it
    step: Any = 1
    for rank, alike in groupby(sorted(ranked, key=itemgetter(0)), key=itemgetter(0)):
        starts[rank] = step
        step = mul(step, product(tuple(part for _, part in alike)))
    strides = [compact_col_major(part, starts[rank]) for rank, part in ranked]
    return Layout(shape, unflatten(iter(strides), order))


def _rank(shape: Any, order: Any, out: list[tuple[int, Any]]) -> None:
    """Every number of `order` with the part of `shape` that it ranks; InputError where they do not fit."""
    if type(order) is int:
        out.append((order, shape))
    elif type(order) is not tuple or type(shape) is not tuple or len(order) != len(shape):
        raise InputError(f"order {text(order)} does not fit shape {text(shape)}", expected="a number a mode")
    else:
        for part, numbers in zip(shape, order, strict=True):
            _rank(part, numbers, out)


def tile_to_shape(block: AnyLayout, shape: Shape, order: Tree = None, *, strict: bool = True) -> Any:
    """The block repeated until it has the shape, mode by mode, first along the mode of the smallest order.

    Without `order`: along mode 0 first. Raises InputError where the block does not divide the shape; with
    `strict=False` the result is rounded up to whole blocks, as the DSL does.

    >>> print(tile_to_shape(Layout((8, 64), (64, 1)), (64, 128), (1, 0)))
    ((8,8),(64,2)):((64,1024),(1,512))
    """
    if isinstance(block, ComposedLayout):
        return ComposedLayout(
            block.inner, block.offset, tile_to_shape(block.outer, shape, order, strict=strict)
        )
    target = tuple(map(product, wrap(valid_shape(shape))))
    if len(expect_layout(block)) > len(target):
        raise InputError(f"{block} has more modes than the shape {text(shape)} that it is to fill")
    padded = append(block, up_to_rank=len(target))
    extents = tuple(map(product, wrap(padded.shape)))
    for i, (whole, part) in enumerate(zip(target, extents, strict=True)):
        if strict and not isinstance(whole, Dynamic) and not isinstance(part, Dynamic) and whole % part:
            raise InputError(
                f"{block} does not tile {text(shape)}: in mode {i}, {part} does not divide {whole}"
            )
    times = tuple(ceil_div(whole, part) for whole, part in zip(target, extents, strict=True))
    order = tuple(range(len(target))) if order is None else wrap(order)
    return blocked_product(padded, make_ordered_layout(times, order), strict=strict)
