"""Kernels that read shared memory which nothing writes, and their right twins: run by test_never_written."""

import cutlass
from cutlass import Float32, Int32, const_expr, cute
from cutlass._mlir.dialects import llvm
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor
from cutlass.cutlass_dsl import dsl_user_op

THREADS = 128


@dsl_user_op
def put(pointer: cute.Pointer, value: Float32, *, loc=None, ip=None):
    llvm.store(value.ir_value(loc=loc, ip=ip), pointer.llvm_ptr, loc=loc, ip=ip)


@cute.struct
class Storage:
    """Two members, each of 128 words."""

    scale: cute.struct.MemRange[Float32, THREADS]
    top: cute.struct.MemRange[Float32, THREADS]


@cute.kernel
def conditional(x: cute.Tensor, out: cute.Tensor, how: cutlass.Constexpr):
    """1: a condition that is known removes the store; 2: none does."""
    t = cute.arch.thread_idx()[0]
    row = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(THREADS), 16)
    if const_expr(how != 1):
        row[t] = x[t]
    cute.arch.sync_threads()
    out[t] = x[t] + row[THREADS - 1 - t]  # read


@cute.kernel
def parts(x: cute.Tensor, out: cute.Tensor, how: cutlass.Constexpr):
    """1: no thread's word is written; 2: those of half of the threads are; 3: the value is not used."""
    t = cute.arch.thread_idx()[0]
    row = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(2 * THREADS), 16)
    row[t] = x[t]
    cute.arch.sync_threads()
    found = row[t + (THREADS if const_expr(how != 2) else THREADS // 2)]  # read
    out[t] = found if const_expr(how != 3) else x[t]


@cute.kernel
def counted(x: cute.Tensor, out: cute.Tensor, how: cutlass.Constexpr):
    """Counters that atomics add to: 1: they are not cleared; 2: they are; 3: an exchange sets them."""
    t = cute.arch.thread_idx()[0]
    row = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(THREADS), 16)
    if const_expr(how == 2):
        row[t] = Int32(0)
        cute.arch.sync_threads()
    place = row.iterator + (Int32(x[t]) & (THREADS - 1))
    if const_expr(how == 3):
        cute.arch.atomic_exch(place, Int32(1), scope="cta")
    else:
        cute.arch.atomic_add(place, Int32(1), scope="cta")
    cute.arch.sync_threads()
    out[t] = Float32(row[t])  # read


@cute.kernel
def members(x: cute.Tensor, out: cute.Tensor, how: cutlass.Constexpr):
    """The store stands in a branch that memory decides on. 1: of the other member; 2: of the one read."""
    t = cute.arch.thread_idx()[0]
    storage = cutlass.memory.SmemAllocator().allocate(Storage)
    scale, top = (one.get_tensor(cute.make_layout(THREADS)) for one in (storage.scale, storage.top))
    if x[0] > Float32(1.0):
        if const_expr(how == 1):
            scale[t] = x[t]
        else:
            top[t] = x[t]
    cute.arch.sync_threads()
    out[t] = top[t] + scale[t] if const_expr(how == 3) else top[t]  # read


@cute.kernel
def turns(x: cute.Tensor, n: cute.Tensor, out: cute.Tensor, how: cutlass.Constexpr):
    """A loop whose turns memory counts. 1: it writes the other tensor; 2, 3: a row of this one each time."""
    t = cute.arch.thread_idx()[0]
    memory = cutlass.memory.SmemAllocator()
    rows = memory.allocate_tensor(Float32, cute.make_layout((THREADS, 8)), 16)
    other = memory.allocate_tensor(Float32, cute.make_layout(THREADS), 16)
    if const_expr(how == 3):
        turn, last = Int32(0), n[0]
        while last == 0:
            rows[t, turn] = x[turn]
            turn += 1
            last = n[turn]
    for i in cutlass.range(n[0], unroll=1):
        if const_expr(how == 1):
            other[t] = x[i]
        if const_expr(how == 2):
            rows[t, i] = x[i]
    cute.arch.sync_threads()
    out[t] = rows[t, 5] + (other[t] if const_expr(how == 1) else Float32(0.0))  # read


@cute.kernel
def scattered(x: cute.Tensor, n: cute.Tensor, out: cute.Tensor, how: cutlass.Constexpr):
    """A store at a place that memory tells. 1: in another tensor; 2: in the one that is read."""
    t = cute.arch.thread_idx()[0]
    memory = cutlass.memory.SmemAllocator()
    row, other = (memory.allocate_tensor(Float32, cute.make_layout(2 * THREADS), 16) for _ in range(2))
    place = n[t]
    if const_expr(how == 1):
        other[place] = x[t]
    else:
        row[place] = x[t]
    cute.arch.sync_threads()
    out[t] = row[t + THREADS] + other[place]  # read


@cute.kernel
def copied(x: cute.Tensor, out: cute.Tensor, how: cutlass.Constexpr):
    """A cp.async that few threads execute, and ldmatrix. 1: of the other stage; 2: of that copied to."""
    t = cute.arch.thread_idx()[0]
    tiles = cutlass.memory.SmemAllocator().allocate_tensor(
        cutlass.Float16, cute.make_layout((64, 32, 2), stride=(32, 1, 2048)), 128
    )
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(
        atom, cute.make_layout((32, 4), stride=(4, 1)), cute.make_layout((1, 8))
    ).get_slice(t)
    halves = cute.recast_ptr(x.iterator, dtype=cutlass.Float16)
    source = cute.make_tensor(halves, cute.make_layout((64, 32), stride=(32, 1)))
    if t < 40:
        cute.copy(tiled, tiled.partition_S(source), tiled.partition_D(tiles[None, None, 1]))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    mma = cute.make_tiled_mma(cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, Float32, (16, 8, 16)), (4, 1, 1))
    op = cute.nvgpu.warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4)
    matrix = cute.make_tiled_copy_A(cute.make_copy_atom(op, cutlass.Float16), mma).get_slice(t)
    tile = matrix.partition_S(tiles[None, None, 0 if const_expr(how == 1) else 1])
    found = cute.make_rmem_tensor(tile.shape, cutlass.Float16)
    cute.copy(matrix, tile, found)  # read
    out[t] = found.load().to(Float32).reduce(cute.ReductionOp.ADD, Float32(0.0), 0)


