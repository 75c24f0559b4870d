"""Fragments that are stored, or added up, where nothing has written them; variant 0 of each kernel is right.

python -m tests.provenance.unset_values
"""

# ruff: noqa: SIM102 - what is known while tracing stands apart from what a run decides

import cutlass
import cutlass.cute as cute
from cutlass import Boolean, Constexpr, Float32, Int32, const_expr
from cutlass.memory import SmemAllocator

from tests.provenance.first_sums import pointer
from tests.provenance.unset_twins import TWINS

arch = cute.arch
ROWS, COLUMNS, USED = 8, 128, 100


@cute.kernel
def row_sum(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """1 no fill."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held = cute.make_rmem_tensor((4,), Float32)
    if const_expr(how == 0):
        held.fill(0.0)
    for i in cutlass.range_constexpr(4):
        if thread * 4 + i < USED:
            held[i] = x[row, thread * 4 + i]
    total = held[0] + held[1] + held[2] + held[3]
    for i in cutlass.range(3, unroll=1):  # some columns count twice
        total += x[row, thread * 3 + i]
    total = arch.warp_reduction_sum(total)
    if thread == 0:
        y[row, 0] = total


@cute.kernel
def soft_max(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """1 no fill; its maximum and sum go through shared memory."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    shared = SmemAllocator().allocate_tensor(Float32, cute.make_layout(4))
    held, inside = cute.make_rmem_tensor((2,), Float32), cute.make_rmem_tensor((2,), Boolean)
    for i in cutlass.range_constexpr(2):
        inside[i] = thread * 2 + i < USED
    if const_expr(how == 0):
        held.fill(-Float32.inf)
    for i in cutlass.range_constexpr(2):
        if inside[i]:
            held[i] = x[row, thread * 2 + i]
    most = arch.warp_reduction_max(held.load().reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
    if thread % 32 == 0:
        shared[thread // 32] = most
    arch.sync_threads()
    power = cute.math.exp(held.load() - arch.fmax(shared[0], shared[1]))
    total = arch.warp_reduction_sum(power.reduce(cute.ReductionOp.ADD, Float32(0.0), 0))
    if thread % 32 == 0:
        shared[2 + thread // 32] = total
    arch.sync_threads()
    held.store(power / (shared[2] + shared[3]))
    for i in cutlass.range_constexpr(2):
        if inside[i]:
            y[row, thread * 2 + i] = held[i]


@cute.kernel
def add(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """1 the second operand is not copied, 2 copied under a narrower predicate, 3 so is the result stored."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout(32), cute.make_layout(4)).get_slice(thread)
    source, target = copy.partition_S(x[row, None]), copy.partition_D(y[row, None])
    where = copy.partition_S(cute.make_identity_tensor(COLUMNS))
    a, b = cute.make_fragment_like(source), cute.make_fragment_like(source)
    usual, narrow = cute.make_rmem_tensor(where.shape, Boolean), cute.make_rmem_tensor(where.shape, Boolean)
    for i in cutlass.range_constexpr(cute.size(usual)):
        usual[i], narrow[i] = where[i] < USED, where[i] < USED - 10
    cute.copy(atom, source, a, pred=usual)
    if const_expr(how != 1):
        cute.copy(atom, source, b, pred=narrow if how >= 2 else usual)
    a.store(a.load() + b.load())
    cute.copy(atom, a, target, pred=narrow if how == 3 else usual)


@cute.kernel
def epilogue(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """1 rows of C beyond its end are not filled, 2 nor stored."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    own = cute.local_tile(x, (1, 4), (row, thread))
    sums, c = cute.make_rmem_tensor((1, 4), Float32), cute.make_rmem_tensor((1, 4), Float32)
    cute.autovec_copy(own, sums)
    if const_expr(how == 0):
        c.fill(0.0)
    if thread < 20:
        cute.autovec_copy(own, c)
    sums.store(sums.load() + c.load())
    if const_expr(how == 2):
        if thread < 20:
            cute.autovec_copy(sums, cute.local_tile(y, (1, 4), (row, thread)))
    else:
        cute.autovec_copy(sums, cute.local_tile(y, (1, 4), (row, thread)))


@cute.kernel
def transpose(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """Rows go through shared memory. 1 columns beyond USED are stored too, 2 a flag in memory fills them."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    shared = SmemAllocator().allocate_tensor(Float32, cute.make_layout(COLUMNS))
    held = cute.make_rmem_tensor((4,), Float32)
    for i in cutlass.range_constexpr(4):
        if thread * 4 + i < USED:
            held[i] = x[row, thread * 4 + i]
    for i in cutlass.range_constexpr(4):
        shared[thread * 4 + i] = held[i]
    if const_expr(how == 2):
        if flag[0] > 0:
            for i in cutlass.range_constexpr(4):
                if thread * 4 + i >= USED:
                    shared[thread * 4 + i] = Float32(0.0)
    arch.sync_threads()
    for i in cutlass.range_constexpr(4):
        if const_expr(how >= 1) or i * 32 + thread < USED:
            y[row, i * 32 + thread] = shared[i * 32 + thread]


@cute.kernel
def choice(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """1 no choice, 2 a flag in memory chooses."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held = cute.make_rmem_tensor((4,), Float32)
    for i in cutlass.range_constexpr(4):
        if thread * 4 + i < USED:
            held[i] = x[row, thread * 4 + i]
    for i in cutlass.range_constexpr(4):
        value = held[i]
        if const_expr(how == 0):
            value = value if thread * 4 + i < USED else Float32(0.0)
        if const_expr(how == 2):
            value = value if flag[0] == 0 else Float32(0.0)
        y[row, thread * 4 + i] = value


@cute.kernel
def turns(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """1 the first turn adds, too; 2 a number in memory says how many turns there are."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held = cute.make_rmem_tensor((2,), Float32)
    for k in cutlass.range(flag[0] if const_expr(how == 2) else 2, unroll=1):
        for i in cutlass.range(2, unroll=1):
            value = x[row, (k * 32 + thread) * 2 + i]
            if const_expr(how != 1):
                if k == 0:
                    held[i] = value
                else:
                    held[i] = held[i] + value
            else:
                held[i] = held[i] + value
    for i in cutlass.range_constexpr(2):
        y[row, thread * 2 + i] = held[i]


@cute.kernel
def halves(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """Two halves of a number are written one by one. 1 one of them is not; 2 a flag in memory decides."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held = cute.make_rmem_tensor((4,), Float32)
    parts = cute.recast_tensor(held, cutlass.Int16)
    given = cute.recast_tensor(cute.local_tile(x, (1, 4), (row, thread)), cutlass.Int16)
    if const_expr(how != 2):
        for i in cutlass.range_constexpr(8 - how):
            parts[i] = given[i]
    else:
        if flag[0] > 0:
            for i in cutlass.range_constexpr(8):
                parts[i] = given[i]
    for i in cutlass.range_constexpr(4):
        y[row, thread * 4 + i] = held[i]


@cute.kernel
def overwritten(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """The tail of a row is stored, too, and then put right by other threads. 1 only in part, 2 not at all."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held = cute.make_rmem_tensor((1, 4), Float32)
    for i in cutlass.range_constexpr(4):
        if thread * 4 + i < USED - 2:
            held[i] = x[row, thread * 4 + i]
    if thread < USED // 4:
        cute.autovec_copy(held, cute.local_tile(y, (1, 4), (row, thread)))
    arch.sync_threads()
    if thread < 2 - how:
        y[row, USED - 1 - thread] = Float32(0.0)


@cute.kernel
def padded(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """Rows of y end at USED; what lies between them is nobody's. 1 what is loaded ends earlier."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held = cute.make_rmem_tensor((4,), Float32)
    for i in cutlass.range_constexpr(4):
        if thread * 4 + i < USED - how:
            held[i] = x[row, thread * 4 + i]
    for i in cutlass.range_constexpr(4):
        y[row, thread * 4 + i] = held[i]


@cute.kernel
def counts(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """Whole numbers, 0 times which is 0. 1 no factor."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held = cute.make_rmem_tensor((1,), Int32)
    if thread < 20:
        held[0] = flag[0]
    mask = Int32(1) if thread < 20 else Int32(0)
    y[row, thread] = Float32(held[0] * mask if const_expr(how == 0) else held[0])


@cute.kernel
def row_sums(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """A fragment's two rows are added up. 1 the last element of the second is unset."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held, sums = cute.make_rmem_tensor((2, 4), Float32), cute.make_rmem_tensor((2,), Float32)
    for i in cutlass.range_constexpr(8 - how):
        held[i] = x[row, thread + 8 * i]
    sums.store(held.load().reduce(cute.ReductionOp.ADD, Float32(0.0), reduction_profile=(None, 1)))
    for i in cutlass.range_constexpr(2):
        y[row, thread + 32 * i] = sums[i]


KERNELS = {
    "row_sum": (row_sum, 2), "soft_max": (soft_max, 2), "add": (add, 4), "epilogue": (epilogue, 3),
    "transpose": (transpose, 3), "choice": (choice, 3), "turns": (turns, 3), "halves": (halves, 3),
}  # fmt: skip
KERNELS |= TWINS
SHORT = {  # their rows end at USED
    "overwritten": (overwritten, 3), "padded": (padded, 2), "counts": (counts, 2), "row_sums": (row_sums, 2),
}  # fmt: skip


@cute.jit
def run(x: cute.Pointer, y: cute.Pointer, flag: cute.Pointer, name: Constexpr, how: Constexpr):
    """One kernel, or all of them."""
    rows = cute.make_layout((ROWS, COLUMNS), stride=(COLUMNS, 1))
    given = cute.make_tensor(x, rows), cute.make_tensor(y, rows), cute.make_tensor(flag, cute.make_layout(1))
    short = given[0], cute.make_tensor(y, cute.make_layout((ROWS, USED), stride=(COLUMNS, 1))), given[2]
    for one, (kernel, count) in (KERNELS | SHORT).items():
        for variant in cutlass.range_constexpr(count):
            if const_expr(name in ("", one) and how in (-1, variant)):
                threads = 64 if one == "soft_max" else 32
                kernel(*(short if one in SHORT else given), variant).launch(
                    grid=(ROWS, 1, 1), block=(threads, 1, 1)
                )


@cute.kernel
def tail(x: cute.Tensor, y: cute.Tensor):
    """A sum of rows that may end anywhere, and wrong if they end at 1024 and no longer ones do."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held, more = cute.make_rmem_tensor((4,), Float32), cute.make_rmem_tensor((1,), Float32)
    if x.shape[1] != 1024:
        more.fill(0.0)
    for i in cutlass.range_constexpr(4):
        if thread * 4 + i < x.shape[1]:
            held[i] = x[row, thread * 4 + i]
    total = arch.warp_reduction_sum(held.load().reduce(cute.ReductionOp.ADD, Float32(0.0), 0))
    if thread == 0:
        y[row] = total + more[0]


@cute.kernel
def far(x: cute.Tensor, y: cute.Tensor):
    """A sum over tiles of 4096 columns: of fewer there is none."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held = cute.make_rmem_tensor((1,), Float32)
    for k in cutlass.range(x.shape[1] // 4096, unroll=1):
        held[0] = x[row, thread] if k == 0 else held[0] + x[row, k * 32 + thread]
    y[row] = held[0]


@cute.jit
def run_tail(x: cute.Tensor, y: cute.Tensor):
    """Its rows and columns are dynamic."""
    for kernel in (tail, far):
        kernel(x, y).launch(grid=(x.shape[0], 1, 1), block=(32, 1, 1))


def rows_of(rows: int | None, columns: int | None) -> tuple[cute.Tensor, cute.Tensor]:
    """A tensor and one of a number a row; None for a dynamic extent."""
    m, n = (cute.sym_int() if one is None else one for one in (rows, columns))
    made = cute.runtime.make_fake_compact_tensor
    return made(Float32, (m, n), stride_order=(1, 0)), made(Float32, (m,), stride_order=(0,))


if __name__ == "__main__":
    cute.compile(run, pointer(Float32), pointer(Float32), pointer(Int32), "", -1)
    cute.compile(run_tail, *rows_of(None, None))
