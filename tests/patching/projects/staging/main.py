import cutlass
import cutlass.cute as cute
from copies import g2s_copy, s2g_copy
from cutlass.cute.runtime import make_fake_tensor

TILE = (32, 128)
PITCH = 144
ALIGN = 16
THREADS = 256


@cute.struct
class Shared:
    counter: cute.struct.MemRange[cutlass.Int32, 1]
    tile: cute.struct.Align[cute.struct.MemRange[cutlass.Int8, 32 * PITCH], ALIGN]


@cute.kernel
def stage_kernel(
    x: cute.Tensor, y: cute.Tensor, layout: cute.Layout, g2s: cute.TiledCopy, s2g: cute.TiledCopy
):
    tid, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    shared = cutlass.memory.SmemAllocator().allocate(Shared)
    tile = shared.tile.get_tensor(layout)
    mine = g2s.get_slice(tid)
    cute.copy(atom=g2s, src=mine.partition_S(cute.local_tile(x, TILE, (row, 0))), dst=mine.partition_D(tile))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    out = s2g.get_slice(tid)
    src = out.partition_S(tile)
    held = cute.make_fragment_like(src)
    cute.autovec_copy(src, held)
    cute.copy(s2g, held, out.partition_D(cute.local_tile(y, TILE, (row, 0))))


@cute.jit
def stage(x: cute.Tensor, y: cute.Tensor):
    layout = cute.make_layout(TILE, stride=(PITCH, 1))
    g2s = g2s_copy(x.element_type, THREADS, TILE[1])
    s2g = s2g_copy(y.element_type, THREADS, TILE[1])
    stage_kernel(x, y, layout, g2s, s2g).launch(
        grid=(cute.ceil_div(x.shape[0], TILE[0]), 1, 1), block=(THREADS, 1, 1)
    )


def buffer(rows, pitch=128, align=16):
    return make_fake_tensor(cutlass.Int8, (rows, 128), stride=(pitch, 1), assumed_align=align)


small = buffer(32), buffer(32)
large = buffer(256, pitch=256), buffer(256)
cute.compile(stage, *small)
cute.compile(stage, *large)
