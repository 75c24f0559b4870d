"""Stores to shared memory under conditions on loaded values: right (`how` 0), or without a barrier (`how` 1).

python -m tests.order.on_data [NAME ...]         # compile every variant
"""

# ruff: noqa: SIM102 - what is known while tracing stands apart from what a run decides

from __future__ import annotations

import sys

import cutlass
import cutlass.cute as cute
from cutlass import Constexpr, Int32, const_expr

from tests.order.today import N, arch, smem, tensor

# kernel -> the pairs of what races in its variant 1
TOLD = {
    "unrolled": 1,
    "halved": 1,
    "counted": 1,
    "sorted_pairs": 2,
    "both": 1,
    "bounded": 0,
    "shared_value": 0,
    "roles": 1,
    "table": 1,
    "chosen": 1,
    "begun": 0,
    "groups": 1,
}


@cute.jit
def _larger(v: cute.Tensor, t: Int32, s: Int32):
    """One level of a tree."""
    if t < s:
        if v[t + s] > v[t]:
            v[t] = v[t + s]


@cute.kernel
def unrolled(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    t, v = arch.thread_idx()[0], smem(N)
    v[t] = a[t]
    arch.sync_threads()
    for k in cutlass.range_constexpr(7):
        _larger(v, t, N >> (k + 1))
        if const_expr(not how):
            arch.sync_threads()
    if t == 0:
        b[0] = v[0]


@cute.kernel
def halved(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    t, v = arch.thread_idx()[0], smem(N)
    v[t] = a[t]
    arch.sync_threads()
    s = Int32(N // 2)
    while s > 0:
        _larger(v, t, s)
        if const_expr(not how):
            arch.sync_threads()
        s = s // 2
    if t == 0:
        b[0] = v[0]


@cute.kernel
def counted(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    t, v = arch.thread_idx()[0], smem(N)
    v[t] = a[t]
    arch.sync_threads()
    for k in cutlass.range(7, unroll=1):
        _larger(v, t, N >> (k + 1))
        if const_expr(not how):
            arch.sync_threads()
    if t == 0:
        b[0] = v[0]


@cute.kernel
def sorted_pairs(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Bitonic: the second number of a pair may be exchanged by another warp; two loops without a count."""
    t, v = arch.thread_idx()[0], smem(N)
    v[t] = a[t]
    arch.sync_threads()
    k = Int32(2)
    while k <= N:
        j = k // 2
        while j > 0:
            p = t ^ j
            if p > t:
                x, y = v[t], v[p]
                if (x > y) == ((t & k) == 0):
                    v[p] = x
            if const_expr(not how):
                arch.sync_threads()
            j = j // 2
        k = k * 2


@cute.kernel
def both(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Threads below 64 alone store, in one condition with the data's; the others read behind."""
    t, v = arch.thread_idx()[0], smem(N)
    v[t] = a[t]
    arch.sync_threads()
    x = v[(t + 64) % N]
    arch.sync_threads()
    if t < 64 and x > 0:
        v[t] = x
    b[t] = v[(t + 32) % N if const_expr(how) else 64 + t % 64]


@cute.kernel
def bounded(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """The same as numbers: no thread from 64 on ever stores."""
    t, v = arch.thread_idx()[0], smem(N)
    v[t] = a[t]
    arch.sync_threads()
    x = v[(t + 64) % N]
    arch.sync_threads()
    first = Int32(1) if t < 64 else Int32(0)
    last = x if x < 64 else Int32(64)
    if first * x > 3:
        v[t] = x
    if t < last:
        v[t] = x
    b[t] = v[64 + t % 64]


@cute.kernel
def shared_value(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """All threads take the branch, or none; a barrier is in it."""
    t, v = arch.thread_idx()[0], smem(N)
    v[t] = a[t]
    n = a[0]
    arch.sync_threads()
    if n > 3:
        x = v[N - 1 - t]
        arch.sync_threads()
        v[t] = x
    b[t] = v[t]


@cute.jit
def _by_role(a: cute.Tensor, b: cute.Tensor, role: Int32, how: Constexpr):
    """Two warps fill two stages, two read them (1: too late)."""
    t, v = arch.thread_idx()[0], smem((64, 2))
    if role == 0:
        for k in cutlass.range(6, unroll=1):
            if k >= 2:
                arch.barrier(barrier_id=3 + k % 2, number_of_threads=N)
            v[t, k % 2] = a[t + k]
            arch.barrier_arrive(barrier_id=1 + k % 2, number_of_threads=N)
    else:
        for k in cutlass.range(6, unroll=1):
            arch.barrier(barrier_id=1 + k % 2, number_of_threads=N)
            if const_expr(not how):
                b[t - 64 + k] = v[127 - t, k % 2]
            if k < 4:
                arch.barrier_arrive(barrier_id=3 + k % 2, number_of_threads=N)
            if const_expr(how):
                b[t - 64 + k] = v[127 - t, k % 2]


@cute.kernel
def roles(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A table in shared memory says what each warp does."""
    t, w, role = arch.thread_idx()[0], arch.make_warp_uniform(arch.warp_idx()), smem(4)
    if t < 4:
        role[t] = t // 2
    arch.sync_threads()
    _by_role(a, b, role[w], how)


@cute.kernel
def table(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A table in registers does."""
    w, role = arch.make_warp_uniform(arch.warp_idx()), cute.make_rmem_tensor(4, Int32)
    for i in cutlass.range_constexpr(4):
        role[i] = Int32(i // 2)
    _by_role(a, b, role[w], how)


@cute.kernel
def chosen(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A number that lane 0 of each warp has loaded says which slot the warp uses."""
    t, v = arch.thread_idx()[0], smem((N, 4))
    p = arch.shuffle_sync(a[t], 0) & 3
    v[t, p] = a[t]
    if const_expr(not how):
        arch.sync_threads()
    b[t] = v[N - 1 - t, p]


@cute.kernel
def begun(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Sums of two of the four warps; the places of all begin with 0."""
    t, w, part = arch.thread_idx()[0], arch.make_warp_uniform(arch.warp_idx()), smem(4)
    if t % 32 == 0:
        part[w] = Int32(0)
    if w < 2:
        x = arch.warp_reduction_sum(a[t])
        if t % 32 == 0:
            part[w] = x
    arch.sync_threads()
    if t == 64:
        b[0] = part[0] + part[1]


@cute.kernel
def groups(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Two warps meet at each barrier: the data say which. 1: each two at one barrier, as often as they say"""
    t, w = arch.thread_idx()[0], arch.make_warp_uniform(arch.warp_idx())
    if const_expr(how):
        for _ in cutlass.range(a[0], unroll=1):
            if w < 2:
                arch.barrier(barrier_id=1, number_of_threads=64)
            else:
                arch.barrier(barrier_id=1, number_of_threads=64)
    else:
        if a[w] == 0:
            arch.barrier(barrier_id=1, number_of_threads=64)
        else:
            arch.barrier(barrier_id=2, number_of_threads=64)
        if w < a[4]:
            arch.barrier(barrier_id=3, number_of_threads=64)
        else:
            arch.barrier(barrier_id=4, number_of_threads=64)
    b[t] = a[t]


@cute.jit
def run(x: cute.Tensor, y: cute.Tensor, name: Constexpr, how: Constexpr):
    globals()[name](x, y, how).launch(grid=(1, 1, 1), block=(N, 1, 1))


if __name__ == "__main__":
    for name in sys.argv[1:] or TOLD:
        for how in range(2 if TOLD[name] else 1):
            cute.compile(run, tensor(N), tensor(N), name, how)
