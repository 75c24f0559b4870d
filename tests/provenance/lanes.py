"""Sums over lanes as users write them: `RIGHT` ones, and those of `LEFT` that leave something out.

python -m tests.provenance.lanes NAME [NAME ...]      # compile these
"""

from __future__ import annotations

import sys

import cutlass
import cutlass.cute as cute
from cutlass import Constexpr, Float32, Int32, const_expr
from cutlass.cute.runtime import make_fake_tensor
from cutlass.memory import SmemAllocator

arch = cute.arch
RIGHT = (
    "butterfly", "halved", "counted", "down", "quads", "columns", "eighths", "block", "all_warps", "scan",
    "normalised", "broadcast", "largest", "roles", "rows", "pairs_in_shared", "beside",
    "columns_8", "exclusive", "before_last", "pooled", "interleaved",
)  # fmt: skip
# what is left out: (threads of a block, the first and the last), or the step
LEFT = {
    "step_2": (64, 2, 127), "down_8": (64, 16, 127), "warp_3": (32, 96, 127), "normalised_2": 2,
    "largest_4": (64, 4, 127)
}  # fmt: skip


@cute.jit
def total(v, steps: Constexpr):
    for step in steps:
        v += arch.shuffle_sync_bfly(v, step)
    return v


@cute.kernel
def sums(a: cute.Tensor, b: cute.Tensor, name: Constexpr):
    t, row = arch.thread_idx()[0], arch.block_idx()[0]
    w, lane = t // 32, t % 32
    part = SmemAllocator().allocate_tensor(Float32, cute.make_layout(128), 128)
    v = a[row, t]
    every = 16, 8, 4, 2, 1
    if const_expr(name in ("butterfly", "step_2")):
        v = total(v, every if const_expr(name == "butterfly") else (16, 8, 4, 1))
        if lane == 0:
            b[row, w] = v
    elif const_expr(name == "beside"):
        b[row, t] = v
        v = total(v, every)
        if lane == 0:
            b[row, w] = v
    elif const_expr(name == "halved"):
        step = Int32(16)
        while step > 0:
            v += arch.shuffle_sync_bfly(v, step)
            step = step // 2
        if lane == 0:
            b[row, w] = v
    elif const_expr(name == "counted"):
        for i in cutlass.range(5, unroll=1):
            v += arch.shuffle_sync_bfly(v, 1 << i)
        if lane == 0:
            b[row, w] = v
    elif const_expr(name in ("down", "down_8")):
        for i in cutlass.range_constexpr(5 if const_expr(name == "down") else 4):
            v += arch.shuffle_sync_down(v, (16 if const_expr(name == "down") else 8) >> i)
        if lane == 0:
            b[row, w] = v
    elif const_expr(name == "quads"):
        v = total(v, (1, 2))
        if lane % 4 == 0:
            b[row, t // 4] = v
    elif const_expr(name in ("columns", "columns_8")):
        v = total(v, (16, 8, 4) if const_expr(name == "columns") else (16, 4))
        b[row, t] = v
    elif const_expr(name in ("exclusive", "before_last")):
        for i in cutlass.range_constexpr(5):
            u = arch.shuffle_sync_up(v, 1 << i, mask_and_clamp=0)
            if lane >= 1 << i:
                v += u
        u = arch.shuffle_sync_up(v, 1, mask_and_clamp=0)
        if const_expr(name == "exclusive"):
            b[row, t] = u
        elif lane == 31:
            b[row, w] = u
    elif const_expr(name == "pooled"):
        v += arch.shuffle_sync_down(v, 1)
        if lane % 4 == 0:
            b[row, t // 4] = v
    elif const_expr(name == "interleaved"):
        v = a[w * 2 + lane // 2 % 2, row * 16 + lane // 4 * 2 + lane % 2]
        b[row, t] = v / total(v, (16, 8, 4, 1))
    elif const_expr(name == "eighths"):
        b[row, t] = a[row, t] / total(v, (4, 2, 1))
    elif const_expr(name in ("block", "warp_3")):
        v = total(v, every)
        if lane == 0:
            part[w] = v
        arch.sync_threads()
        if w == 0:
            u = Float32(0.0)
            if lane < (4 if const_expr(name == "block") else 3):
                u = part[lane]
            u = total(u, every)
            if lane == 0:
                b[row, 0] = u
    elif const_expr(name == "all_warps"):
        v = total(a[row, lane], every)
        if t == 0:
            b[row, 0] = v
    elif const_expr(name == "scan"):
        for i in cutlass.range_constexpr(5):
            u = arch.shuffle_sync_up(v, 1 << i, mask_and_clamp=0)
            if lane >= 1 << i:
                v += u
        b[row, t] = v
    elif const_expr(name in ("normalised", "normalised_2")):
        b[row, t] = v / total(v * v, every if const_expr(name == "normalised") else (16, 8, 4, 1))
    elif const_expr(name == "broadcast"):
        scale = a[row, 0]
        v = total(v, every) * scale
        if lane == 0:
            b[row, w] = v
    elif const_expr(name in ("largest", "largest_4")):
        for step in every if const_expr(name == "largest") else (16, 8, 2, 1):
            v = cute.arch.fmax(v, arch.shuffle_sync_bfly(v, step))
        if lane == 0:
            b[row, w] = v
    elif const_expr(name == "roles"):
        if w == 0:
            arch.barrier(barrier_id=1, number_of_threads=128)
            u = total(part[lane] + part[lane + 32] + part[lane + 64], every)
            if lane == 0:
                b[row, 0] = u + total(v, every)
        else:
            part[t - 32] = total(v, (1, 2))
            arch.barrier(barrier_id=1, number_of_threads=128)
    elif const_expr(name == "rows"):
        v = total(v, (4, 2, 1))
        if lane % 8 == 0 and t // 8 + row * 16 < 120:
            b[row, t // 8] = v
    else:
        part[t] = total(v, every)
        arch.sync_threads()
        b[row, t] = v - part[(t + 32) % 128]


@cute.jit
def run(a: cute.Tensor, b: cute.Tensor, name: Constexpr):
    sums(a, b, name).launch(grid=(8, 1, 1), block=(128, 1, 1))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        made = [make_fake_tensor(Float32, (8, 128), (128, 1), assumed_align=16) for _ in "ab"]
        cute.compile(run, *made, name)
