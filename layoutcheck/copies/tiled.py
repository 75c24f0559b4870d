"""`TiledCopy`: an atom repeated over a tile by threads and values, and the partition it makes of a tensor.

The functions follow the DSL to the letter, also where it is careless: nothing demands that layout_tv is a
bijection onto the tiler, that a thread has as many values as the atom moves (fewer: the slice is widened
past them; no multiple: the last piece is), that the tile divides the tensor (rest modes round up), or that
thr_layout is compact. `copies/coverage.py` counts what that does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.complement import complement
from layoutcheck.algebra.composition import composition
from layoutcheck.algebra.divide import logical_divide
from layoutcheck.algebra.integers import Dynamic, Int
from layoutcheck.algebra.inverse import right_inverse
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.measure import cosize
from layoutcheck.algebra.modes import UNIT, append, make_layout, zip_modes
from layoutcheck.algebra.notation import print_tiler
from layoutcheck.algebra.product import raked_product
from layoutcheck.algebra.simplify import coalesce
from layoutcheck.copies import alignment
from layoutcheck.copies.atom import Atom, traits
from layoutcheck.copies.memref import Memref
from layoutcheck.digits import many
from layoutcheck.display import Drawable
from layoutcheck.errors import InputError

SIDES = ("src", "dst")
_RUN_TIME = Dynamic()  # threadIdx


class TiledCopyAborts(InputError):
    """The DSL's process dies (SIGFPE) building this tiled copy."""


class PartitionRefused(InputError):
    """The DSL cannot partition this tensor by this tiled copy: a composition it needs is not admissible.

    It says so or its process dies (SIGABRT): while inferring the alignment, where it is the threads that
    have no layout of offsets. A sub-byte tensor without align<> has no alignment to infer, and then its
    partition is typed as if nothing were wrong.
    """


@dataclass(frozen=True, slots=True)
class TiledCopy(Drawable):
    """`layout_tv`: (thread, value) -> index into the tile; `tiler`: one layout a mode of the tensor."""

    atom: Atom
    layout_tv: Layout
    tiler: tuple[Layout, ...]

    def __str__(self) -> str:
        return (
            f'!cute.tiled_copy<{self.atom}, layout_copy_tv = <"{self.layout_tv}">, '
            f'tiler_mn = <"{print_tiler(self.tiler)}">>'
        )


class Partition(NamedTuple):
    """One side of a tiled copy: thread `t`'s tensor is `view`, based `thread(t)` elements further on.

    `view` has the type that `get_slice(tid).partition_S/D(tensor)` has for a run-time `tid`: (V, rest...),
    V being (one atom's values, atoms). `threads` is the number of threads it is made for.
    """

    view: Memref
    thread: Layout
    threads: int


def make_tiled_copy(atom: Atom, layout_tv: Layout, tiler: tuple[Layout, ...]) -> TiledCopy:
    """`cute.make_tiled_copy`. Raises InputError unless layout_tv is static, with modes (thread, value)."""
    if len(layout_tv) != 2 or type(layout_tv.shape) is not tuple:
        raise InputError(f"{layout_tv} has {many(len(layout_tv), 'mode')}", expected="(thread, value)")
    if not layout_tv.is_static or not all(t.is_static for t in tiler):
        raise InputError("layout_tv and tiler must be static")
    return TiledCopy(atom, layout_tv, tiler)


def make_tiled_copy_tv(atom: Atom, thr_layout: Layout, val_layout: Layout) -> TiledCopy:
    """`cute.make_tiled_copy_tv`: the value layout repeated over the thread layout; their tile is the tiler.

    Raises TiledCopyAborts where thr_layout overlaps itself so that the DSL dies, InputError where it refuses
    the pair.
    """
    if not (thr_layout.is_static and val_layout.is_static):
        raise InputError("thread and value layouts must be static")
    overlap = _overlap(thr_layout)
    if overlap is None:
        layout_mn = raked_product(thr_layout, val_layout, strict=False)
    else:
        layout_mn = _overlapping_product(thr_layout, val_layout, overlap)
    count = (inttuple.product(thr_layout.shape), inttuple.product(val_layout.shape))
    layout_tv = composition(right_inverse(layout_mn), Layout(count), strict=False)
    tiler = tuple(Layout(inttuple.product(m.shape)) for m in layout_mn.modes)  # 1:0 for an extent of 1
    return make_tiled_copy(atom, layout_tv, tiler)


def _by_stride(layout: Layout) -> list[tuple[int, int]]:
    """(stride, extent) of the coalesced modes that move, by ascending stride, equal ones as they come."""
    flat = coalesce(layout)
    modes = zip(inttuple.flatten(flat.stride), inttuple.flatten(flat.shape), strict=True)
    return sorted(((d, s) for d, s in modes if d != 0 and s != 1), key=itemgetter(0))


def _overlap(thr_layout: Layout) -> tuple[int, int] | None:
    """The first mode (stride, extent) that begins within the thread ids of the modes below it."""
    reached = 1
    for stride, extent in _by_stride(thr_layout):
        if 0 <= stride < reached:
            return stride, extent
        reached = stride * extent
    return None


