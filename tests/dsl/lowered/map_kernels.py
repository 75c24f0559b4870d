"""Tensor maps and a shared tile of other swizzles: `python -m tests.dsl.lowered.map_kernels SPECS [--run]`.

SPECS is a JSON file with a list of `test_maps.generate`'s specifications; each is compiled. A specification's
`step` (elements, 0 without it) is how far the host moves the base of the tensor before it makes the maps.
With --run each runs on a GPU, and a line of JSON for each says where its elements came from.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_compact_tensor
from cutlass.memory import SmemAllocator

ROWS = 64
BF16 = cutlass.BFloat16


@cute.kernel
def moved(
    load: cute.CopyAtom,
    source: cute.Tensor,
    store: cute.CopyAtom,
    target: cute.Tensor,
    rows: cute.Tensor,
    width: cutlass.Constexpr,
    bits: cutlass.Constexpr,
    first: cutlass.Constexpr,
    second: cutlass.Constexpr,
):
    """`first` writes the tile (tma, rows), `second` reads it (tma, rows, sum)."""
    thread, _, _ = cute.arch.thread_idx()
    memory = SmemAllocator()
    barrier = memory.allocate_array(cutlass.Int64, 1)
    swizzle = cute.make_swizzle(bits, 4, 3) if cutlass.const_expr(bits) else None
    layout = cute.make_layout((ROWS, width), stride=(width, 1))
    tile = memory.allocate_tensor(BF16, layout, byte_alignment=1024, swizzle=swizzle)
    whole = cute.group_modes(tile, 0, 2)
    if cutlass.const_expr(first == "tma"):
        part = cute.group_modes(cute.local_tile(source, (ROWS, width), (0, 0)), 0, 2)
        here, there = cpasync.tma_partition(load, 0, cute.make_layout(1), whole, part)
        if thread == 0:
            cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.sync_threads()
        if thread < 32:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(barrier, 2 * ROWS * width)
            cute.copy(load, there, here, tma_bar_ptr=barrier)
        cute.arch.mbarrier_wait(barrier, 0)
    else:
        cute.autovec_copy(rows[thread, None], tile[thread, None])
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if cutlass.const_expr(second == "tma"):
        part = cute.group_modes(cute.local_tile(target, (ROWS, width), (0, 0)), 0, 2)
        here, there = cpasync.tma_partition(store, 0, cute.make_layout(1), whole, part)
        if thread < 32:
            cute.copy(store, here, there)
            cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0, read=False)
    elif cutlass.const_expr(second == "rows"):
        cute.autovec_copy(tile[thread, None], rows[thread, None])
    else:
        total = cutlass.Float32(0)
        for i in cutlass.range(width):
            total = total + tile[thread, i].to(cutlass.Float32)
        rows[thread, 0] = total.to(BF16)


def _described(bits: int, width: int) -> Any:
    layout = cute.make_layout((ROWS, width), stride=(width, 1))
    return cute.make_composed_layout(cute.make_swizzle(bits, 4, 3), 0, layout) if bits else layout


@cute.jit
def launch(
    given: cute.Tensor,
    rows: cute.Tensor,
    width: cutlass.Constexpr,
    bits: cutlass.Constexpr,
    loads: cutlass.Constexpr,
    stores: cutlass.Constexpr,
    first: cutlass.Constexpr,
    second: cutlass.Constexpr,
    step: cutlass.Constexpr = 0,
):
    """The maps are made of the swizzles `loads` and `stores`, the tile has `bits`."""
    tile = (ROWS, width)
    if cutlass.const_expr(step):
        given = cute.make_tensor(given.iterator + step, given.layout)
    load, source = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SOp(), given, _described(loads, width), tile
    )
    store, target = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileS2GOp(), given, _described(stores, width), tile
    )
    moved(load, source, store, target, rows, width, bits, first, second).launch(
        grid=(1, 1, 1), block=(ROWS, 1, 1)
    )


NAMES = ("width", "bits", "loads", "stores", "first", "second")
PITCH = 256


def main() -> None:
    """Compile every specification, or run it."""
    for one in json.loads(Path(sys.argv[1]).read_text()):
        given = make_fake_compact_tensor(BF16, (PITCH, PITCH), stride_order=(1, 0), assumed_align=16)
        rows = make_fake_compact_tensor(BF16, (ROWS, one["width"]), stride_order=(1, 0), assumed_align=16)
        fixed = *(one[name] for name in NAMES), one.get("step", 0)
        if "--run" in sys.argv:
            print(json.dumps(run(one, *fixed)), flush=True)
        else:
            cute.compile(launch, given, rows, *fixed)


def run(one: dict[str, Any], *fixed: Any) -> dict[str, Any]:
    """Run one: how many elements are not those of its place, and by how many all of them are moved."""
    import torch
    from cutlass.cute.runtime import from_dlpack

    width, step = one["width"], one.get("step", 0)
    numbers = torch.randint(0, 256, (PITCH * PITCH + 64,), generator=torch.Generator().manual_seed(1))
    memory = numbers.to(torch.bfloat16).cuda()
    rows = torch.randint(0, 256, (ROWS, width), generator=torch.Generator().manual_seed(2))
    rows = rows.to(torch.bfloat16).cuda()

    def tile(at: int) -> Any:
        """The first tile of the tensor that begins at element `at`."""
        return memory[at : at + PITCH * PITCH].view(PITCH, PITCH)[:ROWS, :width].clone()

    came = tile(step) if one["first"] == "tma" else rows.clone()
    near = {by: tile(step - by) for by in range(min(step, 7) + 1)}
    given = from_dlpack(memory[: PITCH * PITCH].view(PITCH, PITCH), assumed_align=16)
    launch(given, from_dlpack(rows, assumed_align=16), *fixed)
    torch.cuda.synchronize()
    went = tile(step) if one["second"] == "tma" else rows
    moved = next((by for by, tile in near.items() if torch.equal(tile, went)), None)
    return {"differ": int((came != went).sum()), "moved": moved}


if __name__ == "__main__":
    main()
