"""Accesses to shared memory that LLVM joins: the PTX is the judge of that; and what is told of conflicts."""

from __future__ import annotations

import re
from math import gcd
from pathlib import Path

import numpy as np
import pytest

from layoutcheck.dsl.lowered.lowered_op import memory_accesses
from layoutcheck.dsl.lowered.record import Recorded
from layoutcheck.tracing import Script, traced
from tests.forking import printed

KERNELS = """
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor

@cute.kernel
def turned(x: cute.Tensor, how: cutlass.Constexpr, first: cutlass.Constexpr):
    t = cute.arch.thread_idx()[0]
    words = cute.make_ptr(
        cutlass.Float32, cutlass.memory.SmemAllocator().allocate(4096, 16).toint(), cute.AddressSpace.smem
    )
    s = cute.make_tensor(words, cute.make_layout(1024))
    s[t] = x[t]
    cute.arch.sync_threads()
    at = (t + 5) % 128 * 4 + first
    four = cute.make_rmem_tensor(4, cutlass.Float32)
    if cutlass.const_expr(how == "copy"):
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=32)
        cute.copy(atom, cute.make_tensor(words + at, cute.make_layout((1, 4), stride=(0, 1))),
                  cute.make_tensor(four.iterator, cute.make_layout((1, 4), stride=(0, 1))))
    else:
        for i in cutlass.range_constexpr(4):
            four[i] = s[at + i]
    for i in cutlass.range_constexpr(4):
        x[t + 128 * i] = four[i]

@cute.jit
def host(x: cute.Tensor, how: cutlass.Constexpr, first: cutlass.Constexpr):
    turned(x, how, first).launch(grid=(1, 1, 1), block=(128, 1, 1))

for how in ("copy", "elements"):
    for first in (0, 1):
        made = cute.compile(host, make_fake_tensor(cutlass.Float32, (512,), (1,)), how, first)
        print(getattr(made, "__ptx__", "") or "")
"""
WIDE, PARTS = ["ld.shared.v4.b32"], ["ld.shared.b32", "ld.shared.v2.b32", "ld.shared.b32"]


def test_adjacent_accesses_are_joined_and_then_without_conflict(tmp_path: Path) -> None:
    """Lanes are 16 bytes apart, with four words each: one access of 128 bits, or three if 4 bytes past it."""
    pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")
    script = tmp_path / "turned.py"
    script.write_text(KERNELS)
    keep = {"CUTE_DSL_KEEP_PTX": "1", "CUTE_DSL_DUMP_DIR": str(tmp_path)}
    text = printed(str(script), arch="sm_80", env=keep)
    loads = [re.findall(r"ld\.shared\S*", ptx) for ptx in text.split(".visible .entry")[1:]]
    assert loads == [WIDE, PARTS, WIDE, PARTS]
    found = traced(Script(str(script), launch=False, arch="sm_80"), order=False)
    copies = [report.verdict for _, report in found.reports if report is not None]
    elements = [[one.code for one in each.findings] for each in found.trace.elements]
    assert copies == ["legal", "slow"]
    assert elements == [[], [], [], ["LC301"]]


ROWS = 16 * np.arange(32)
FOUR = [ROWS + 4 * i for i in range(4)]


@pytest.mark.parametrize(
    ("size", "rows", "align", "bits"),
    [
        (4, FOUR, 16, [128]),
        (4, [FOUR[i] for i in (2, 0, 3, 1)], 16, [128]),
        (4, FOUR, 8, [64, 64]),  # as its address may begin: block 0's own address says nothing of others
        (4, FOUR, 4, [32] * 4),
        (4, FOUR[:3], 16, [64, 32]),
        (4, [ROWS + 4 + 4 * i for i in range(4)], 16, [32, 64, 32]),
        (4, [ROWS + 8 * i for i in range(2)], 16, [32, 32]),  # not adjacent
        (2, [ROWS + 2 * i for i in range(8)], 16, [128]),
    ],
)
def test_what_is_joined(size: int, rows: list[np.ndarray], align: int, bits: list[int]) -> None:
    every = [
        Recorded("", "ld", size, row, "smem", gcd(align, int(np.gcd.reduce(row)) or align)) for row in rows
    ]
    [side] = [one for one in memory_accesses(tuple(every), 32, joined=True) if one]
    assert sorted(8 * one.width_bytes for one in side for _ in one.addresses) == sorted(bits)


def test_what_other_threads_execute_is_not_joined() -> None:
    first, second = (Recorded("", "ld", 4, row, "smem", 8) for row in (ROWS, ROWS + 4))
    first.active = ROWS < 64
    [side] = [one for one in memory_accesses((first, second), 32, joined=True) if one]
    assert [one.width_bytes for one in side] == [4]
