import cutlass
import cutlass.cute as cute
import cutlass.utils.hopper_helpers as sm90_utils
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.cute.runtime import make_fake_tensor


class TmaMove:
    """Moves (bM, bK) tiles by TMA through a ring of stages."""

    def __init__(self, tile=(64, 64), stages=3, buffer_align_bytes=1024):
        self.tile_mk = tile
        self.num_stages = stages
        self.buffer_align_bytes = buffer_align_bytes
        self.dtype = None
        self.threads_per_cta = 128

    def _smem_layout(self):
        kind = sm90_utils.get_smem_layout_atom(
            cutlass.tensor_utils.LayoutEnum.ROW_MAJOR, self.dtype, self.tile_mk[1]
        )
        atom = warpgroup.make_smem_layout_atom(kind, self.dtype)
        return cute.tile_to_shape(atom, (*self.tile_mk, self.num_stages), order=(0, 1, 2))

    @cute.jit
    def __call__(self, x: cute.Tensor, y: cute.Tensor):
        self.dtype = x.element_type
        staged = self._smem_layout()
        one = cute.slice_(staged, (None, None, 0))
        self.tx_bytes = cute.size_in_bytes(self.dtype, one)
        load_atom, tma_x = cpasync.make_tiled_tma_atom(
            cpasync.CopyBulkTensorTileG2SOp(), x, one, self.tile_mk
        )
        store_atom, tma_y = cpasync.make_tiled_tma_atom(
            cpasync.CopyBulkTensorTileS2GOp(), y, one, self.tile_mk
        )

        @cute.struct
        class Storage:
            full: cute.struct.MemRange[cutlass.Int64, self.num_stages]
            sX: cute.struct.Align[
                cute.struct.MemRange[self.dtype, cute.cosize(staged)], self.buffer_align_bytes
            ]

        self.storage = Storage
        self.kernel(load_atom, tma_x, store_atom, tma_y, staged).launch(
            grid=(x.shape[0] // self.tile_mk[0], 1, 1), block=(self.threads_per_cta, 1, 1)
        )

    @cute.kernel
    def kernel(
        self,
        load_atom: cute.CopyAtom,
        mX: cute.Tensor,
        store_atom: cute.CopyAtom,
        mY: cute.Tensor,
        staged: cute.ComposedLayout,
    ):
        tidx, _, _ = cute.arch.thread_idx()
        bidx, _, _ = cute.arch.block_idx()
        storage = cutlass.memory.SmemAllocator().allocate(self.storage)
        full = storage.full.data_ptr()
        sX = storage.sX.get_tensor(staged.outer, swizzle=staged.inner)
        gX = cute.local_tile(mX, self.tile_mk, (bidx, None))
        gY = cute.local_tile(mY, self.tile_mk, (bidx, None))
        tXsX, tXgX = cpasync.tma_partition(
            load_atom, 0, cute.make_layout(1), cute.group_modes(sX, 0, 2), cute.group_modes(gX, 0, 2)
        )
        tYsY, tYgY = cpasync.tma_partition(
            store_atom, 0, cute.make_layout(1), cute.group_modes(sX, 0, 2), cute.group_modes(gY, 0, 2)
        )
        if tidx == 0:
            for s in cutlass.range_constexpr(self.num_stages):
                cute.arch.mbarrier_init(full + s, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.sync_threads()
        warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        if warp_idx == 0:
            for s in cutlass.range_constexpr(self.num_stages):
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(full + s, self.tx_bytes)
                cute.copy(load_atom, tXgX[None, s], tXsX[None, s], tma_bar_ptr=full + s)
        for s in cutlass.range_constexpr(self.num_stages):
            cute.arch.mbarrier_wait(full + s, 0)
        if warp_idx == 0:
            for s in cutlass.range_constexpr(self.num_stages):
                cute.copy(store_atom, tYsY[None, s], tYgY[None, s])
            cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0)


def tensor(m, k, stride=None, align=16):
    return make_fake_tensor(cutlass.Float16, (m, k), stride=stride or (k, 1), assumed_align=align)


move = TmaMove()
cute.compile(move, tensor(256, 192), tensor(256, 192))
