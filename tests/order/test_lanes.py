"""Instructions of the whole warp in a branch of some lanes: LC517 and LC534; lanes that race: LC524.

What an H200 did with such branches, in PTX of the same form (2026-11-29): 16 lanes of a warp shuffle, vote,
reduce, compare or load matrices with the mask of all 32. They hang if the others wait at bar.sync or
bar.warp.sync. Shuffles and votes go on if the others execute one in their own branch; ldmatrix does not. With
the mask of the 16, or with nothing behind the branch, all go on. A shuffle from a lane that is not there
brings 0.
"""

from __future__ import annotations

import pytest

from layoutcheck.sources.traced import KernelFinding, OrderReport
from tests.order.looked import orders_of

KERNELS = """\
import cutlass, cutlass.cute as cute
from cutlass import BFloat16, Constexpr, Float32, Int32, const_expr
from cutlass.cute.runtime import make_fake_tensor
from cutlass._mlir.dialects import llvm
from cutlass.cutlass_dsl import T, dsl_user_op
arch = cute.arch
@dsl_user_op
def ldmatrix(row, *, loc=None, ip=None):
    text = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {$0}, [$1];"
    place = row.toint(loc=loc, ip=ip).ir_value(loc=loc, ip=ip)
    return Int32(llvm.inline_asm(T.i32(), [place], text, "=r,r", has_side_effects=True,  # waits
                                 asm_dialect=llvm.AsmDialect.AD_ATT, loc=loc, ip=ip))
@cute.kernel
def near(given: cute.Tensor, out: cute.Tensor, n: Int32, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    value = given[thread]
    few = 16 if const_expr(how in (1, 5, 6)) else 32
    mask = 0xFFFF if const_expr(how == 1) else 0xFFFFFFFF
    if const_expr(how == 2):
        if thread < 16:
            value = arch.shuffle_sync_bfly(value, 1)
        else:
            value = arch.shuffle_sync_bfly(value, 1) + 1
    elif const_expr(how == 3):
        if thread < n:  # a number that a call gives
            value = arch.shuffle_sync_bfly(value, 1)
    elif const_expr(how == 4):
        if given[thread] < 16:
            value = arch.shuffle_sync_bfly(value, 1)
    elif thread < few:
        value = arch.shuffle_sync_bfly(value, 1, mask=mask)  # waits
    if const_expr(how < 6):
        arch.sync_threads()  # elsewhere
    out[thread] = value
@cute.kernel
def far(given: cute.Tensor, out: cute.Tensor, n: Int32, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    value = given[thread]
    if thread < (64 if const_expr(how == 0) else 48):
        if const_expr(how == 1):
            value = value + arch.shuffle_sync_bfly(value, 16)  # absent
        elif const_expr(how == 2):
            value = arch.shuffle_sync(value, 17)  # absent
        elif const_expr(how == 3):
            value = arch.shuffle_sync_down(value, 16)
        elif const_expr(how == 4):
            value = value + arch.shuffle_sync_bfly(value, 16, mask_and_clamp=0x100F)
        else:
            value = value + arch.shuffle_sync_bfly(value, 16)
    out[thread] = value
@cute.kernel
def votes(given: cute.Tensor, out: cute.Tensor, n: Int32, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    value = given[thread]
    if thread % 32 < (32 if const_expr(how == 0) else 8):
        if const_expr(how == 2):
            value = arch.warp_redux_sync(value, "add")  # waits
        elif const_expr(how == 3):
            value = value + arch.warp_idx()  # waits
        else:
            value = value + arch.vote_ballot_sync(value > 0)  # waits
    arch.sync_warp()  # elsewhere
    out[thread] = value
@cute.kernel
def matrices(given: cute.Tensor, out: cute.Tensor, n: Int32, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    rows = cute.make_layout((8, 8), stride=(8, 1))
    shared = cutlass.memory.SmemAllocator().allocate_tensor(BFloat16, rows, 16)
    shared[thread // 8, thread % 8] = BFloat16(given[thread])
    arch.sync_threads()
    row = shared.iterator + thread % 8 * 8
    found = Int32(0)
    if thread < (32 if const_expr(how == 0) else 16):
        found = ldmatrix(row)
    elif const_expr(how == 2):
        found = ldmatrix(row)
    if const_expr(how < 3):
        arch.sync_threads()  # elsewhere
    out[thread] = found
@cute.kernel
def moved(given: cute.Tensor, out: cute.Tensor, n: Int32, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    shared = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(64), 16)
    shared[thread] = given[thread]
    arch.sync_threads()
    after = shared[thread // 32 * 32 + 31 * (how - 3) if const_expr(how in (3, 4)) else thread ^ 1]  # loaded
    if const_expr(how == 0):
        arch.sync_warp()
    elif const_expr(how == 2):
        after = arch.warp_redux_sync(after, "add")
    elif const_expr(how == 5):
        total = Int32(0)
        for _ in cutlass.range(n, unroll=1):
            total += after
        after = arch.warp_redux_sync(total, "add")
    elif const_expr(how == 6):
        mma = cute.make_tiled_mma(cute.nvgpu.warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)))
        part = mma.get_slice(thread % 32)
        a = part.make_fragment_A(part.partition_shape_A((16, 16)))
        b = part.make_fragment_B(part.partition_shape_B((8, 16)))
        c = part.make_fragment_C(part.partition_shape_C((16, 8)))
        for fragment in (a, b, c):
            fragment.fill(0)
        a[0] = BFloat16(after)
        cute.gemm(mma, c, a, b, c)
        after = Int32(c[0])
    shared[thread] = after  # stored
    out[thread] = after
@cute.kernel
def stored(given: cute.Tensor, out: cute.Tensor, n: Int32, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    warp, lane = arch.make_warp_uniform(arch.warp_idx()), thread % 32
    shared = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout((32, 2)), 128)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyBulkS2GOp(), Int32)
    for turn in cutlass.range(2, unroll=1):
        shared[lane, warp] = given[thread] + turn  # filled
        arch.fence_view_async_shared()
        if const_expr(how != 1):
            arch.sync_warp()
        if lane == 0:
            cute.copy(atom, shared[None, warp], cute.local_tile(out, (32,), (warp,)))  # copied
            arch.cp_async_bulk_commit_group()
            arch.cp_async_bulk_wait_group(0, read=True)
        if const_expr(how != 2):
            arch.sync_warp()
@cute.jit
def run(given: cute.Tensor, out: cute.Tensor, n: Int32, name: Constexpr, how: Constexpr):
    globals()[name](given, out, n, how).launch(grid=(1, 1, 1), block=(64, 1, 1))
def made():
    return make_fake_tensor(Int32, (64,), (1,), assumed_align=16)
for name, count in (("near", 7), ("far", 5), ("votes", 4), ("matrices", 4), ("moved", 7),
                    ("stored", 3)):
    for how in range(count):
        cute.compile(run, made(), made(), Int32(16), name, how)
"""


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> tuple[OrderReport, ...]:
    return orders_of(KERNELS, tmp_path_factory.mktemp("lanes"), 30)


