"""Kernels that nobody can follow to their end, or only a run: what is not checked has to be said."""

from __future__ import annotations

import cutlass.cute as cute
from cutlass import Constexpr, Int32, Int64, const_expr
from cutlass._mlir.dialects import llvm
from cutlass.cutlass_dsl import dsl_user_op

from tests.order.kernels import barriers, buffer
from tests.order.reported import THREADS, pointers

arch = cute.arch


@dsl_user_op
def asm(text, loc=None, ip=None):
    llvm.inline_asm(
        None, [], text, "", has_side_effects=True, is_align_stack=False, asm_dialect=llvm.AsmDialect.AD_ATT,
        loc=loc, ip=ip,
    )  # fmt: skip


@cute.kernel
def forever(source: cute.Pointer, target: cute.Pointer):
    thread, _, _ = arch.thread_idx()
    data, turns = buffer(THREADS), Int32(1)
    while turns > 0:
        data[thread] = (source + thread).load()
        arch.sync_threads()
        turns = turns + (data[THREADS - 1 - thread] & 0)
        arch.sync_threads()


@cute.kernel
def unreachable(source: cute.Pointer, target: cute.Pointer):
    thread, _, _ = arch.thread_idx()
    data = buffer(THREADS)
    data[thread] = (source + thread).load()
    if thread > 4096:
        arch.sync_threads()
    (target + thread).store(data[THREADS - 1 - thread])


@cute.kernel
def unknown_text(source: cute.Pointer, target: cute.Pointer):
    thread, _, _ = arch.thread_idx()
    data = buffer(THREADS)
    data[thread] = (source + thread).load()
    asm("frobnicate.shared.sync.aligned;")
    (target + thread).store(data[THREADS - 1 - thread])


@cute.kernel
def loaded_turns(source: cute.Pointer, target: cute.Pointer):
    thread, _, _ = arch.thread_idx()
    data, turns = buffer(THREADS), (source + thread).load()
    for turn in range(turns):
        data[thread] = turn
        arch.sync_threads()
    (target + thread).store(data[THREADS - 1 - thread])


@cute.kernel
def kept_phase(source: cute.Pointer, target: cute.Pointer):
    phases(source, target, buffer(1, Int64), False)


@cute.kernel
def loaded_phase(source: cute.Pointer, target: cute.Pointer):
    phases(source, target, buffer(1), True)


@cute.jit
def phases(source: cute.Pointer, target: cute.Pointer, phase: cute.Tensor, loaded: Constexpr):
    thread, _, _ = arch.thread_idx()
    bar = barriers(1)
    if thread == 0:
        phase[0] = 1
        arch.mbarrier_init(bar, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    for _ in range(16):
        if thread < 32:
            phase[0] = phase[0] ^ 1
            if const_expr(loaded):
                phase[0] = phase[0] + ((source + thread).load() & 2)
            arch.mbarrier_wait(bar, Int32(phase[0]))
        elif thread == 32:
            arch.mbarrier_arrive(bar)
        arch.sync_threads()
    (target + thread).store(thread)


@cute.jit
def run(source: cute.Pointer, target: cute.Pointer, name: Constexpr, blocks: Constexpr):
    globals()[name](source, target).launch(grid=blocks, block=(THREADS, 1, 1))


if __name__ == "__main__":
    for name in ("forever", "unreachable", "unknown_text", "loaded_turns", "kept_phase", "loaded_phase"):
        cute.compile(run, *pointers(), name, (2147483647, 65535, 65535))
