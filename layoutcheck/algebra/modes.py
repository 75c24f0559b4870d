"""Modes as building blocks: joining, taking, grouping and flattening them."""

from __future__ import annotations

from typing import Any, NamedTuple

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.basis import basis_of
from layoutcheck.algebra.inttuple import Path, Shape, Stride, Tree
from layoutcheck.algebra.layout import Layout
from layoutcheck.digits import many
from layoutcheck.errors import InputError

UNIT = Layout.trusted(1, 0)


def expect_layout(a: Any) -> Layout:
    """`a`, which must be a layout. Raises InputError for anything else."""
    if isinstance(a, Layout):
        return a
    raise InputError(f"{a} is a {type(a).__name__}, where a layout is expected")


def make_layout(*layouts: Tree, stride: Stride = None) -> Layout:
    """The layouts as the modes of one: `result(c0, c1, ...) = layouts[0](c0) + layouts[1](c1) + ...`.

    Of a shape, and a stride if not the compact one: that layout, as in CuTe.

    >>> print(make_layout((4, 8), stride=(8, 1)), make_layout((4, 8)), make_layout(Layout(4), Layout(8, 4)))
    (4,8):(8,1) (4,8):(1,4) (4,8):(1,4)
    """
    kinds = {isinstance(each, Layout) for each in layouts}
    given = (*layouts, *(() if stride is None else (stride,)))
    if kinds == {False} and len(given) < 3:
        return Layout(*given)
    if False in kinds or stride is not None:
        raise InputError("make_layout takes layouts, or one shape and at most one stride")
    return Layout.trusted(tuple(a.shape for a in layouts), tuple(a.stride for a in layouts))


def make_identity_layout(shape: Shape) -> Layout:
    """Every coordinate mapped to itself, in basis strides; an integral shape is simply n:1.

    >>> print(make_identity_layout((2, (3, 4))))
    (2,(3,4)):(1@0,(1@0@1,1@1@1))
    """
    return Layout(shape, basis_of(shape))


def dotted(path: tuple[int, ...]) -> str:
    """A mode as messages print it: (1, 0) is "1.0"; a layout of one integer is its own mode 0."""
    return ".".join(map(str, path)) or "0"


class Leaf(NamedTuple):
    """One integer mode of a layout: the path to it, outermost index first, its extent and its stride."""

    path: tuple[int, ...]
    extent: Any
    stride: Any


def leaves(a: Layout) -> list[Leaf]:
    """The integer modes, left to right; a layout of one integer has the path ()."""
    found: list[Leaf] = []
    todo = [Leaf((), a.shape, a.stride)]
    while todo:
        leaf = todo.pop()
        if type(leaf.extent) is not tuple:
            found.append(leaf)
            continue
        inner = enumerate(zip(leaf.extent, leaf.stride, strict=True))
        todo += reversed([Leaf((*leaf.path, i), extent, stride) for i, (extent, stride) in inner])
    return found


def get(a: Layout, path: Path) -> Layout:
    """The mode at a path, outermost index first. Raises InputError where there is none."""
    shape, stride = a.shape, a.stride
    for i in path:
        if type(shape) is not tuple or not 0 <= i < len(shape):
            raise InputError(f"{a} has no mode {dotted(path)}")
        shape, stride = shape[i], stride[i]
    return Layout.trusted(shape, stride)


def flatten_layout(a: Layout) -> Layout:
    """All leaves as modes: ((2,3),4):((1,2),6) -> (2,3,4):(1,2,6). A single leaf stays as it is."""
    if type(a.shape) is not tuple:
        return a
    return Layout.trusted(inttuple.flatten(a.shape), inttuple.flatten(a.stride))


def select(a: Layout, modes: Path) -> Layout:
    """The top-level modes of those numbers, in that order. Raises InputError where there is no such mode."""
    for i in modes:
        if not 0 <= i < len(a):
            raise InputError(f"{a} has no mode {i}")
    return make_layout(*(a[i] for i in modes))


def group_modes(a: Layout, begin: int, end: int | None = None) -> Layout:
    """Modes [begin, end) grouped into one: (2,3,5) grouped 0..2 is ((2,3),5).

    Negative numbers count from the end. Raises InputError where there is no mode to group.
    """
    rank = len(a)
    first, last = begin, rank if end is None else end
    first, last = first + rank * (first < 0), last + rank * (last < 0)
    if not 0 <= first < last <= rank:
        raise InputError(
            f"cannot group modes {begin} to {rank if end is None else end} of {a}, which has {rank}"
        )
    if type(a.shape) is not tuple:
        return make_layout(a)
    shape, stride = a.shape, a.stride
    return Layout.trusted(
        (*shape[:first], shape[first:last], *shape[last:]),
        (*stride[:first], stride[first:last], *stride[last:]),
    )


def append(a: Layout, mode: Layout = UNIT, up_to_rank: int | None = None) -> Layout:
    """`a` with `mode` added last: once, or until it has `up_to_rank` modes (none, if it has them already)."""
    missing = 1 if up_to_rank is None else up_to_rank - len(a)
    return make_layout(*a.modes, *[mode] * missing) if missing > 0 else a


def prepend(a: Layout, mode: Layout = UNIT, up_to_rank: int | None = None) -> Layout:
    """`a` with `mode` added first: once, or until it has `up_to_rank` modes."""
    count = len(append(a, mode, up_to_rank)) - len(a)
    return make_layout(*[mode] * count, *a.modes) if count else a


def zip_modes(a: Layout, b: Layout) -> Layout:
    """Mode i of the result is (mode i of `a`, mode i of `b`). Raises InputError where the ranks differ."""
    if len(a) != len(b):
        raise InputError(f"cannot zip {a} and {b}: {len(a)} modes and {len(b)}")
    shapes = zip(inttuple.wrap(a.shape), inttuple.wrap(b.shape), strict=True)
    strides = zip(inttuple.wrap(a.stride), inttuple.wrap(b.stride), strict=True)
    return Layout.trusted(tuple(shapes), tuple(strides))


def map_modes(f: Any, a: Layout, profile: tuple[Any, ...], what: str) -> Layout:
    """f(mode, profile[i]) on the first len(profile) modes; the others stay."""
    modes = list(expect_layout(a).modes)
    if len(profile) > len(modes):
        raise InputError(f"{what} has {many(len(profile), 'mode')}, more than the {len(modes)} of {a}")
    return make_layout(*map(f, modes, profile), *modes[len(profile) :])
