"""Kernels as the program calls them: which loops turn, and how often, is what a tensor of integers says."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.sources.traced import OrderReport
from layoutcheck.tracing import Script, traced
from tests.on_gpu import HELD, ON_GPU

# A block has a sequence. Its first tile is on its way before the loop over the tiles, in which it is waited
# for; behind the loop the tile's place is written. `kind` 1 waits there, too; 2 writes what it goes by.
PROGRAM = (
    ON_GPU
    + HELD
    + """
import cutlass
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def kernel(rows: cute.Tensor, ends: cute.Tensor, kind: cutlass.Constexpr):
    thread, block = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    data = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(32), 16)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32)
    if cutlass.const_expr(kind == 2):
        if thread == 0:
            ends[block] = 0
    begin, end = ends[block], ends[block + 1]
    part = cute.local_tile(data, (1,), (thread,))
    cute.copy(atom, cute.local_tile(rows, (1,), (thread,)), part)
    cute.arch.cp_async_commit_group()
    for turn in cutlass.range(end - begin, unroll=1):
        cute.arch.cp_async_wait_group(0)
        rows[32 * block + thread] = data[thread] + 1
    if cutlass.const_expr(kind == 1):
        cute.arch.cp_async_wait_group(0)
    data[thread] = cutlass.Float32(0)  # over the tile
    rows[32 * block + thread] = data[thread]  # behind

@cute.jit
def host(rows: cute.Tensor, ends: cute.Tensor, kind: cutlass.Constexpr):
    kernel(rows, ends, kind).launch(grid=(cute.size(ends) - 1, 1, 1), block=(32, 1, 1))

def tensor(array):
    return from_dlpack(array).mark_layout_dynamic()

rows = tensor(on_gpu(np.zeros(96, np.float32)))
none = tensor(held(np.array([0, 2, 2, 5], np.int32)))
for kind in range(3):
    host(rows, none, kind)
"""
)


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[OrderReport, ...]]:
    pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
    script = tmp_path_factory.mktemp("called") / "called.py"
    script.write_text(PROGRAM)
    return script, traced(Script(str(script), launch=False, arch="sm_90a")).trace.orders


def test_a_loop_that_a_call_gives_no_turns(orders: tuple[Path, tuple[OrderReport, ...]]) -> None:
    """The second sequence is empty: nothing waits for its tile, which may come behind what is written."""
    script, reports = orders
    lines = script.read_text().split("\n")
    told = [
        {(f.code, *(lines[place.where.line - 1].strip() for place in f.places[:2])) for f in one.findings}
        for one in reports
    ]
    tile, zero, result = (
        next(line.strip() for line in lines if text in line) for text in ("cute.copy(", "# over", "# behind")
    )
    assert told == [{("LC501", tile, result), ("LC501", tile, zero)}, set(), set()]
    assert all(
        f.message.endswith("It happens with block (1,0,0), of (96), (4), where (4) holds 0, 2, 2, 5.")
        and f.severity == "wrong"
        for f in reports[0].findings
    )
