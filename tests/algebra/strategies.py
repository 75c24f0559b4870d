"""Hypothesis strategies: layouts of every kind, small enough to enumerate."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from layoutcheck.algebra import Basis, ComposedLayout, Dynamic, Layout, Swizzle

EXTENTS = st.sampled_from((1, 2, 2, 3, 4, 4, 5, 6, 8))


def nest(leaves: list[Any], pattern: int) -> Any:
    """The leaves as a tree: the digits of `pattern` say where neighbours are grouped."""
    while len(leaves) > 1 and pattern:
        pattern, at = divmod(pattern, len(leaves))
        leaves = [*leaves[:at], tuple(leaves[at : at + 2]), *leaves[at + 2 :]]
    return leaves[0] if len(leaves) == 1 and not pattern % 2 else tuple(leaves)


def trees(leaf: st.SearchStrategy[Any], max_leaves: int) -> st.SearchStrategy[Any]:
    return st.builds(nest, st.lists(leaf, min_size=1, max_size=max_leaves), st.integers(0, 12))


def shapes(max_leaves: int = 4) -> st.SearchStrategy[Any]:
    return trees(EXTENTS, max_leaves)


def split(pairs: Any) -> Layout:
    """A layout from a tree of [extent, stride] lists."""

    def part(t: Any, i: int) -> Any:
        return tuple(part(a, i) for a in t) if isinstance(t, tuple) else t[i]

    return Layout(part(pairs, 0), part(pairs, 1))


def layouts(max_leaves: int = 4, strides: st.SearchStrategy[Any] | None = None) -> st.SearchStrategy[Layout]:
    """Any strides at all."""
    values = st.integers(0, 24) if strides is None else strides
    return trees(st.tuples(EXTENTS, values).map(list), max_leaves).map(split)


def ordered(leaves: list[list[int]], order: int, step: int, pattern: int) -> Layout:
    """Extents with gaps behind them, in an order: each mode begins at a whole number of the one below."""
    places = list(range(len(leaves)))
    modes: list[Any] = [None] * len(leaves)
    while places:
        order, at = divmod(order, len(places))
        i = places.pop(at)
        modes[i] = [leaves[i][0], step]
        step *= leaves[i][0] * leaves[i][1]
    return split(nest(modes, pattern))


def injective_layouts(max_leaves: int = 4) -> st.SearchStrategy[Layout]:
    """Layouts that have a complement and a left inverse."""
    leaf = st.tuples(EXTENTS, st.sampled_from((1, 1, 1, 2, 3))).map(list)
    leaves = st.lists(leaf, min_size=1, max_size=max_leaves)
    return st.builds(ordered, leaves, st.integers(0, 23), st.sampled_from((1, 1, 2, 3)), st.integers(0, 12))


def compact_layouts(max_leaves: int = 4) -> st.SearchStrategy[Layout]:
    """Every offset below the size exactly once."""
    leaves = st.lists(st.tuples(EXTENTS, st.just(1)).map(list), min_size=1, max_size=max_leaves)
    return st.builds(ordered, leaves, st.integers(0, 23), st.just(1), st.integers(0, 12))


DYNAMIC = st.builds(Dynamic, st.integers(1, 64), st.sampled_from((32, 64)))
BIG = st.integers(-(10**18), 10**18)
PATHS = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple)


def anything() -> st.SearchStrategy[Layout]:
    """Every value that a layout can hold: run-time, negative, enormous, basis."""
    extent = st.one_of(st.integers(1, 10**18), DYNAMIC)
    stride = st.one_of(BIG, DYNAMIC, st.builds(Basis, st.one_of(BIG, DYNAMIC), PATHS))
    return trees(st.tuples(extent, stride).map(list), 6).map(split)


@st.composite
def swizzles(draw: st.DrawFn) -> Swizzle:
    bits = draw(st.integers(0, 4))
    shift = draw(st.integers(bits, 6)) * draw(st.sampled_from((1, 1, -1)))
    return Swizzle(bits, draw(st.integers(0, 5)), shift)


def composed_layouts() -> st.SearchStrategy[ComposedLayout]:
    inner = st.one_of(swizzles(), anything())
    return st.builds(ComposedLayout, inner, st.one_of(st.integers(0, 100), DYNAMIC), anything())
