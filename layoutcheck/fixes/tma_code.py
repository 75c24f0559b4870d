"""The code of TMA copies, host part and kernel part, for fixes to paste."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

from layoutcheck.atoms.tma.plan import gmem_side
from layoutcheck.copies.copy import Copy, Im2col, TmaTile
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes import code

OPS = {
    "load": "CopyBulkTensorTileG2SOp",
    "store": "CopyBulkTensorTileS2GOp",
    "reduce": "CopyReduceBulkTensorTileS2GOp",
    "gather4": "CopyBulkTensor2DGather4G2SOp",
    "scatter4": "CopyBulkTensor2DScatter4S2GOp",
    "im2col load": "CopyBulkTensorIm2ColG2SOp",
    "im2col store": "CopyBulkTensorIm2ColS2GOp",
}


def transfer(copy: Copy, gmem: Memref, smem: Memref, tile: TmaTile) -> Copy:
    """The copy between other tensors, of a tile of its own; what its barrier waits for is left open."""
    src, dst = (gmem, smem) if gmem_side(copy) == "src" else (smem, gmem)
    return replace(copy, src=src, dst=dst, tma=tile, issue=None)


def make_code(op: str, smem: Memref, tiler: tuple[int, ...], more: str = "") -> list[str]:
    """The layout, and the atom made of it, up to where the kernel begins; `op` is one of `OPS`."""
    composed = "layout"
    make = "make_im2col_tma_atom" if op.startswith("im2col") else "make_tiled_tma_atom"
    if smem.swizzle is not None:
        composed = f"cute.make_composed_layout({code.swizzle_code(smem.swizzle)}, 0, layout)"
    elif op.startswith("im2col"):  # which takes no plain layout
        composed = "cute.make_composed_layout(cute.make_swizzle(0, 4, 3), 0, layout)"
    named = f", {more}" if more else ""
    return [
        f"layout = {code.layout_code(smem.layout)}",
        "# on the host, in @cute.jit",
        f"atom, tma_tensor = cpasync.{make}(cpasync.{OPS[op]}(), gmem, {composed}, "
        f"{code.tree_code(tiler)}{named})",
        "# in the kernel",
    ]


def _convolution_code(im2col: Im2col) -> str:
    """What make_im2col_tma_atom is told of a load."""
    names = {"lower_srt": "lower_srt", "dilation": "stride_srt"}
    values = ((names.get(name, f"{name}_whd"), value) for name, value in asdict(im2col).items())
    return ", ".join(f"{name}={code.tree_code(value)}" for name, value in values)


def partition_code(tiles: str, modes: int) -> str:
    """The partition of `smem` and of coordinates by that name, of so many modes each."""
    return (
        "sA, gA = cpasync.tma_partition(atom, 0, cute.make_layout(1), "
        f"cute.group_modes(smem, 0, {modes}), cute.group_modes({tiles}, 0, {modes}))"
    )


def issue_code(kind: str, there: str, here: str, count: int, loop: str = "") -> list[str]:
    """The copy between partitions, with the barrier of a load of `count` bytes or the group of a store."""
    head = [f"    {loop}"] if loop else []
    pad = "    " * (1 + bool(loop))
    if kind == "load":
        return [
            "mbar = allocator.allocate_array(cutlass.Int64, 1)",
            "if cute.arch.warp_idx() == 0:",
            "    with cute.arch.elect_one():",
            "        cute.arch.mbarrier_init(mbar, 1)",
            "cute.arch.mbarrier_init_fence()",
            "cute.arch.sync_threads()",
            "if cute.arch.warp_idx() == 0:  # the whole warp: the copy elects a thread",
            "    with cute.arch.elect_one():",
            f"        cute.arch.mbarrier_arrive_and_expect_tx(mbar, {count})",
            *head,
            f"{pad}cute.copy(atom, {there}, {here}, tma_bar_ptr=mbar)",
            "cute.arch.mbarrier_wait(mbar, 0)",
        ]
    return [
        "cute.arch.fence_view_async_shared()  # after writing the tile",
        "cute.arch.sync_threads()",
        "if cute.arch.warp_idx() == 0:",
        *head,
        f"{pad}cute.copy(atom, {here}, {there})",
        "    cute.arch.cp_async_bulk_commit_group()",
        "    cute.arch.cp_async_bulk_wait_group(0)",
    ]


def tile_code(kind: str, smem: Memref, tile: TmaTile) -> str:
    """One copy of one tile."""
    modes = len(tile.tiler)
    op, told = kind, ""
    if tile.im2col is not None:
        op, told = f"im2col {kind}", _convolution_code(tile.im2col) if kind == "load" else ""
    lines: list[Any] = [
        *make_code(op, smem, tile.tiler, told),
        f"smem = {code.allocation_code(smem, 'layout')}",
        f"tile = cute.local_tile(tma_tensor, {code.tree_code(tile.tiler)}, coord)",
        partition_code("tile", modes),
        *issue_code(kind, "gA", "sA", math.prod(tile.tiler) * smem.dtype.bits // 8),
    ]
    return "\n".join(lines)
