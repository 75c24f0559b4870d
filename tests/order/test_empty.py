"""What happens only where all integers are 0, which the caller may never give: a note."""

from __future__ import annotations

from pathlib import Path

from tests.order.looked import orders_of

# The first turn arrives at the mbarrier that all wait for behind the loop, also without a turn (0), or only
# where there was one (1); or nothing arrives (2).
KERNELS = """
import cutlass
from cutlass import Float32, Int32, Constexpr, cute
from cutlass.cute.runtime import make_fake_tensor
@cute.kernel
def turned(x: cute.Tensor, turns: Int32, how: Constexpr):
    thread = cute.arch.thread_idx()[0]
    smem = cutlass.utils.SmemAllocator()
    data = smem.allocate_tensor(Float32, cute.make_layout(32), 16)
    bar = smem.allocate_array(cutlass.Int64, 1)
    if thread == 0:
        cute.arch.mbarrier_init(bar, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.barrier()
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=32)
    for turn in cutlass.range(turns, unroll=1):
        cute.copy(atom, cute.local_tile(x, (1,), (thread,)), cute.local_tile(data, (1,), (thread,)))
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        if thread == 0 and turn == 0 and how < 2:
            cute.arch.mbarrier_arrive(bar)
    if turns > 0 or how != 1:
        cute.arch.mbarrier_wait(bar, 0)
    x[thread] = data[thread]
@cute.jit
def run(x: cute.Tensor, turns: Int32, how: Constexpr):
    turned(x, turns, how).launch(grid=(1, 1, 1), block=(32, 1, 1))
for how in range(3):
    cute.compile(run, make_fake_tensor(Float32, (32,), stride=(1,), assumed_align=16), Int32(4), how)
"""


def test_a_wait_that_never_ends_without_a_turn_is_a_note(tmp_path: Path) -> None:
    without, guarded, never = orders_of(KERNELS, tmp_path, 3)
    (note,) = without.findings
    assert (note.code, note.severity) == ("LC510", "note")
    assert "It happens where all integer arguments are 0" in note.message
    assert guarded.findings == ()
    (wrong,) = never.findings
    assert (wrong.code, wrong.severity) == ("LC510", "wrong") and "are 0" not in wrong.message
