"""Programs whose shared tensors reach farther than the members of the structs that they are views of."""

from __future__ import annotations

ELEMENTS = """import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor

@cute.kernel
def k(mA: cute.Tensor, mC: cute.Tensor, sl: cute.Layout):
    tidx, _, _ = cute.arch.thread_idx()
    @cute.struct
    class Storage:
        a: cute.struct.Align[cute.struct.MemRange[cutlass.Float32, 64 * 64], 128]
        b: cute.struct.Align[cute.struct.MemRange[cutlass.Float32, 64 * 64], 128]
    smem = cutlass.memory.SmemAllocator()
    st = smem.allocate(Storage)
    sA = st.a.get_tensor(sl)
    sB = st.b.get_tensor(sl)
    for i in range(64):
        sA[tidx, i] = mA[tidx, i]
        sB[tidx, i] = mA[tidx, i] + 1
    cute.arch.sync_threads()
    for i in range(64):
        mC[i, tidx] = sA[i, tidx] + sB[i, tidx]

@cute.jit
def host(mA: cute.Tensor, mC: cute.Tensor):
    sl = cute.make_layout((64, 64), stride=(65, 1))
    k(mA, mC, sl).launch(grid=[1, 1, 1], block=[64, 1, 1])

a = make_fake_tensor(cutlass.Float32, (64, 64), stride=(64, 1), assumed_align=16)
c = make_fake_tensor(cutlass.Float32, (64, 64), stride=(64, 1), assumed_align=16)
cute.compile(host, a, c)
"""

COPY = """import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor
M, K, S = 64, 64, 3

class Load:
    @cute.kernel
    def k(self, mA: cute.Tensor, mC: cute.Tensor, tc: cute.TiledCopy, sl: cute.Layout):
        tidx, _, _ = cute.arch.thread_idx()
        bx, _, _ = cute.arch.block_idx()
        smem = cutlass.memory.SmemAllocator()
        storage = smem.allocate(self.shared_storage)
        sA = storage.sA.get_tensor(sl)
        sB = storage.sB.get_tensor(cute.make_layout(256))
        gA = cute.local_tile(mA, (M, K), (bx, 0))
        t = tc.get_slice(tidx)
        cute.copy(tc, t.partition_S(gA), t.partition_D(sA))
        cute.arch.cp_async_commit_group()
        sB[tidx] = cutlass.Float16(1)
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        if tidx < M:
            mC[bx * M + tidx] = sA[tidx, 0] + sB[tidx]

    @cute.jit
    def __call__(self, mA: cute.Tensor, mC: cute.Tensor):
        atom = cute.make_copy_atom(cpasync.CopyG2SOp(), mA.element_type, num_bits_per_copy=128)
        tc = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8)))
        sA_layout = cute.make_layout((M, K), stride=(K + 8, 1))
        @cute.struct
        class SharedStorage:
            sA: cute.struct.Align[cute.struct.MemRange[mA.element_type, M * K], 128]
            sB: cute.struct.Align[cute.struct.MemRange[mA.element_type, 256], 128]
        self.shared_storage = SharedStorage
        self.k(mA, mC, tc, sA_layout).launch(grid=[mA.shape[0] // M, 1, 1], block=[128, 1, 1])

a = make_fake_tensor(cutlass.Float16, (1024, 64), stride=(64, 1), assumed_align=16)
c = make_fake_tensor(cutlass.Float16, (1024,), stride=(1,), assumed_align=16)
cute.compile(Load(), a, c)
"""
