"""`tile`: the copy that a tiled copy makes of whole tiles, partitioned for its threads."""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.algebra.modes import make_layout
from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import rest_modes, v_mode
from layoutcheck.copies.tiled import Partition, TiledCopy, partition


def tile(
    tiled: TiledCopy,
    src: Memref,
    dst: Memref,
    *,
    pred: Memref | None = None,
    block_threads: int | None = None,
    arch: str = "sm_90a",
) -> Copy:
    """`cute.copy(tiled, thr.partition_S(src), thr.partition_D(dst), pred=pred)` of whole tiles.

    `pred` is the thread's own predicate tensor, as given to cute.copy. Raises what `partition` raises.
    """
    return Copy(
        tiled.atom,
        partition(tiled, "src", src).view,
        partition(tiled, "dst", dst).view,
        pred=pred,
        tiled=tiled,
        tiling=Tiling(tiled, src, dst, block_threads),
        arch=arch,
    )


def of_tiles(copy: Copy, src: Memref, dst: Memref) -> Copy:
    """The same copy of other tiles; a side whose tile stays keeps its view.

    A register fragment is not the partition of a tile: partitioning the tile that stands for it gives other
    modes. Raises what `partition` raises, and ValueError for a copy without a tiling.
    """
    if copy.tiling is None:
        raise ValueError("a copy of views has no tiles")
    made = replace(copy, tiling=replace(copy.tiling, src=src, dst=dst))
    for side, new in (("src", src), ("dst", dst)):
        if new != copy.tiling.side(side):
            made = made.with_side(side, like(copy.side(side), partition(copy.tiling.tiled, side, new)))
    return made


def like(old: Memref, new: Partition) -> Memref:
    """The view with its rest modes in one, as `cute.copy` groups them, where the old one has them so."""
    layout = new.view.layout
    if len(old.layout) == 2 and len(layout) > 2:
        layout = make_layout(v_mode(layout), make_layout(*rest_modes(layout).modes))
    return new.view.with_layout(layout)