def _overlapping_product(thr_layout: Layout, val_layout: Layout, overlap: tuple[int, int]) -> Layout:
    """The raked product by the DSL's arithmetic: the gap below an overlapping mode is one of extent 0.

    A value mode whose steps are taken through that gap divides by 0; only where the gap is the last of the
    complement's modes none are.
    """
    shapes: list[int] = []
    strides: list[int] = []
    reached = 1
    for stride, extent in _by_stride(thr_layout):
        shapes.append(stride // reached)
        strides.append(reached)
        reached = stride * extent
    count: Any = inttuple.product(thr_layout.shape)
    room: Any = cosize(val_layout)
    shapes.append(-(-count * room // reached))
    strides.append(reached)
    rest = coalesce(Layout.trusted(tuple(shapes), tuple(strides)))
    extents = inttuple.wrap(rest.shape)
    if 0 in extents[:-1]:
        below = extents[: extents.index(0)]
        endless = Layout.trusted((*below, 1 << 62), (*inttuple.wrap(rest.stride)[: len(below)], 1))
        leaves = zip(inttuple.flatten(val_layout.shape), inttuple.flatten(val_layout.stride), strict=True)
        if any(d != 0 and _composes(endless, Layout.trusted(s, d)) for s, d in leaves):
            stride, extent = overlap
            raise TiledCopyAborts(
                f"thread layout {thr_layout} overlaps itself: its mode {extent}:{stride} begins within the "
                f"thread ids of its other modes, and the DSL crashes (SIGFPE) on it",
                expected="a compact thread layout",
            )
    rank = max(len(thr_layout), len(val_layout))
    repeats = composition(rest, append(val_layout, up_to_rank=rank), strict=False)
    return coalesce(zip_modes(repeats, append(thr_layout, up_to_rank=rank)), (1,) * rank)


def _composes(a: Layout, b: Layout) -> bool:
    try:
        composition(a, b, strict=False)
    except InputError:
        return False
    return True


@lru_cache(maxsize=4096)
def partition(tiled: TiledCopy, side: str, memref: Memref, tid: Int = _RUN_TIME) -> Partition:
    """The view of `memref` that thread `tid` has of one side ("src" or "dst") of the tiled copy.

    A static `tid` proves more of the view's alignment than a run-time one.
    Raises PartitionRefused where the DSL has no answer, InputError for atoms without traits.
    """
    if side not in SIDES:
        raise InputError(f"unknown side '{side}'", expected="src or dst")
    if len(memref.layout) < len(tiled.tiler):
        raise PartitionRefused(
            f"{memref.layout} has {many(len(memref.layout), 'mode')}, "
            f"the tiler {print_tiler(tiled.tiler)} has {len(tiled.tiler)}"
        )
    thread_tv, value_tv = tile_indices(tiled, side)
    moves = any(inttuple.flatten((thread_tv.stride, *(v.stride for v in value_tv))))
    try:
        rest = _rest(memref.layout, tiled.tiler)
        tile = _tile(memref.layout, tiled.tiler) if moves else UNIT
        thread = composition(tile, thread_tv, strict=False)
        values = make_layout(*(composition(tile, v, strict=False) for v in value_tv))
    except InputError as error:
        raise PartitionRefused(f"{memref.layout} cannot be partitioned: {error.message}") from None
    threads = inttuple.product(thread_tv.shape)
    assert isinstance(threads, int)  # layout_tv is static
    moved = alignment.shifted(memref, alignment.offset(thread, tid))
    return Partition(replace(moved, layout=make_layout(values, *rest)), thread, threads)


@lru_cache(maxsize=4096)
def tile_indices(tiled: TiledCopy, side: str) -> tuple[Layout, tuple[Layout, Layout]]:
    """Thread -> index into the tile, and (one atom's values, atoms) -> index into the tile."""
    atom = traits(tiled.atom).elements(tiled.atom.dtype.bits)
    target = atom.src if side == "src" else atom.dst
    to_ref = composition(right_inverse(atom.ref), target, strict=False)
    values = inttuple.product(atom.ref[1].shape)
    threads = logical_divide(tiled.layout_tv[0], Layout(atom.threads, 1), strict=False)
    atoms = logical_divide(tiled.layout_tv[1], Layout(values, 1), strict=False)
    one = composition(make_layout(threads[0], atoms[0]), to_ref, strict=False)
    return coalesce(make_layout(one[0], threads[1])), (coalesce(one[1]), coalesce(atoms[1]))


def _tile(layout: Layout, tiler: tuple[Layout, ...]) -> Layout:
    """The first tile."""
    return make_layout(*(composition(layout[i], t, strict=False) for i, t in enumerate(tiler)))


def _rest(layout: Layout, tiler: tuple[Layout, ...]) -> tuple[Layout, ...]:
    """The modes that step from tile to tile (of a rank-1 tensor wrapped once, as slicing leaves them)."""
    steps = [
        composition(layout[i], complement(t, coalesce(layout[i]), strict=False), strict=False)
        for i, t in enumerate(tiler)
    ]
    rest = (*steps, *layout.modes[len(tiler) :])
    return rest if len(layout) > 1 else (make_layout(*rest),)


def tile_shape(tiled: TiledCopy) -> tuple[int, ...]:
    """Extent of the tile in every mode."""
    extents: Any = tuple(inttuple.product(t.shape) for t in tiled.tiler)
    return tuple(map(int, extents))


def threads(tiled: TiledCopy) -> int:
    """Threads that the tiled copy is written for: the extent of layout_tv's thread mode."""
    count = inttuple.product(tiled.layout_tv[0].shape)
    assert isinstance(count, int)  # layout_tv is static
    return count
