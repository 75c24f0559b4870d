"""Several warps that start one copy to a peer write the same bytes there: no race."""

from __future__ import annotations

from pathlib import Path

from tests.order.looked import orders_of

# Each of two warps copies 128 bytes to the peer: both the same (0), each its own half to the same place (1),
# the second one half as many of the same bytes (2), or what it has filled anew meanwhile (3).
KERNELS = """
import cutlass
from cutlass import Float32, Constexpr, cute
from cutlass.cute.runtime import make_fake_tensor
from cutlass.experimental import primitives as prims
SMEM = cutlass.AddressSpace.smem
@cute.kernel
def copied(x: cute.Tensor, how: Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    staged = cutlass.Array(Float32, 64, space=SMEM, alignment=128)
    received = cutlass.Array(Float32, 64, space=SMEM, alignment=128)
    bar = cutlass.Array(cutlass.Int64, 1, space=SMEM, alignment=8)
    peer = prims.cluster_ctarank() ^ 1
    staged[tidx] = x[tidx]
    if warp == 0:
        if prims.elect_sync():
            prims.mbarrier_init(bar, 1)
            prims.mbarrier_expect_tx(bar, 256)
            prims.mbarrier_arrive(bar)
    prims.fence_mbarrier_init()
    cute.arch.fence_view_async_shared()
    prims.barrier_cluster_arrive()
    prims.barrier_cluster_wait()
    if prims.elect_sync():
        source = staged.subview(warp * 32 if how == 1 else 0)
        size = 128 - 64 * warp if how == 2 else 128
        if how == 3 and warp == 1:
            staged[0] = Float32(0.0)
            cute.arch.fence_view_async_shared()
        prims.cp_async_bulk_shared_cluster_shared_cta(
            prims.mapa(received, peer), source, prims.mapa(bar, peer), size
        )
    while not prims.mbarrier_try_wait_parity(bar, 0):
        pass
    if tidx < 32:
        x[tidx] = received[tidx]
    prims.barrier_cluster_arrive()
    prims.barrier_cluster_wait()
@cute.jit
def run(x: cute.Tensor, how: Constexpr):
    copied(x, how).launch(grid=(2, 1, 1), block=(64, 1, 1), cluster=(2, 1, 1))
for how in range(4):
    cute.compile(run, make_fake_tensor(Float32, (64,), stride=(1,), assumed_align=16), how)
"""


def test_one_copy_by_two_warps(tmp_path: Path) -> None:
    """NVIDIA's split-K tutorial starts each copy once a warp, and counts the bytes of all."""
    orders = orders_of(KERNELS, tmp_path, 4, "sm_100a")
    same, apart, less, filled = ([(f.code, f.severity) for f in order.findings] for order in orders)
    assert same == [] and apart == [("LC501", "wrong")] and less == [("LC501", "wrong"), ("LC507", "wrong")]
    assert ("LC503", "wrong") in filled and ("LC501", "wrong") not in filled
