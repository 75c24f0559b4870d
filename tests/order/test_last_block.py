"""The last block of the grid, in which predicates of a tail fail that hold in the first."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.sources.traced import KernelFinding, OrderReport
from layoutcheck.tracing import Script, traced
from tests.on_gpu import ON_GPU
from tests.order.looked import orders_of

# 100 rows for blocks of 64: 36 threads of the second block have a row.
BODY = """\
import cutlass, cutlass.cute as cute
from cutlass import Constexpr, Int32, Int64, const_expr
from cutlass.cute.runtime import from_dlpack, make_fake_tensor
arch = cute.arch
@cute.kernel
def arrivals(rows: cute.Tensor, out: cute.Tensor, how: Constexpr):
    thread, block = arch.thread_idx()[0], arch.block_idx()[0]
    row = 64 * block + thread
    memory = cutlass.memory.SmemAllocator()
    bar = memory.allocate_array(Int64, 1)
    data = memory.allocate_tensor(Int32, cute.make_layout(64), 16)
    if thread == 0:
        arch.mbarrier_init(bar, 64)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if row < cute.size(rows):
        data[thread] = rows[row]
        if const_expr(how == 1):
            arch.mbarrier_arrive(bar)
    if const_expr(how == 0):
        arch.mbarrier_arrive(bar)
    arch.mbarrier_wait(bar, 0)  # waits
    if row < cute.size(rows):
        out[row] = data[thread ^ 1]
@cute.kernel
def sums(rows: cute.Tensor, out: cute.Tensor, how: Constexpr):
    thread, block = arch.thread_idx()[0], arch.block_idx()[0]
    row = 64 * block + thread
    value = Int32(0)
    if row < cute.size(rows):
        value = rows[row]
        if const_expr(how == 1):
            value = arch.warp_redux_sync(value, "add")  # waits
    if const_expr(how == 0):
        value = arch.warp_redux_sync(value, "add")
    arch.sync_threads()
    if row < cute.size(out):
        out[row] = value
@cute.jit
def run(rows: cute.Tensor, out: cute.Tensor, name: Constexpr, how: Constexpr):
    blocks = cute.ceil_div(cute.size(rows), 64)
    globals()[name](rows, out, how).launch(grid=(blocks, 1, 1), block=(64, 1, 1))
"""
STATIC = (
    BODY
    + """
def made(size):
    return make_fake_tensor(Int32, (size,), (1,), assumed_align=16)
for name in ("arrivals", "sums"):
    for how, size in ((0, 100), (1, 100), (1, 128)):
        cute.compile(run, made(size), made(size), name, how)
"""
)
CALLED = (
    ON_GPU
    + BODY
    + """
def made(size):
    return from_dlpack(on_gpu(np.zeros(size, np.int32))).mark_layout_dynamic()
for name in ("arrivals", "sums"):
    for how, size in ((0, 100), (1, 100), (1, 128)):
        run(made(size), made(size), name, how)
"""
)


def ends(finding: KernelFinding) -> tuple[str, str, str]:
    """Its severity, its code and the remark at its line."""
    line = Path(finding.places[0].where.file).read_text().splitlines()[finding.places[0].where.line - 1]
    return finding.severity, finding.code, line.rpartition("# ")[2]


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> tuple[OrderReport, ...]:
    return orders_of(STATIC, tmp_path_factory.mktemp("static"), 6)


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> tuple[OrderReport, ...]:
    pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
    script = tmp_path_factory.mktemp("called") / "called.py"
    script.write_text(CALLED)
    return traced(Script(str(script), launch=False, arch="sm_90a")).trace.orders


def test_sizes_of_the_type(static: tuple[OrderReport, ...]) -> None:
    """All threads arrive, those with a row do, and all have one; the same of lanes that add."""
    right, tail, whole, added, tail_added, whole_added = (order.findings for order in static)
    assert (right, whole, added, whole_added) == ((), (), (), ())
    assert [ends(finding) for finding in tail] == [("wrong", "LC510", "waits")]
    assert "with 28 of 64 arrivals" in tail[0].message
    assert [ends(finding) for finding in tail_added] == [("wrong", "LC517", "waits")]
    assert "Lanes 4 to 31 of its warp do not come" in tail_added[0].message
    for (finding,) in (tail, tail_added):
        assert finding.message.endswith("It happens with block (1,0,0), the last of the grid.")


def test_sizes_of_a_call(called: tuple[OrderReport, ...]) -> None:
    """The extents are dynamic: made-up ones have no tail, those of the first call do."""
    right, tail, added, tail_added = (order.findings for order in called)
    assert (right, added) == ((), ())
    assert [ends(finding) for finding in (*tail, *tail_added)] == [
        ("wrong", "LC510", "waits"),
        ("wrong", "LC517", "waits"),
    ]
    for (finding,) in (tail, tail_added):
        assert finding.message.endswith("block (1,0,0), the last of the grid, of (100), (100).")