@cute.kernel
def peers(x: cute.Tensor, out: cute.Tensor, how: cutlass.Constexpr):
    """1: nobody writes; 2: the other block of the cluster does."""
    t = cute.arch.thread_idx()[0]
    row = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(THREADS), 16)
    rank = cute.arch.block_idx_in_cluster()
    if const_expr(how == 2):
        there = cute.arch.map_dsmem_ptr(row.iterator + t, Int32(1) - rank)
        put(there, x[t])
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    out[t] = row[t]  # read
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.kernel
def buffers(x: cute.Tensor, out: cute.Tensor, how: cutlass.Constexpr):
    """Two buffers, stored in bulk: 1: the other one; 2: the one that was filled."""
    t = cute.arch.thread_idx()[0]
    made = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout((THREADS, 2)), 128)
    given, taken = (cute.zipped_divide(one, (THREADS,)) for one in (x, out))
    for turn in cutlass.range(4, unroll=1):
        made[t, turn % 2] = given[t, turn]
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_threads()
        if cute.arch.warp_idx() == 0:
            with cute.arch.elect_one():
                bulk = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Float32)
                cute.copy(bulk, made[None, (turn + how) % 2], taken[None, turn])  # read
            cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0)
        cute.arch.sync_threads()


VARIANTS = {
    conditional: 2, parts: 3, counted: 3, members: 2, turns: 3, scattered: 2, copied: 2, peers: 2, buffers: 2,
}  # fmt: skip


@cute.jit
def host(x: cute.Tensor, n: cute.Tensor, out: cute.Tensor, kernel: cutlass.Constexpr, how: cutlass.Constexpr):
    cluster = (2, 1, 1) if const_expr(kernel is peers) else (1, 1, 1)
    given = (x, n, out) if const_expr(kernel in (turns, scattered)) else (x, out)
    kernel(*given, how).launch(grid=cluster, block=(THREADS, 1, 1), cluster=cluster)


if __name__ == "__main__":
    x, out = (make_fake_tensor(Float32, (4096,), (1,), assumed_align=16) for _ in range(2))
    n = make_fake_tensor(Int32, (4096,), (1,), assumed_align=16)
    for kernel, variants in VARIANTS.items():
        for how in range(1, variants + 1):
            cute.compile(host, x, n, out, kernel, how)
