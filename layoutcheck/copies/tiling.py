"""`tile`: the copy that a tiled copy makes of whole tiles, partitioned for its threads."""

from __future__ import annotations

from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.tiled import TiledCopy, partition


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