def ends(finding: KernelFinding) -> list[str]:
    """Its severity, its code and the remarks at its lines."""
    lines = [KERNELS.splitlines()[place.where.line - 1] for place in finding.places]
    return [finding.severity, finding.code, *(line.rpartition("# ")[2] for line in lines)]


def test_lanes_that_wait_elsewhere(orders: tuple[OrderReport, ...]) -> None:
    """All; the mask of the 16; in both branches; by an argument; by what is loaded. Then 16 of 32."""
    right, found = orders[:5], orders[5].findings
    assert [order.findings for order in right] == [()] * 5
    (one,) = found
    assert ends(one) == ["wrong", "LC517", "waits", "elsewhere"]
    assert "but only 16 arrive" in one.title
    assert "Lanes 16 to 31 of its warp do not come" in one.message
    assert [place.thread for place in one.places] == [0, 16]


def test_lanes_that_wait_for_nothing(orders: tuple[OrderReport, ...]) -> None:
    assert orders[6].findings == ()


def test_lane_that_is_not_there(orders: tuple[OrderReport, ...]) -> None:
    """16 lanes of a warp. What comes down from 16 lanes further need not be used; groups of 16 are whole."""
    right, exchanged, indexed, down, grouped = (order.findings for order in orders[7:12])
    assert (right, down, grouped) == ((), (), ())
    assert [ends(one) for one in (*exchanged, *indexed)] == [["note", "LC534", "absent"]] * 2
    assert "lane 0 reads the value of lane 16" in exchanged[0].message
    assert "lane 0 reads the value of lane 17" in indexed[0].message


def test_votes(orders: tuple[OrderReport, ...]) -> None:
    """All lanes vote, 8 do, 8 reduce, 8 ask for their warp: `warp_idx` shuffles it."""
    right, voted, reduced, asked = (order.findings for order in orders[12:16])
    assert right == ()
    assert [ends(one) for one in (*voted, *reduced, *asked)] == [["wrong", "LC517", "waits", "elsewhere"]] * 3
    assert ["votes" in voted[0].message, "reduces over its warp" in reduced[0].message] == [True, True]


def test_ldmatrix_is_one_instruction_of_all_lanes(orders: tuple[OrderReport, ...]) -> None:
    """In no branch; in one; in both, which are two instructions; in one with nothing behind it."""
    right, one, both, last = (order.findings for order in orders[16:20])
    assert (right, last) == ((), ())
    assert [ends(finding) for finding in one] == [["wrong", "LC517", "waits", "elsewhere"]]
    assert [ends(finding) for finding in both] == [["wrong", "LC517", "waits", "waits"]]


def test_a_lane_stores_what_another_lane_has_loaded(orders: tuple[OrderReport, ...]) -> None:
    """With a barrier of the warp (0), with none (1, 3, 4), and where lanes have given each other the numbers.

    That is a reduction (2), also of sums that a loop makes (5), or a product of a fragment in memory (6).
    The first lane alone stores what all 32 lanes load in 3, the last one in 4.
    """
    found = [[one for one in order.findings if one.code != "LC535"] for order in orders[20:27]]
    assert found[0] == found[2] == found[5] == found[6] == []
    (each,), (first,), (last,) = found[1], found[3], found[4]
    lines = [[KERNELS.splitlines()[p.where.line - 1] for p in f.places] for f in (each, first, last)]
    assert all(("# loaded" in one) and other.endswith("# stored") for one, other in lines)
    assert [(f.severity, f.code) for f in (each, first, last)] == [("note", "LC524")] * 3
    assert " writes what another lane of the warp reads at kernels.py:" in each.title
    lanes = [[place.thread % 32 for place in finding.places] for finding in (each, first, last)]
    assert lanes == [[1, 0], [31, 0], [0, 31]]


def test_a_lane_copies_what_the_others_have_stored(orders: tuple[OrderReport, ...]) -> None:
    """Its warp meets before and behind the copy; not before it (1), not behind it (2)."""
    right, before, behind = ([ends(one) for one in order.findings] for order in orders[27:])
    assert right == []
    assert before == [["note", "LC524", "filled", "copied"]]
    assert behind == [["note", "LC524", "copied", "filled"]]
    assert [place.thread % 32 for place in orders[28].findings[0].places] == [1, 0]
