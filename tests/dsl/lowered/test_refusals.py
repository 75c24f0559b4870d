"""Kernels that are traced and not compiled: findings at their line, and no legal copies."""

from __future__ import annotations

import pytest

from layoutcheck.gate import NO_GATE
from layoutcheck.tracing import judge, status
from tests.dsl.lowered.conftest import Traced

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

# A copy with which a pass dies of SIGABRT, and a product of the wrong extents, which MLIR refuses.
REFUSED = """
import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_fake_tensor

@cute.kernel
def dies(a: cute.Tensor, b: cute.Tensor):
    s = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(16), 128)
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
    vectors = cute.make_layout(((4, 1), (1, 4)), stride=((1, 0), (0, 4)))
    src = cute.make_tensor(b.iterator, vectors)
    cute.copy(atom, src, cute.make_tensor(s.iterator, vectors))
    cute.copy(atom, src, cute.make_tensor(s.iterator, cute.make_layout((4, 4), stride=(1, 4))))  # dies

@cute.kernel
def refused(a: cute.Tensor, b: cute.Tensor):
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16)))
    thr = mma.get_slice(cute.arch.thread_idx()[0])
    fa, fb = thr.make_fragment_A(thr.partition_A(a)), thr.make_fragment_B(thr.partition_B(a))
    fc = cute.make_rmem_tensor(mma.partition_shape_C((16, 16)), cutlass.Float32)
    cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16), thr.partition_A(a), fa)
    cute.gemm(mma, fc, fb, fa, fc)  # refused

@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, case: cutlass.Constexpr):
    kernel = dies if cutlass.const_expr(case == "dies") else refused
    kernel(a, b).launch(grid=[1, 1, 1], block=[32, 1, 1])

if __name__ == "__main__":
    a = make_fake_tensor(cutlass.Float16, (16, 16), stride=(16, 1), assumed_align=16)
    b = make_fake_tensor(cutlass.Float32, (16, 16), stride=(16, 1), assumed_align=16)
    for case in ("dies", "refused"):
        cute.compile(host, a, b, case)
"""


def test_what_does_not_compile_is_not_legal(traced: Traced) -> None:
    """A pass that dies is told at the copy, an operation that MLIR refuses at its line; the status is 1."""
    found = traced(REFUSED)
    lines = {
        text.rpartition("  # ")[2]: i for i, text in enumerate(REFUSED.splitlines(), 1) if "  # " in text
    }
    mma, dead = found.failures
    assert dead.kind == mma.kind == "uncompiled"
    assert "the compiler dies of SIGABRT" in dead.message and "expects A's M == D'M" in mma.message
    assert [one.where and one.where.line for one in (dead, mma)] == [lines["dies"], lines["refused"]]
    judged = judge(found)
    assert judged.verdicts() == {"rejected": 1, "unknown": 1}  # the copy beside the one that a pass dies of
    rejected = [
        one.first.where.line for one, report in judged.reports if report and report.verdict == "rejected"
    ]
    assert rejected == [lines["dies"]]
    assert status(judged, False, NO_GATE) == 1
