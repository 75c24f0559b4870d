"""What a launch costs is not counted where an access faults: it is said, and nothing fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.dsl.lowered.totals import KernelLines, kernel_lines
from layoutcheck.dsl.trace import trace_script
from layoutcheck.sources.traced import OrderReport
from layoutcheck.sources.traced_module import TracedModule
from tests.lowering import SharedLowering

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

# 16 bytes a lane into rows that a swizzle of single words takes apart.
PROGRAM = """
import cutlass
from cutlass import Float32, cute
from cutlass.cute.runtime import make_fake_compact_tensor

@cute.kernel
def kernel(x: cute.Tensor):
    smem = cutlass.memory.SmemAllocator()
    rows = cute.make_layout((128, 4), stride=(4, 1))
    tile = smem.allocate_tensor(Float32, rows, 1024, swizzle=cute.make_swizzle(5, 2, 5))
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((128, 1)), cute.make_layout((1, 4)))
    mine = tiled.get_slice(cute.arch.thread_idx()[0])
    cute.copy(tiled, mine.partition_S(x), mine.partition_D(tile))

@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(1, 1, 1), block=(128, 1, 1))

cute.compile(host, make_fake_compact_tensor(Float32, (128, 4), stride_order=(1, 0), assumed_align=16))
"""


def test_a_misaligned_copy_has_no_cost(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    counted: list[KernelLines] = []

    def count(module: TracedModule, text: str, problem: str) -> OrderReport:
        counted.extend(kernel_lines(module, text, problem))
        return OrderReport(module.kernel, module.arch)

    with SharedLowering(order=count) as lowering:
        found = trace_script(str(script), launch=False, arch="sm_90a", timeout_s=200, lowering=lowering)
    assert not found.failures, found.failures
    (one,) = counted
    assert not one.lines
    assert one.problem.startswith("an access is misaligned: lane 8: address 0x84 is not a multiple")
