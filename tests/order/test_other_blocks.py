"""Blocks that go another way than the first, as the last of a tail, and sizes that are not whole tiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.order.other_blocks import OTHERS as APART
from layoutcheck.order.other_blocks import tailed
from layoutcheck.sources.traced import KernelFinding, OrderReport
from layoutcheck.tracing import Script, traced
from tests.on_gpu import HELD, ON_GPU
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
@cute.kernel
def turned(rows: cute.Tensor, out: cute.Tensor, how: Constexpr):
    thread, block = arch.thread_idx()[0], arch.block_idx()[0]
    data = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(64), 16)
    row = 64 * block + thread
    data[thread] = rows[row]  # put
    if const_expr(how == 1):
        if block != 5:
            arch.sync_threads()
    elif const_expr(how == 2):
        arch.barrier(barrier_id=1 + block % 8, number_of_threads=96 if block == 2 else 64)  # meets
    elif const_expr(how == 3):
        arch.barrier(barrier_id=1 + block % 15, number_of_threads=64)
    else:
        arch.sync_threads()
    out[row] = data[63 - thread]  # taken
@cute.kernel
def listed(rows: cute.Tensor, out: cute.Tensor, how: Constexpr):
    thread, block = arch.thread_idx()[0], arch.block_idx()[0]
    data = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(64), 16)
    if block > 0:
        data[thread] = rows[thread]  # put
        if rows[block] == 0:
            arch.sync_threads()
        out[64 * block + thread] = data[63 - thread]
@cute.kernel
def summed(rows: cute.Tensor, out: cute.Tensor, how: Constexpr):
    thread = arch.thread_idx()[0]
    data = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(64), 16)
    whole, rest = cute.size(rows) // 64, cute.size(rows) % 64
    total = Int32(0)
    for tile in cutlass.range(whole, unroll=1):
        data[thread] = rows[64 * tile + thread]
        arch.sync_threads()
        total += data[63 - thread]
        arch.sync_threads()
    if rest > 0:
        data[thread] = rows[64 * whole + thread] if thread < rest else Int32(0)  # put
        if const_expr(how == 0):
            arch.sync_threads()
        total += data[63 - thread]  # taken
    out[thread] = total
@cute.jit
def run(rows: cute.Tensor, out: cute.Tensor, name: Constexpr, how: Constexpr):
    blocks = cute.ceil_div(cute.size(rows), 64)
    globals()[name](rows, out, how).launch(grid=(blocks, 1, 1), block=(64, 1, 1))
"""
OTHERS = (
    BODY
    + """
def row(divisor):
    return make_fake_tensor(Int32, (cute.sym_int(divisibility=divisor),), (1,), assumed_align=16)
for how, blocks in enumerate((40, 1040, 40, 40)):
    fixed = make_fake_tensor(Int32, (64 * blocks,), (1,), assumed_align=16)
    cute.compile(run, fixed, fixed, "turned", how)
for how, divisor in ((0, 8), (1, 8), (1, 64)):
    cute.compile(run, row(divisor), row(divisor), "summed", how)
cute.compile(run, row(8), row(8), "arrivals", 1)
"""
)
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
    + HELD
    + BODY
    + """
def made(size):
    return from_dlpack(on_gpu(np.zeros(size, np.int32))).mark_layout_dynamic()
for name in ("arrivals", "sums"):
    for how, size in ((0, 100), (1, 100), (1, 128)):
        run(made(size), made(size), name, how)
rows = from_dlpack(held(np.arange(128, dtype=np.int32) % 2)).mark_layout_dynamic()
run(rows, made(128), "listed", 0)
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
def others(tmp_path_factory: pytest.TempPathFactory) -> tuple[OrderReport, ...]:
    return orders_of(OTHERS, tmp_path_factory.mktemp("others"), 8)


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
    right, tail, added, tail_added, *_ = (order.findings for order in called)
    assert (right, added) == ((), ())
    assert [ends(finding) for finding in (*tail, *tail_added)] == [
        ("wrong", "LC510", "waits"),
        ("wrong", "LC517", "waits"),
    ]
    for (finding,) in (tail, tail_added):
        assert finding.message.endswith("block (1,0,0), the last of the grid, of (100), (100).")


def test_what_a_tensor_of_a_call_holds(called: tuple[OrderReport, ...]) -> None:
    """Block 1 comes to no barrier, by the tensor's 1."""
    (race,) = called[4].findings
    assert ends(race) == ("wrong", "LC504", "put")
    assert (
        "with block (1,0,0), the last of the grid, of (128), (128), where (128) holds 0, 1, " in race.message
    )


def test_a_block_amid_the_grid(others: tuple[OrderReport, ...]) -> None:
    """Block 5 of many does not come to the barrier; block 2 waits there for more threads than it has."""
    right, apart, counted, numbered = others[:4]
    assert right.findings == right.unchecked == numbered.findings == ()
    assert apart.unchecked == (f"{APART}: 10 of 1,040 blocks were looked at",)
    assert numbered.unchecked == (f"{APART}: 8 of 14 ways were followed",)
    (race,) = apart.findings
    assert ends(race) == ("wrong", "LC504", "put")
    assert race.message.endswith("It happens with block (5,0,0).")
    (stuck,) = counted.findings
    assert ends(stuck) == ("wrong", "LC510", "meets")
    assert stuck.message.endswith("It happens with block (2,0,0).")


def test_a_tail_of_made_up_extents(others: tuple[OrderReport, ...]) -> None:
    """Whole tiles have no tail, nor has a tensor that is promised to be of whole tiles."""
    right, tail, whole, rows = others[4:]
    assert right.findings == whole.findings == right.unchecked == whole.unchecked == ()
    (race,) = tail.findings
    assert ends(race) == ("wrong", "LC504", "put")
    assert race.message.endswith("block (0,0,0), where dynamic extents and integers are 360.")
    (stuck,) = rows.findings
    assert ends(stuck) == ("wrong", "LC510", "waits")
    assert stuck.message.endswith(
        "(5,0,0), the last of the grid, where dynamic extents and integers are 360."
    )


@pytest.mark.parametrize(
    ("types", "number"),
    [
        (['!cute.memref<i32, gmem, "(?):(1)">'], 361),
        (['!cute.memref<i32, gmem, "(?{div=8},?):(1,?)">', "i32"], 360),
        (['!cute.memref<i32, gmem, "(?{div=16}):(1)">', '!cute.memref<i32, gmem, "(?{div=24}):(1)">'], 432),
        (["i32"], 361),
    ],
)
def test_extents_with_a_tail(types: list[str], number: int) -> None:
    """Odd multiples of all that is promised, whatever the strides promise."""
    assert tailed(types) == number
