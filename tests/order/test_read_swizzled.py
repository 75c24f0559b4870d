"""Element reads of a tile that TMA has written, through the right swizzle and others: LC532."""

from __future__ import annotations

import pytest

from layoutcheck.sources.traced import OrderReport
from tests.order.looked import orders_of

KERNELS = """\
import cutlass, cutlass.cute as cute
from cutlass import Constexpr, Float16, Float32, Int64, const_expr
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor
arch = cute.arch
@cute.kernel
def weigh(atom: cute.CopyAtom, given: cute.Tensor, out: cute.Tensor, layout, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    memory = cutlass.memory.SmemAllocator()
    tile = memory.allocate_tensor(Float16, layout.outer, 1024, swizzle=layout.inner)
    bar = memory.allocate_array(Int64, 1)
    if warp == 0:
        with arch.elect_one():
            arch.mbarrier_init(bar, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    to, what = cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(tile, 0, 2), cute.group_modes(given, 0, 2)
    )
    if warp == 0:
        with arch.elect_one():
            arch.mbarrier_arrive_and_expect_tx(bar, 64 * 64 * 2)
        cute.copy(atom, what, to, tma_bar_ptr=bar)
    arch.mbarrier_wait(bar, 0)
    swizzle = cute.make_swizzle(2 if const_expr(how == 1) else 3 if const_expr(how == 6) else 0, 4, 3)
    seen = tile
    if const_expr(how > 0):
        seen = cute.make_tensor(cute.recast_ptr(tile.iterator, swizzle), layout.outer)
    if const_expr(how == 4):
        seen[thread // 64, thread % 64] = Float16(0.0)  # nor does all come from TMA
        arch.sync_threads()
    total = Float32(0.0)
    for i in cutlass.range(1 if const_expr(how == 5) else 32, unroll=1):
        row, column = 2 * i + thread // 64, thread % 64
        if const_expr(how == 3):  # applies the swizzle itself
            column = column ^ (row % 8) * 8
        if const_expr(how == 5):
            row = 0
        total += seen[row, column].to(Float32) * Float32(column)  # reads
    out[thread // 64, thread % 64] = total.to(Float16)
@cute.jit
def run(given: cute.Tensor, out: cute.Tensor, how: Constexpr):
    swizzle = cute.make_swizzle(3, 4, 3)
    layout = cute.make_composed_layout(swizzle, 0, cute.make_layout((64, 64), stride=(64, 1)))
    atom, there = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), given, layout, (64, 64))
    weigh(atom, there, out, layout, how).launch(grid=(1, 1, 1), block=(128, 1, 1))
given, out = (make_fake_tensor(Float16, (64, 64), (64, 1), assumed_align=16) for _ in range(2))
for how in range(7):
    cute.compile(run, given, out, how)
"""


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> tuple[OrderReport, ...]:
    """0 the tile's own tensor, 1 S<2,4,3>, 2 no swizzle; 3 none, with the swizzle in its coordinates, 4 none,
    and threads write some of it, 5 none, in row 0 which is not swizzled, 6 the tile's swizzle again."""
    return orders_of(KERNELS, tmp_path_factory.mktemp("swizzled"), 7)


def test_elements_are_read_through_the_swizzle_of_the_tensor_map(orders: tuple[OrderReport, ...]) -> None:
    """S<3,4,3> of 128-byte rows: in row 1 S<2,4,3> flips no bit that it does not; none flips bit 4.

    Rows 0 and 1 are read first: the 64 threads of row 1 see other elements without a swizzle. S<2,4,3>
    takes bits 7 and 8, S<3,4,3> also bit 9, which is set from row 4 on.
    """
    told = [[f for f in order.findings if f.code == "LC532"] for order in orders]
    assert [len(each) for each in told] == [0, 1, 1, 0, 0, 0, 0]
    lines = KERNELS.splitlines()
    for (note,), seen, threads, turn in zip(
        told[1:3], ("S<2,4,3>", "no swizzle"), (128, 64), (2, 0), strict=True
    ):
        assert note.severity == "note" and lines[note.places[0].where.line - 1].endswith("# reads")
        assert f"through {seen}; the tensor map of the tile has S<3,4,3>." in note.message
        assert note.message.endswith(f"{threads} threads get another element than the one that they ask for.")
        assert note.places[0].turns == (turn,) and note.evidence["threads"] == threads
