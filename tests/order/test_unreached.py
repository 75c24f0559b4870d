"""What stands behind a branch that no run takes is told as not checked, where it is most of a kernel."""

from __future__ import annotations

from pathlib import Path

from tests.order.looked import orders_of

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


def test_most_of_a_kernel_that_no_run_reaches_is_not_checked(tmp_path: Path) -> None:
    behind, made = orders_of(KERNELS, tmp_path, 2)
    (told,) = [sentence for sentence in behind.unchecked if "no run that was followed" in sentence]
    left, of = (int(word) for word in told.split(" accesses")[0].split(" of "))
    assert of - left == 3 and left >= 4 * 4  # a store, a barrier and the load of the branch are met
    assert not [sentence for sentence in made.unchecked if "no run that was followed" in sentence]
    assert made.findings == behind.findings == ()
