"""Accesses that leave their allocation in shared memory in some turn of a loop, by TMA, or beside others."""

from __future__ import annotations

import re

import pytest

from layoutcheck.dsl.lowered.shared_bounds import IN_SHARED, SIZED, TOGETHER
from layoutcheck.judge import judge_traced
from layoutcheck.sources.trace_lines import from_lines, to_lines
from layoutcheck.sources.traced import Frame, in_lines
from tests.dsl.lowered.conftest import Traced

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

# A statement that leaves its allocation says so: by which byte of how many. So does one whose threads do not
# all come by: how many bytes that are read are lost. A box of TMA that is not aligned to 128 bytes faults.
STAGES = """
import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor
F32, BF16 = cutlass.Float32, cutlass.BFloat16
def room(memory, count):
    return memory.allocate_tensor(F32, cute.make_layout(count), byte_alignment=16)
@cute.kernel
def rings(o: cute.Tensor):
    t = cute.arch.thread_idx()[0]
    memory = cutlass.memory.SmemAllocator()
    ring, wide, carried, late, line = (room(memory, n) for n in (384, 512, 384, 384, 5000 * 2))
    stage, other = cutlass.Int32(0), cutlass.Int32(0)
    for i in cutlass.range(40, unroll=1):
        ring[(i * 7 + 1) % 4 * 128 + t] = 1.0  # leaves 1536 of 1536
        wide[(i * 7 + 1) % 4 * 128 + t] = 1.0
        carried[stage * 128 + t] = 1.0
        late[other * 128 + t] = 1.0  # leaves 1536 of 1536
        stage, other = stage + 1, other + 1
        if stage == 3:
            stage = 0
        if other == 4:
            other = 0
    for i in cutlass.range(5000, unroll=1):
        line[i * 2 + t % 2] = 1.0
        line[i * 2 + 2 + t % 2] = 1.0  # leaves 46656 of 46656: the block's memory
    o[t] = ring[t] + wide[t] + carried[t] + late[t] + line[t]
@cute.kernel
def alone(o: cute.Tensor):
    t = cute.arch.thread_idx()[0]
    ring = room(cutlass.memory.SmemAllocator(), 384)
    for i in cutlass.range(40, unroll=1):
        ring[(i * 7 + 2) % 3 * 128 + t] = 1.0
        ring[(i * 7 + 1) % 4 * 128 + t] = 1.0  # leaves 1536 of 1536
    o[t] = ring[t]
@cute.kernel
def boxes(atom: cute.CopyAtom, x: cute.Tensor):
    t = cute.arch.thread_idx()[0]
    memory = cutlass.memory.SmemAllocator()
    barrier = memory.allocate_array(cutlass.Int64, 1)
    s = memory.allocate_tensor(BF16, cute.make_layout((64, 64, 2), stride=(64, 1, 4096)), 1024)
    part = cute.group_modes(cute.local_tile(x, (64, 64), (None, None)), 0, 2)
    here, there = cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(s, 0, 2), part)
    if t == 0:
        cute.arch.mbarrier_init(barrier, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if t < 32:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, 3 * 8192)
        cute.copy(atom, there[None, 0, 0], here[None, 1], tma_bar_ptr=barrier)
        cute.copy(atom, there[None, 9, 9], here[None, 0], tma_bar_ptr=barrier)
        cute.copy(atom, there[None, 0, 1], here[None, 2], tma_bar_ptr=barrier)  # leaves 16384 of 16384
        whole, corner = here[None, 0], there[None, 0, 1]
        by = cute.assume(t // 32 * 4096, divby=8)  # a multiple of 128 bytes, by its type of 16
        near = cute.make_tensor(whole.iterator + by, whole.layout)
        cute.copy(atom, corner, near, tma_bar_ptr=barrier)
        near = cute.make_tensor(near.iterator + cute.assume(t // 32 + 16, divby=8), whole.layout)
        cute.copy(atom, corner, near, tma_bar_ptr=barrier)  # faults
        by = cute.assume(cutlass.Int32(s[0, 0, 0]), divby=8)
        near = cute.make_tensor(whole.iterator + by, whole.layout)
        cute.copy(atom, corner, near, tma_bar_ptr=barrier)  # not known
    cute.arch.mbarrier_wait(barrier, 0)
@cute.kernel
def roles(x: cute.Tensor, tc: cute.TiledCopy):
    t = cute.arch.thread_idx()[0]
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    memory = cutlass.memory.SmemAllocator()
    halves, half, row = (
        memory.allocate_tensor(BF16, cute.make_layout((16, 64), stride=(64, 1)), 128) for _ in range(3)
    )
    thr = tc.get_slice(t)
    part = thr.partition_S(cute.local_tile(x, (16, 64), (0, 0)))
    to_halves, to_half, to_row = (thr.partition_D(s) for s in (halves, half, row))
    if warp < 2:
        cute.copy(tc, part, to_halves)
    else:
        cute.copy(tc, part, to_halves)
        cute.copy(tc, part, to_half)  # lost 1024
    if warp == 0:
        cute.copy(tc, part, to_row)
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(8):
        x[0, t] = halves[t // 64 + 2 * i, t % 64] + half[t // 64 + 2 * i, t % 64] + row[t // 64, t % 64]
@cute.kernel
def few(x: cute.Tensor, tc: cute.TiledCopy):
    t = cute.arch.thread_idx()[0]
    memory = cutlass.memory.SmemAllocator()
    tile = memory.allocate_tensor(BF16, cute.make_layout((16, 64), stride=(64, 1)), 128)
    thr = tc.get_slice(t)
    part = thr.partition_S(cute.local_tile(x, (16, 64), (0, 0)))
    if t < 96:
        with cute.arch.elect_one():
            cute.copy(tc, part, thr.partition_D(tile))  # lost 2000
    cute.arch.sync_threads()
    for i in cutlass.range(40, unroll=1):
        x[i, t] = tile[(t // 64 + 2 * i) % 16, t % 64]
@cute.kernel
def split(x: cute.Tensor, tc: cute.TiledCopy, how: cutlass.Constexpr):
    t = cute.arch.thread_idx()[0]
    memory = cutlass.memory.SmemAllocator()
    layout = cute.make_layout((16, 64), stride=(64, 1))
    tile, other = (memory.allocate_tensor(BF16, layout, 128) for _ in range(2))
    thr = tc.get_slice(t)
    part = thr.partition_S(cute.local_tile(x, (16, 64), (0, 0)))
    to, there = thr.partition_D(tile), thr.partition_D(other)
    if cutlass.const_expr(how == "right"):  # every thread has a copy of its own
        if t < 96:
            cute.copy(tc, part, to)
        if t >= 32:
            cute.copy(tc, part, to)
        else:
            cute.copy(tc, part, to)
        cute.copy(tc, part, there)
    else:
        if t < 96:
            cute.copy(tc, part, to)  # lost 512
        if t >= 32:
            cute.copy(tc, part, there)
        else:
            cute.copy(tc, part, there)
    cute.arch.sync_threads()
    for i in cutlass.range(8, unroll=1):
        x[i, t] = tile[(t // 64 + 2 * i) % 16, t % 64] + other[(t // 64 + 2 * i) % 16, t % 64]
@cute.kernel
def bulk(o: cute.Tensor):
    t = cute.arch.thread_idx()[0]
    memory = cutlass.memory.SmemAllocator()
    barrier = memory.allocate_array(cutlass.Int64, 1)
    here, there = room(memory, 32), room(memory, 64)
    there[t % 64] = 1.0
    if t == 0:
        cute.arch.mbarrier_init(barrier, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), F32)
    if t < 32:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, 128 + 192)
            for count in (32, 48):
                given = cute.make_tensor(o.iterator, cute.make_layout(count))
                taken = cute.make_tensor(here.iterator, given.layout)
                cute.copy(atom, given, taken, mbar_ptr=barrier)  # leaves 0 of 128
    cute.arch.mbarrier_wait(barrier, 0)
    o[t] = here[t % 32] + there[t % 64]
@cute.kernel
def claimed(o: cute.Tensor):
    t = cute.arch.thread_idx()[0]
    memory = cutlass.memory.SmemAllocator()
    a, b = (room(memory, 128) for _ in range(2))
    both = cute.make_tensor(a.iterator, cute.make_layout(256))
    both[t + 128] = 1.0  # leaves 512 of 512
    a[t] = b[t] + 1.0
    cute.arch.sync_threads()
    o[t] = a[127 - t]
    cute.arch.sync_threads()
    both[t] = 3.0
    both[t + 128] = 4.0  # meant: byte 512 of an allocation of 512
    cute.arch.sync_threads()
    o[t] = both[255 - t]  # meant: byte 1020 of an allocation of 512
@cute.kernel
def composed(o: cute.Tensor):
    t, block = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    memory = cutlass.memory.SmemAllocator()
    a, b = room(memory, 128), room(memory, 128)
    layout = cute.make_composed_layout(cute.make_swizzle(2, 2, 3), 0, cute.make_layout((32, 8)))
    both = cute.make_tensor(a.iterator, layout)
    if block < 3:
        a[t] = b[t] + 1.0
        cute.arch.sync_threads()
        both[t + 128] = 1.0  # meant: byte 512 of an allocation of 512
    if block == 3:
        both[t + 128] = 2.0  # meant: byte 512 of an allocation of 512
        b[t + 1] = 3.0  # leaves 512 of 512
@cute.jit
def host(o: cute.Tensor, x: cute.Tensor):
    composed(o).launch(grid=(4, 1, 1), block=(128, 1, 1))
    claimed(o).launch(grid=(1, 1, 1), block=(128, 1, 1))
    copy = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), BF16, num_bits_per_copy=128)
    tc = cute.make_tiled_copy_tv(copy, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8)))
    roles(x, tc).launch(grid=(1, 1, 1), block=(128, 1, 1))
    few(x, tc).launch(grid=(1, 1, 1), block=(128, 1, 1))
    split(x, tc, "right").launch(grid=(1, 1, 1), block=(128, 1, 1))
    split(x, tc, "half").launch(grid=(1, 1, 1), block=(128, 1, 1))
    bulk(o).launch(grid=(1, 1, 1), block=(128, 1, 1))
    rings(o).launch(grid=(1, 1, 1), block=(128, 1, 1))
    alone(o).launch(grid=(1, 1, 1), block=(128, 1, 1))
    tile = cute.make_layout((64, 64), stride=(64, 1))
    atom, view = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, tile, (64, 64))
    boxes(atom, view).launch(grid=(1, 1, 1), block=(128, 1, 1))
if __name__ == "__main__":
    o = make_fake_tensor(F32, (128,), stride=(1,), assumed_align=16)
    x = make_fake_tensor(BF16, (640, 640), stride=(640, 1), assumed_align=16)
    cute.compile(host, o, x)
"""
_SAID = re.compile(r"at byte ([0-9]+) of (?:an allocation of|the) ([0-9]+) B|would write ([0-9]+) are read")


