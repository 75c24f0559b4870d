"""Random tensors as kernels make them, and the copies of their tiles: views, and not types.

A tensor is a tile of a larger one, a stage of several, the quotient of a divide, moved or recast, in memory
of either order, padded or not, under a swizzle or not. `tiled` partitions two of them by a tiled copy;
`sliced` is what a thread has of them by a divide or a local_partition.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from layoutcheck.algebra.divide import zipped_divide
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, product
from layoutcheck.algebra.layout import Layout, compact_col_major
from layoutcheck.algebra.modes import flatten_layout, group_modes
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies import alignment
from layoutcheck.copies.atom import Atom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.tiled import make_tiled_copy_tv
from layoutcheck.copies.tiling import tile
from layoutcheck.machine.dtypes import DType, dtype
from tests.copies.slices import local_tile, slice_

TYPES = ("bf16", "bf16", "f16", "f32", "f32", "i8", "i32", "f64", "f8E4M3FN")
SPACES = (
    ("gmem", "smem"), ("gmem", "smem"), ("gmem", "smem"), ("smem", "gmem"), ("smem", "smem"),
    ("gmem", "gmem"), ("smem", "rmem"), ("rmem", "smem"), ("gmem", "rmem"), ("rmem", "gmem"),
)  # fmt: skip
SWIZZLES = tuple(
    Swizzle(*triple)
    for triple in (
        (3, 4, 3), (3, 4, 3), (2, 4, 3), (1, 4, 3), (3, 3, 3), (3, 2, 3), (2, 5, 2), (2, 3, 3), (1, 3, 4),
        (1, 0, 3), (2, 2, 3), (0, 4, 3), (3, 1, 5), (2, 4, 4), (1, 3, 3),
    )
)  # fmt: skip


# Tensors.


def tensor(rng: Random, element: DType, space: str, rows: int, columns: int, by_rows: bool) -> Memref:
    """(rows, columns) elements. Raises InputError where a recast does not fit."""
    if space == "rmem":
        return Memref(element, space, _layout(rng, (rows, columns), by_rows, "plain"), 16)
    makers = (_made, _made, _made, _tile_of, _tile_of, _stage_of, _recast) if space != "rmem" else (_made,)
    made = rng.choice(makers)(rng, element, space, (rows, columns), by_rows)
    if rng.random() < 0.12:  # domain_offset
        moved = tuple(rng.choice((0, 1, 2, 8, 8, Dynamic())) for _ in made.layout.modes)
        made = alignment.shifted(made, alignment.offset(made.layout, moved))
    return made


def _memref(rng: Random, element: DType, space: str, layout: Layout) -> Memref:
    if space != "smem":
        return Memref(element, space, layout, rng.choice((16, 16, 16, 32, 8, 4)))
    swizzle = rng.choice(SWIZZLES) if rng.random() < 0.5 else None
    return Memref(element, space, layout, rng.choice((128, 1024, 1024, 16, 16, 8)), swizzle)


def _layout(rng: Random, extents: tuple[int, ...], by_rows: bool, kind: str) -> Layout:
    """The first two modes in one order or the other, a third behind both; `plain` ones are compact."""
    fast, slow = (1, 0) if by_rows else (0, 1)
    pad = 0 if kind == "plain" else rng.choice((0, 0, 0, 8, 8, 16, 1, 4))
    stride: list[Any] = [0, 0, 0]
    stride[fast], stride[slow] = 1, extents[fast] + pad
    stride[2] = stride[slow] * extents[slow] + (rng.choice((0, 0, 0, 8, 64, 1)) if kind != "plain" else 0)
    if kind != "plain" and rng.random() < 0.05:
        stride[fast] = rng.choice((2, -1, 0))
    if kind != "plain" and rng.random() < 0.04:
        stride[slow] = rng.choice((0, -stride[slow]))
    if kind == "gmem" and rng.random() < 0.3:
        stride[slow] = Dynamic(rng.choice((1, 2, 4, 8, 8, 16)), rng.choice((32, 64)))
        stride[2] = Dynamic(rng.choice((1, 8, 64)), 64)
    shape: list[Any] = list(extents)
    for at in range(2):  # a mode in two, as tile_to_shape and MMA layouts have them
        if isinstance(stride[at], int) and extents[at] % 8 == 0 and extents[at] > 8 and rng.random() < 0.1:
            inner = rng.choice((2, 4, 8))
            shape[at] = (inner, extents[at] // inner)
            outer = rng.choice((inner * stride[at], inner * stride[at], stride[2]))
            stride[at] = (stride[at], outer)
    return Layout(tuple(shape), tuple(stride[: len(shape)]))


def _made(rng: Random, element: DType, space: str, extents: tuple[int, int], by_rows: bool) -> Memref:
    return _memref(rng, element, space, _layout(rng, extents, by_rows, space))


def _tile_of(rng: Random, element: DType, space: str, extents: tuple[int, int], by_rows: bool) -> Memref:
    """local_tile, or a zipped_divide and a slice."""
    whole = tuple(n * rng.choice((1, 2, 3)) + rng.choice((0, 0, 0, 1, 8)) for n in extents)
    given = _memref(rng, element, space, _layout(rng, whole, by_rows, space))
    coord = tuple(rng.choice((0, 0, 1, Dynamic(), Dynamic(2))) for _ in extents)
    if rng.random() < 0.7:
        return local_tile(given, extents, coord)
    divided = given.with_layout(zipped_divide(given.layout, extents, strict=False))
    return _unwrapped(slice_(divided, (None, coord)))


def _stage_of(rng: Random, element: DType, space: str, extents: tuple[int, int], by_rows: bool) -> Memref:
    given = _memref(rng, element, space, _layout(rng, (*extents, rng.choice((2, 3, 4))), by_rows, space))
    return slice_(given, (None, None, rng.choice((0, 1, Dynamic()))))


def _recast(rng: Random, element: DType, space: str, extents: tuple[int, int], by_rows: bool) -> Memref:
    """recast_tensor of a tensor of another type, which holds as many bits in each row."""
    other = dtype(rng.choice(("i8", "bf16", "i32", "i64")))
    fast = 1 if by_rows else 0
    counts = list(extents)
    counts[fast] = max(1, counts[fast] * element.bits // other.bits)
    given = _made(rng, other, space, (counts[0], counts[1]), by_rows)
    return replace(alignment.recast(given, element), recast_from=None)  # the view as it is, right or wrong


def _unwrapped(memref: Memref) -> Memref:
    """((a, b)) as (a, b)."""
    return memref.with_layout(memref.layout[0]) if len(memref.layout) == 1 else memref


# Copies.


def atom_for(rng: Random, element: DType, spaces: tuple[str, str]) -> tuple[Atom, int]:
    """An atom, mostly right for the spaces, and the elements that one instruction moves."""
    bits = max(element.bits, rng.choice((128, 128, 128, 64, 32, element.bits)))
    kinds: list[Atom] = [UniversalCopy(element, bits)] * 2
    if rng.random() < 0.2:
        kinds = [UniversalCopy(element, 0)]
    elif spaces == ("gmem", "smem") and bits >= 32:
        kinds += [CpAsync(element, bits, rng.choice(("always", "always", "global")))] * 3
    elif "rmem" in spaces and spaces[0] != spaces[1]:
        letters = [space[0] for space in spaces]
        kinds.append(RegisterCopy(f"{letters[0]}2{letters[1]}", element, bits))
    return rng.choice(kinds), max(1, bits // element.bits)


def tiled(rng: Random) -> Copy:
    """partition_S and partition_D of two tiles, mostly right and often just not.

    Raises InputError where the DSL refuses the tiling.
    """
    element, spaces = dtype(rng.choice(TYPES)), rng.choice(SPACES)
    atom, n = atom_for(rng, element, spaces)
    by_rows = rng.random() < 0.5
    fast = 1 if by_rows else 0
    threads = [rng.choice((2, 4, 8)), rng.choice((2, 4, 8))]
    threads[fast] = rng.choice((1, 2, 4, 8))
    values = [1, 1]
    values[fast] = n if rng.random() < 0.85 else rng.choice((1, max(1, n // 2), 2 * n, 3))
    if rng.random() < 0.1:
        values[1 - fast] = 2
    extents = [t * v * rng.choice((1, 1, 2)) for t, v in zip(threads, values, strict=True)]
    fits = "rmem" in spaces  # what misses the tile shows nowhere, where each thread has its own side
    if not fits and rng.random() < 0.1:
        extents[rng.randrange(2)] += rng.choice((-1, 1, 2))
    order = [by_rows if rng.random() < 0.88 else not by_rows for _ in spaces]
    src, dst = (
        tensor(rng, element, space, max(1, extents[0]), max(1, extents[1]), rows)
        for space, rows in zip(spaces, order, strict=True)
    )
    steps = (threads[1], 1) if by_rows == (rng.random() < 0.9) else (1, threads[0])
    made = make_tiled_copy_tv(atom, Layout(tuple(threads), steps), Layout(tuple(values)))
    count = threads[0] * threads[1]
    block = count if fits or rng.random() < 0.85 else max(1, count + rng.choice((-count // 2, 8, 32)))
    copy = tile(made, src, dst, block_threads=block)
    if rng.random() < 0.15:
        copy = replace(copy, atom=None, tiled=None, op=rng.choice(("autovec_copy", "basic_copy")))
    return copy


def sliced(rng: Random) -> Copy:
    """What a thread has of two tensors by a divide or local_partition; registers are like the other side.

    Raises InputError where a divide does not fit.
    """
    element, spaces = dtype(rng.choice(TYPES)), rng.choice(SPACES)
    atom, n = atom_for(rng, element, spaces)
    by_rows = rng.random() < 0.5
    part = (rng.choice((1, 2)), n) if by_rows else (n, rng.choice((1, 2)))
    times = (rng.choice((2, 4, 8)), rng.choice((2, 4, 8)))
    extents = (part[0] * times[0], part[1] * times[1])
    how = rng.choice(("zipped", "zipped", "local", "partition"))
    regrouped = rng.choice(("", "", "", "group", "flatten"))
    views: list[Memref | None] = []
    for space in spaces:
        whole = tensor(rng, element, space, *extents, by_rows if rng.random() < 0.9 else not by_rows)
        views.append(None if space == "rmem" else _part(whole, part, times, how, regrouped))
    src, dst = views
    like = src or dst
    assert like is not None
    own = Memref(element, "rmem", Layout(like.layout.shape, compact_col_major(like.layout.shape)), 32)
    copy = Copy(atom, src or own, dst or own)
    op = rng.choice(("copy", "copy", "copy", "autovec_copy", "basic_copy", "copy_atom_call"))
    return copy if op == "copy" else replace(copy, op=op, atom=atom if op == "copy_atom_call" else None)


def _part(whole: Memref, part: tuple[int, int], times: tuple[int, int], how: str, regrouped: str) -> Memref:
    """A thread's part of a tile, at a place that only the run knows."""
    if how == "local":
        view = local_tile(whole, part, (Dynamic(), Dynamic()))
    else:
        divided = whole.with_layout(
            zipped_divide(whole.layout, times if how == "partition" else part, strict=False)
        )
        coord = ((Dynamic(), Dynamic()), None) if how == "partition" else (None, (Dynamic(), Dynamic()))
        view = slice_(divided, coord)
        view = _unwrapped(view) if how == "partition" else view
    if regrouped == "group" and len(view.layout) > 1:
        view = view.with_layout(group_modes(view.layout, 0, len(view.layout)))
    elif regrouped == "flatten":
        view = view.with_layout(flatten_layout(view.layout))
    return view


def elements_of(copy: Copy) -> int:
    """The elements of a thread; 0 where only the run knows."""
    count = product(copy.src.layout.shape)
    return count if isinstance(count, int) else 0


def run_time_values(copy: Copy) -> int:
    """How many extents and strides only the run knows."""
    leaves = (
        leaf for side in (copy.src, copy.dst) for leaf in flatten((side.layout.shape, side.layout.stride))
    )
    return sum(isinstance(leaf, Dynamic) for leaf in leaves)
