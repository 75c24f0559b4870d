"""What stands behind a branch that no run takes is told as not checked.

Where all threads share what decides, it is told if it is most of a kernel; where each loads its own, always.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.order.looked import looked, orders_of

# A number that shared memory hands over decides whether the sums are made (0); they are made anyway (1).
KERNELS = """
import cutlass
from cutlass import Float32, Constexpr, const_expr, cute
from cutlass.cute import arch
from cutlass.cute.runtime import make_fake_tensor

@cute.jit
def sums(x, data, thread):
    for step in cutlass.range_constexpr(4):
        arch.barrier()
        other = data[63 - thread]
        arch.barrier()
        data[thread] += other
    x[thread] = data[thread]

@cute.kernel
def summed(x: cute.Tensor, how: Constexpr):
    thread = arch.thread_idx()[0]
    data = cutlass.utils.SmemAllocator().allocate_tensor(Float32, cute.make_layout(64), 16)
    data[thread] = x[thread]
    arch.barrier()
    if const_expr(how == 1):
        sums(x, data, thread)
    elif data[0] > Float32(1.0):
        sums(x, data, thread)

@cute.jit
def run(x: cute.Tensor, how: Constexpr):
    summed(x, how).launch(grid=(1, 1, 1), block=(64, 1, 1))

for how in range(2):
    cute.compile(run, make_fake_tensor(Float32, (64,), stride=(1,), assumed_align=16), how)
"""

# Each thread's own number decides: what its branch reads (0) and whether it waits (1) is not known.
APART = """
from cutlass import Float32, Constexpr, const_expr, cute, utils
from cutlass.cute import arch
from cutlass.cute.runtime import make_fake_tensor

@cute.kernel
def apart(x: cute.Tensor, how: Constexpr):
    thread = arch.thread_idx()[0]
    data = utils.SmemAllocator().allocate_tensor(Float32, cute.make_layout(64), 16)
    data[thread] = x[thread]
    if x[thread] > Float32(0.0):
        if const_expr(how == 1):
            arch.sync_threads()
        x[thread] = data[63 - thread]

@cute.jit
def run(x: cute.Tensor, how: Constexpr):
    apart(x, how).launch(grid=(1, 1, 1), block=(64, 1, 1))

for how in range(2):
    cute.compile(run, make_fake_tensor(Float32, (64,), stride=(1,), assumed_align=16), how)
"""


def test_a_branch_by_a_float_of_each_thread_is_not_checked(tmp_path: Path) -> None:
    (script := tmp_path / "kernels.py").write_text(APART)
    pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
    reads, waits = (report for *_, report in looked(script, "sm_90a"))
    assert not reads.problem and not reads.findings
    assert "accesses at addresses, or under conditions, that only a run knows" in reads.unchecked
    assert "whether or where it happens depends on values that each thread loads" in waits.problem


def test_most_of_a_kernel_that_no_run_reaches_is_not_checked(tmp_path: Path) -> None:
    behind, made = orders_of(KERNELS, tmp_path, 2)
    (told,) = [sentence for sentence in behind.unchecked if "no run that was followed" in sentence]
    left, of = (int(word) for word in told.split(" accesses")[0].split(" of "))
    assert of - left == 3 and left >= 4 * 4  # a store, a barrier and the load of the branch are met
    assert not [sentence for sentence in made.unchecked if "no run that was followed" in sentence]
    assert made.findings == behind.findings == ()
