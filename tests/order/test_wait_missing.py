"""Where a wait for cp.async is missing: before the barrier that is there, or with a barrier of its own."""

from __future__ import annotations

import pytest

from layoutcheck.sources.traced import KernelFinding
from tests.order.looked import looked

KERNELS = """
import cutlass
from cutlass import Constexpr, Float32, const_expr, cute
from cutlass.cute import arch
from cutlass.cute.runtime import make_fake_compact_tensor

@cute.kernel
def kernel(x: cute.Tensor, out: cute.Tensor, meets: Constexpr):
    thread = arch.thread_idx()[0]
    smem = cutlass.memory.SmemAllocator()
    tile = smem.allocate_tensor(Float32, cute.make_layout((128, 4), stride=(4, 1)), 16)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((128, 1)), cute.make_layout((1, 4)))
    mine = tiled.get_slice(thread)
    cute.copy(tiled, mine.partition_S(x), mine.partition_D(tile))
    arch.cp_async_commit_group()
    if const_expr(meets):
        arch.sync_threads()
    out[thread] = tile[127 - thread, 0]

@cute.jit
def host(x: cute.Tensor, out: cute.Tensor, meets: Constexpr):
    kernel(x, out, meets).launch(grid=(1, 1, 1), block=(128, 1, 1))

x = make_fake_compact_tensor(Float32, (128, 4), stride_order=(1, 0), assumed_align=16)
out = make_fake_compact_tensor(Float32, (128,), stride_order=(0,), assumed_align=16)
for meets in (True, False):
    cute.compile(host, x, out, meets)
"""


def at(words: str) -> int:
    return next(n for n, line in enumerate(KERNELS.split("\n"), 1) if words in line)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[KernelFinding]:
    pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
    script = tmp_path_factory.mktemp("waits") / "kernels.py"
    script.write_text(KERNELS)
    return [one for *_, report in looked(script) for one in report.findings if one.code == "LC501"]


def test_a_wait_belongs_before_the_barrier_that_is_there(found: list[KernelFinding]) -> None:
    met, alone = found
    copies, meets, reads = (at(one) for one in ("cute.copy(", "arch.sync_threads()", "out[thread]"))
    assert [one.where.line for one in met.places] == [copies, reads, meets]
    assert met.message.endswith(f"between the commit and the barrier at kernels.py:{meets}.")
    assert [one.where.line for one in alone.places] == [copies, reads]
    assert f"before kernels.py:{reads}, and sync_threads() after it" in alone.message
