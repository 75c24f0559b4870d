"""A grid that is a number, and a loop over tiles that goes on by its size: blocks do several tiles."""

from __future__ import annotations

from pathlib import Path

from tests.order.looked import orders_of

# A tile is turned around in shared memory; 1: a warp may begin the next tile while others read this one. The
# other kernel stores two tiles in turn to two stages of tensor memory; 1: columns are there for one of them.
KERNELS = """
import cutlass
from cutlass import Constexpr, Float32, Int32, const_expr, cute
from cutlass.cute import arch
from cutlass.cute.nvgpu import tcgen05
from cutlass.cute.runtime import make_fake_tensor
T = 256

@cute.kernel
def turned(x: cute.Tensor, y: cute.Tensor, tiles: Int32, how: Constexpr):
    thread = arch.thread_idx()[0]
    tile = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(T), 16)
    for i in cutlass.range(arch.block_idx()[0], tiles, arch.grid_dim()[0], unroll=1):
        tile[thread] = x[i * T + thread]
        arch.sync_threads()
        y[i * T + thread] = tile[T - 1 - thread]
        if const_expr(how == 0):
            arch.sync_threads()

@cute.kernel
def staged(x: cute.Tensor, y: cute.Tensor, tiles: Int32, how: Constexpr):
    thread = arch.thread_idx()[0]
    warp = arch.make_warp_uniform(arch.warp_idx())
    holder = arch.alloc_smem(Int32, 1)
    if warp == 0:
        arch.alloc_tmem(64 if how == 0 else 32, holder)
    arch.sync_threads()
    layout = cute.make_layout((128, 32, 2), stride=(65536, 1, 32))
    memory = cute.make_tensor(arch.retrieve_tmem_ptr(Float32, 16, holder), layout)
    atom = cute.make_copy_atom(tcgen05.St32x32bOp(tcgen05.Repetition.x32), Float32)
    mine = tcgen05.make_tmem_copy(atom, memory[None, None, 0]).get_slice(thread)
    got = cute.make_rmem_tensor(mine.partition_S(cute.make_identity_tensor((128, 32))).shape, Float32)
    got.fill(1.0)
    count = Int32(0)
    for i in cutlass.range(arch.block_idx()[0], tiles, arch.grid_dim()[0], unroll=1):
        cute.copy(mine, got, mine.partition_D(memory[None, None, count % 2]))
        arch.fence_view_async_tmem_store()
        count += 1
    arch.sync_threads()
    if warp == 0:
        arch.relinquish_tmem_alloc_permit()
        arch.dealloc_tmem(memory.iterator, 64 if how == 0 else 32)

@cute.jit
def run(x: cute.Tensor, y: cute.Tensor, which: Constexpr, how: Constexpr):
    kernel = (turned, staged)[which]
    kernel(x, y, cute.ceil_div(x.shape[0], T), how).launch(grid=(148, 1, 1), block=((T, 128)[which], 1, 1))

for which in range(2):
    for how in range(2):
        extent = cute.sym_int(divisibility=T)
        data = [make_fake_tensor(Float32, (extent,), (1,), assumed_align=16) for _ in "xy"]
        cute.compile(run, *data, which, how)
"""


def test_a_block_goes_on_to_the_next_tile(tmp_path: Path) -> None:
    turned, early, staged, narrow = orders_of(KERNELS, tmp_path, 4, arch="sm_100a")
    assert turned.findings == staged.findings == ()
    assert [(one.code, one.severity) for one in early.findings] == [("LC504", "wrong")]
    assert [(one.code, one.severity) for one in narrow.findings] == [("LC516", "wrong")]
    assert "up to column 64" in narrow.findings[0].message
