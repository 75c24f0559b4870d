"""Tensor memory: 4 warps store, 4 read, warp 0 frees; with and without tcgen05.wait::st and a barrier."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import check_module

KERNELS = """\
import cutlass, cutlass.cute as cute
from cutlass import Constexpr, Float32, Int32, const_expr
from cutlass.cute.nvgpu import tcgen05
from cutlass.cute.runtime import make_ptr
arch = cute.arch
@cute.kernel
def kernel(out: cute.Tensor, how: Constexpr):
    tidx, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    holder = arch.alloc_smem(Int32, 1)
    if warp == 0:
        arch.alloc_tmem(32, holder)
    arch.sync_threads()
    memory = cute.make_tensor(
        arch.retrieve_tmem_ptr(Float32, 16, holder), cute.make_layout((128, 32), stride=(65536, 1))
    )
    load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32), Float32)
    store = cute.make_copy_atom(tcgen05.St32x32bOp(tcgen05.Repetition.x32), Float32)
    mine = tcgen05.make_tmem_copy(load, memory).get_slice(tidx % 128)
    its = tcgen05.make_tmem_copy(store, memory).get_slice(tidx % 128)
    got = cute.make_rmem_tensor(mine.partition_D(cute.make_identity_tensor((128, 32))).shape, Float32)
    got.fill(1.0)
    if warp < 4:
        cute.copy(its, got, its.partition_D(memory))
        if const_expr(how != 2):
            arch.fence_view_async_tmem_store()
    arch.sync_threads()
    if warp >= 4:
        cute.copy(mine, mine.partition_S(memory), got)
        arch.fence_view_async_tmem_load()
        out[tidx] = got[0]
    if const_expr(how != 1):
        arch.sync_threads()
    if warp == 0:
        arch.relinquish_tmem_alloc_permit()
        arch.dealloc_tmem(memory.iterator, 32)
@cute.jit
def run(out: cute.Pointer, how: Constexpr):
    kernel(cute.make_tensor(out, cute.make_layout(256)), how).launch(grid=[1, 1, 1], block=[256, 1, 1])
for how in range(3):
    cute.compile(run, make_ptr(Float32, 0, cute.AddressSpace.gmem, assumed_align=16), how)
"""


def test_columns_are_read_after_the_stores_and_freed_after_the_reads(tmp_path: Path) -> None:
    pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
    (tmp_path / "kernels.py").write_text(KERNELS)
    with Lowering(copies=False, order=check_module) as lowering:
        found = trace_script(
            str(tmp_path / "kernels.py"), launch=False, arch="sm_100a", timeout_s=120, lowering=lowering
        )
    assert found.failures == () and [order.problem for order in found.orders] == [""] * 3
    told = [[(one.code, one.title, one.message) for one in order.findings] for order in found.orders]
    assert told[0] == []
    ((code, title, _),) = told[1]
    assert code == "LC504" and "reads (tcgen05.ld)" in title and "frees (tcgen05.dealloc)" in title
    (code, title, message), freed = told[2]
    assert code == "LC501" and "reads (tcgen05.ld)" in title and "still writes (tcgen05.st)" in title
    assert "Missing: tcgen05.wait::st" in message and "frees" in freed[1]