def test_every_turn_and_every_box_counts(traced: Traced) -> None:
    """A stage too many is told in whichever turn it is used; boxes outside the tensor stay in the tile."""
    found = traced(STAGES)
    assert not found.failures, found.failures
    assert from_lines(to_lines(found)).copies == found.copies
    told = [(one.places[0].where.line, one) for report in found.elements for one in report.findings]
    for copy in found.copies:
        report = judge_traced(copy)
        told += [(copy.where.line, one) for one in report.findings] if report is not None else []
    said = [(line, _SAID.search(one.message)) for line, one in told if one.severity == "wrong"]
    wrong = [(line, *(int(n) for n in match.groups() if n)) if match else (line,) for line, match in said]
    marks = re.compile(r"# (?:leaves ([0-9]+) of ([0-9]+)|lost ([0-9]+)|faults)(?:: the block's memory)?$")
    lines = [(line, marks.search(text)) for line, text in enumerate(STAGES.splitlines(), 1)]
    assert sorted(wrong) == [(line, *(int(n) for n in mark.groups() if n)) for line, mark in lines if mark]
    unknown = [line for line, one in told if one.severity == "unknown"]
    assert unknown == [line for line, text in enumerate(STAGES.splitlines(), 1) if "# not known" in text]
    meant = {
        (f"touches {text.partition('# meant: ')[2]} B", line)
        for line, text in enumerate(STAGES.splitlines(), 1)
        if "# meant" in text
    }
    unchecked = [why for report in found.elements for why, _ in report.unchecked]
    said_of = {(said, line) for said, line in meant for why in unchecked if said in why and f":{line}" in why}
    assert said_of == meant and len(unchecked) == len({said for said, _ in meant})
    assert all(TOGETHER in why for why in unchecked)
    assert not [copy.unbounded for copy in found.copies if copy.unbounded]


