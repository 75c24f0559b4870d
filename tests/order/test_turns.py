"""Tiles that the hardware hands out to warp groups which take turns: each reads two responses in a turn."""

from __future__ import annotations

from pathlib import Path

from layoutcheck.dsl.lowered.evaluate import tag
from layoutcheck.sources.mlir import parse
from tests.order.looked import looked, orders_of

# Warp 2 hands a tile over and asks for the next one. Warps 0 and 1 take every second tile: they read the
# response for the other one's as well. Each tile is given back, or none is (1).
KERNELS = """
import cutlass
from cutlass import Int32, Constexpr, const_expr, cute
from cutlass.cute import arch
from cutlass.cute.runtime import make_fake_tensor

@cute.jit
def response(answered, read, place, count: Int32):
    arch.mbarrier_wait(answered, count % 2)
    _, _, _, valid = arch.clc_response(place)
    arch.fence_view_async_shared()
    arch.sync_warp()
    if arch.lane_idx() == 0:
        arch.mbarrier_arrive(read)
    return valid

@cute.kernel
def turns(out: cute.Tensor, how: Constexpr):
    thread = arch.thread_idx()[0]
    warp = arch.make_warp_uniform(arch.warp_idx())
    smem = cutlass.memory.SmemAllocator()
    place = smem.allocate_tensor(Int32, cute.make_layout(4), 16).iterator
    full, free = smem.allocate_array(cutlass.Int64, 1), smem.allocate_array(cutlass.Int64, 1)
    answered, read = smem.allocate_array(cutlass.Int64, 1), smem.allocate_array(cutlass.Int64, 1)
    if thread == 0:
        for barrier, count in ((full, 1), (free, 1), (answered, 1), (read, 3)):
            arch.mbarrier_init(barrier, count)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    count, more = Int32(0), Int32(1)
    if warp == 2:
        while more != 0:
            arch.mbarrier_wait(free, count % 2 ^ 1)
            arch.mbarrier_wait(read, count % 2 ^ 1)
            if arch.lane_idx() == 0:
                arch.mbarrier_arrive(full)
                arch.mbarrier_arrive_and_expect_tx(answered, 16)
                arch.issue_clc_query(answered, place, multicast=False)
            more = response(answered, read, place, count)
            count += 1
    else:
        if warp == 1:
            more = response(answered, read, place, count)
            count += 1
        while more != 0:
            arch.mbarrier_wait(full, count % 2)
            if const_expr(how == 0):
                if arch.lane_idx() == 0:
                    arch.mbarrier_arrive(free)
            more = response(answered, read, place, count)
            count += 1
            if more != 0:
                more = response(answered, read, place, count)
                count += 1
    out[thread] = count

@cute.jit
def run(out: cute.Tensor, how: Constexpr):
    turns(out, how).launch(grid=(8, 1, 1), block=(96, 1, 1))

for how in range(2):
    cute.compile(run, make_fake_tensor(Int32, (96,), stride=(1,), assumed_align=16), how)
"""


def test_warp_groups_that_take_turns_read_each_response_once(tmp_path: Path) -> None:
    script = tmp_path / "kernels.py"
    script.write_text(KERNELS)
    (module, lowered, right), (_, _, never) = looked(script, "sm_100a")
    (query,) = (op for op in parse(lowered).walk() if op.name == "nvvm.clusterlaunchcontrol.try.cancel")
    asked = module.frames(tag(query))[0].line
    assert "arch.issue_clc_query(answered, place" in KERNELS.splitlines()[asked - 1]
    assert right.problem == never.problem == "" and right.findings == ()
    assert "the hardware hands out 4 tiles to a block" in right.assumed
    (found,) = never.findings
    assert (found.code, found.severity) == ("LC510", "wrong")


# Warp 1 copies six blocks of each of two tiles, counted down by a loop without a count; warp 0 takes as many,
# or one more (1). The next tile waits until the last one is taken.
INSIDE = """
import cutlass
from cutlass import Int32, Constexpr, const_expr, cute
from cutlass.cute import arch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor

@cute.kernel
def inside(given: cute.Tensor, out: cute.Tensor, how: Constexpr):
    thread = arch.thread_idx()[0]
    warp = arch.make_warp_uniform(arch.warp_idx())
    smem = cutlass.memory.SmemAllocator()
    data = smem.allocate_tensor(Int32, cute.make_layout(32), 16)
    full, free = smem.allocate_array(cutlass.Int64, 1), smem.allocate_array(cutlass.Int64, 1)
    taken = smem.allocate_array(cutlass.Int64, 1)
    if thread == 0:
        for barrier in (full, free, taken):
            arch.mbarrier_init(barrier, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    tile, count = Int32(0), Int32(0)
    if warp == 1:
        while tile < 2:
            arch.mbarrier_wait(taken, tile % 2 ^ 1)
            left = Int32(6)
            while left > 0:
                arch.mbarrier_wait(free, count % 2 ^ 1)
                with arch.elect_one():
                    arch.mbarrier_arrive_and_expect_tx(full, 128)
                    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Int32)
                    cute.copy(atom, given[(None, left)], data, mbar_ptr=full)
                count += 1
                left -= 1
            tile += 1
    else:
        while tile < 2:
            for block in cutlass.range(6 + how, unroll=1):
                arch.mbarrier_wait(full, count % 2)
                out[thread] = data[thread]
                arch.sync_warp()
                with arch.elect_one():
                    arch.mbarrier_arrive(free)
                count += 1
            with arch.elect_one():
                arch.mbarrier_arrive(taken)
            tile += 1

@cute.jit
def host(given: cute.Tensor, out: cute.Tensor, how: Constexpr):
    inside(given, out, how).launch(grid=(1, 1, 1), block=(64, 1, 1))

for how in (0, 1):
    given = make_fake_tensor(Int32, (32, 7), stride=(1, 32), assumed_align=16)
    cute.compile(host, given, make_fake_tensor(Int32, (32,), stride=(1,), assumed_align=16), how)
"""


def test_what_a_loop_inside_a_tile_leaves_out_is_not_missed_in_the_next(tmp_path: Path) -> None:
    """The inner loop is cut after four turns: the replay waits for what the others would have copied."""
    right, wrong = orders_of(INSIDE, tmp_path, 2)
    assert [f.code for f in right.findings if f.severity == "wrong"] == []
    (found,) = (f for f in wrong.findings if f.severity == "wrong")
    assert found.code == "LC510"
    # Nothing ever arrives at `taken`, and the copies that `full` waits for stand behind that.
    names = ("address", "phase", "pending", "count", "other_address", "other_phase", "other_pending", "other")
    assert [found.evidence[name] for name in names] == [144, 0, 1, 1, 128, 6, 1, 1]
    assert (
        "144 of shared memory, is in phase 0 with 1 of 1 arrivals and 0 bytes to come: nothing"
        in found.message
    )
    assert "128 of shared memory, is in phase 6 with 1 of 1 arrivals and 0 bytes to come." in found.message
