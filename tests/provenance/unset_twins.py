"""Right kernels that a rule about unset registers may take for wrong, and a broken twin of each; 0 is right.

They are run by `tests.provenance.unset_values`.
"""

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Constexpr, Float32, Int32, Int64, const_expr
from cutlass._mlir.dialects import llvm
from cutlass.cutlass_dsl import T
from cutlass.memory import SmemAllocator

arch = cute.arch
USED = 100


@cute.kernel
def online(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """A softmax over tiles, -inf where a row has ended. 1 maximum and sum begin with nothing."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    most, total = cute.make_rmem_tensor((1,), Float32), cute.make_rmem_tensor((1,), Float32)
    scores = cute.make_rmem_tensor((2,), Float32)
    if const_expr(how == 0):
        most.fill(-Float32.inf)
        total.fill(0.0)
    for k in cutlass.range(2, unroll=1):
        for i in cutlass.range_constexpr(2):
            scores[i] = x[row, k * 64 + i * 32 + thread]
            if k * 64 + i * 32 + thread >= USED:
                scores[i] = -Float32.inf
        before = most[0]
        here = arch.warp_reduction_max(scores.load().reduce(cute.ReductionOp.MAX, before, 0))
        power = cute.math.exp(scores.load() - here)
        most[0] = here
        total[0] = total[0] * cute.math.exp(before - here) + power.reduce(
            cute.ReductionOp.ADD, Float32(0.0), 0
        )
    y[row, thread] = arch.warp_reduction_sum(total[0])
    y[row, thread + 32] = most[0]


@cute.kernel
def residue(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """The tile that is not full comes first; each is loaded while the one before is added. 1 no fill."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held = cute.make_rmem_tensor((2,), Float32)
    total = Float32(0.0)
    if const_expr(how == 0):
        held.fill(0.0)
    for i in cutlass.range_constexpr(2):
        if 64 + thread * 2 + i < USED:
            held[i] = x[row, 64 + thread * 2 + i]
    for _ in cutlass.range(2, unroll=1):
        total += held[0] + held[1]
        for i in cutlass.range_constexpr(2):
            held[i] = x[row, thread * 2 + i]
    y[row, thread] = total


@cute.kernel
def stages(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """Two stages in registers in turn, which a `while` loop fills ahead. 1 the first is not filled."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held = cute.make_rmem_tensor((2,), Float32)
    if const_expr(how == 0):
        held[0] = x[row, thread]
    total, k = Float32(0.0), Int32(0)
    while k < 2:
        if k < 1:
            held[(k + 1) % 2] = x[row, (k + 1) * 32 + thread]
        total += held[k % 2]
        k += 1
    y[row, thread] = total


@cute.kernel
def elected(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """One lane loads and stores. 1 all store."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held = cute.make_rmem_tensor((1,), Float32)
    with arch.elect_one():
        held[0] = x[row, 0]
    if const_expr(how == 0):
        with arch.elect_one():
            y[row, thread] = held[0] * 2.0
    else:
        y[row, thread] = held[0] * 2.0


@cute.kernel
def roles(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """Half of the lanes load, the others store what went through shared memory. 1 what is in registers."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    shared = SmemAllocator().allocate_tensor(Float32, cute.make_layout(16))
    held = cute.make_rmem_tensor((1,), Float32)
    if thread < 16:
        held[0] = x[row, thread]
        shared[thread] = held[0]
    arch.sync_threads()
    if thread >= 16:
        if const_expr(how == 0):
            held[0] = shared[thread - 16]
        y[row, thread] = held[0] * 2.0


@cute.kernel
def rounded(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """Three of four lanes of a vector are loaded, all are rounded, three are stored. 1 the fourth is, too."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held, small = cute.make_rmem_tensor((4,), Float32), cute.make_rmem_tensor((4,), BFloat16)
    for i in cutlass.range_constexpr(3):
        held[i] = x[row, thread * 3 + i]
    small.store(held.load().to(BFloat16))
    for i in cutlass.range_constexpr(3 if how == 0 else 4):
        y[row, thread + 32 * i] = small[i].to(Float32)


@cute.kernel
def pairs(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """PTX packs two numbers, of which one is used. 1 the other is, too."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held, both = cute.make_rmem_tensor((2,), Float32), cute.make_rmem_tensor((1,), Int64)
    held[0] = x[row, thread]
    given = [held[i].ir_value() for i in range(2)]
    packed = llvm.inline_asm(T.i64(), given, "mov.b64 $0, {$1, $2};", "=l,f,f", has_side_effects=False)
    both[0] = Int64(packed)
    y[row, thread] = cute.recast_tensor(both, Float32)[0]
    if const_expr(how == 1):
        y[row, thread + 32] = held[1] * 2.0


@cute.kernel
def scaled(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """What lies behind a row's end is not chosen. 1 it is multiplied by 0."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held, inside = cute.make_rmem_tensor((4,), Float32), cute.make_rmem_tensor((4,), cutlass.Boolean)
    for i in cutlass.range_constexpr(4):
        inside[i] = thread * 4 + i < USED
        if inside[i]:
            held[i] = x[row, thread * 4 + i]
    if const_expr(how == 0):
        held.store(cute.where(inside.load(), held.load(), cute.full_like(held, 0.0)))
    for i in cutlass.range_constexpr(4):
        factor = Float32(1.0) if thread * 4 + i < USED else Float32(0.0)
        y[row, thread * 4 + i] = held[i] * factor


@cute.kernel
def long_loops(x: cute.Tensor, y: cute.Tensor, flag: cute.Tensor, how: Constexpr):
    """Two loops of more turns than are followed; each writes in its last. 1 they do not write at all."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held = cute.make_rmem_tensor((2,), Float32)
    for i in cutlass.range_constexpr(2):
        for k in cutlass.range(4200 if how == 0 else 2, unroll=1):
            if k == 4199:
                held[i] = x[row, thread]
    y[row, thread] = held[0] + 1.0
    y[row, thread + 32] = held[1] + 1.0


TWINS = {
    "online": (online, 2), "residue": (residue, 2), "stages": (stages, 2), "elected": (elected, 2),
    "roles": (roles, 2), "rounded": (rounded, 2), "pairs": (pairs, 2), "scaled": (scaled, 2),
    "long_loops": (long_loops, 2),
}  # fmt: skip