# As many turns as a tensor of run-time extent has tiles, or as an integer says. What is at one place, however
# many turns there are, is told; what is not, and the tile of `several`, which may be meant, are not checked.
# Nor is what the numbers themselves may keep inside: `if t < n`, or turns until n.
TURNS = """
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor
F32 = cutlass.Float32
def room(memory, count):
    return memory.allocate_tensor(F32, cute.make_layout(count), byte_alignment=16)
@cute.kernel
def one(x: cute.Tensor, o: cute.Tensor, n: cutlass.Int32):
    t = cute.arch.thread_idx()[0]
    ring = room(cutlass.memory.SmemAllocator(), 384)
    stage = cutlass.Int32(0)
    for i in cutlass.range(cute.size(x) // 128, unroll=1):
        ring[stage * 128 + t] = 1.0
        ring[t + 288] = 2.0  # leaves 1536 of 1536
        ring[(i % 4) * 128 + t] = 3.0  # sized 1536 of 1536
        stage = stage + 1
        if stage == 3:
            stage = 0
    if n > 5:
        ring[t + 288] = 1.0  # sized 1536 of 1536
    place = cutlass.Int32(0)
    while place < n:
        ring[place + t] = 1.0  # sized 1536 of 1536
        ring[t + 320] = 1.0  # leaves 1536 of 1536
        place = place + 128
    if t < n:
        ring[t + 320] = 1.0  # sized 1536 of 1536
    if t + 320 < x.shape[0]:
        ring[t + 320] = 2.0  # sized 1536 of 1536
    o[t] = ring[t]
@cute.kernel
def several(x: cute.Tensor, o: cute.Tensor, n: cutlass.Int32):
    t = cute.arch.thread_idx()[0]
    memory = cutlass.memory.SmemAllocator()
    first, second = (room(memory, 128) for _ in range(2))
    second[t] = 1.0
    for i in cutlass.range(n, unroll=1):
        first[t] = 1.0
        first[t + 64] = 2.0  # together 512 of 512
    o[t] = first[t] + second[t]
@cute.jit
def host(x: cute.Tensor, o: cute.Tensor, n: cutlass.Int32):
    one(x, o, n).launch(grid=(1, 1, 1), block=(128, 1, 1))
    several(x, o, n).launch(grid=(1, 1, 1), block=(128, 1, 1))
if __name__ == "__main__":
    x = make_fake_tensor(F32, (cute.sym_int(divisibility=128),), stride=(1,), assumed_align=16)
    o = make_fake_tensor(F32, (128,), stride=(1,), assumed_align=16)
    cute.compile(host, x, o, cutlass.Int32(7))
"""


def test_turns_that_a_run_counts_leave_an_allocation_as_well(traced: Traced) -> None:
    found = traced(TURNS)
    assert not found.failures, found.failures
    lines = list(enumerate(TURNS.splitlines(), 1))
    told = [one for report in found.elements for one in report.findings]
    assert all(one.code == "LC204" and one.severity == "wrong" for one in told)
    assert sorted(one.places[0].where.line for one in told) == [i for i, text in lines if "# leaves" in text]
    assert all("at byte 1536 of an allocation of 1536 B" in one.message for one in told)
    unsure = {why: n for report in found.elements for why, n in report.unchecked if IN_SHARED in why}
    expected = {}
    for kind, size, why in (("sized", 1536, SIZED), ("together", 512, TOGETHER)):
        where = [Frame("program.py", i) for i, text in lines if f"# {kind} {size} of {size}" in text]
        what = f"bounds {IN_SHARED}it touches byte {size} of an allocation of {size} B, {why}"
        expected[f"{what}{in_lines(where)}"] = len(where)
    assert unsure == expected and sorted(expected.values()) == [1, 5]
