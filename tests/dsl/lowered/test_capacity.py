"""Shared memory of a block: arrays of a fixed size have their own places, and all must fit. No DSL."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from layoutcheck.dsl.lowered import Lowered, read
from layoutcheck.dsl.lowered.allocations import PERIOD, Allocation
from layoutcheck.dsl.lowered.capacity import FIXED_BYTES, least, too_large

MOST = 232448  # of sm_90a


def module(allocated: int, *fixed: int) -> str:
    """A kernel that loads from `allocated` bytes and from an array of each of the `fixed` sizes."""
    arrays = "\n".join(
        f'"llvm.mlir.global"() <{{addr_space = 3 : i32, alignment = 16 : i64, global_type = '
        f'!llvm.array<{size} x i8>, sym_name = "s{i}"}}> ({{\n}}) : () -> ()'
        for i, size in enumerate(fixed)
    )
    loads = "\n".join(
        f'%p{i} = "llvm.mlir.addressof"() <{{global_name = @s{i}}}> : () -> !llvm.ptr<3>\n'
        f'%x{i} = "llvm.load"(%p{i}) <{{alignment = 4 : i64}}> : (!llvm.ptr<3>) -> f32 loc("cute.copy#{i}")'
        for i in range(len(fixed))
    )
    return f"""
"builtin.module"() ({{
  "gpu.module"() <{{sym_name = "m"}}> ({{
    {arrays}
    "cuda.kernel"() <{{function_type = () -> (), sym_name = "k"}}> ({{
    ^bb0():
      %n = "arith.constant"() <{{value = {allocated} : i32}}> : () -> i32
      %s = "llvm.alloca"(%n) <{{alignment = 16 : i64, elem_type = i8}}> : (i32) -> !llvm.ptr<3>
      {loads}
      "cuda.return"() : () -> ()
    }}) {{nvvm.reqntid = array<i32: 32, 1, 1>}} : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""


def lowered(allocated: int, *fixed: int, asked: int | None = None) -> Lowered:
    found = read(module(allocated, *fixed))
    assert not found.problem, found.problem
    (kernel,) = found.kernels
    launch = replace(kernel.launch, dynamic_bytes=asked)
    return replace(found, kernels=(replace(kernel, launch=launch),))


def test_arrays_of_a_fixed_size_lie_beside_each_other_and_behind_what_is_allocated() -> None:
    (kernel,) = lowered(100, 40, PERIOD + 4, 8).kernels
    starts = [
        int(np.max(np.asarray(op.accesses[0].address))) % (1 << 20)
        for _, op in sorted(kernel.lowered_ops.items())
    ]
    assert starts == [PERIOD, 2 * PERIOD, 4 * PERIOD] and kernel.shared_bytes == 4 * PERIOD + 8


@pytest.mark.parametrize(
    ("allocated", "fixed", "asked", "said"),
    [
        (MOST, (), None, ""),
        (MOST + 1, (), None, f"the launch fails: it allocates {MOST + 1} B"),
        (304 << 10, (), None, f"the launch fails: it allocates {304 << 10} B"),
        (MOST - 16, (16,), None, ""),
        (MOST - 16, (16, 1), None, f"the launch fails: it allocates {MOST + 1} B"),
        (16, (FIXED_BYTES,), None, ""),
        (16, (FIXED_BYTES - 4, 4, 1), None, f"take {FIXED_BYTES + 1} B, ptxas allows {FIXED_BYTES} B"),
        (1000, (), 1000, ""),
        (1001, (), 1000, "launch fails: it asks for 1000 B of shared memory, the kernel allocates 1001 B"),
        (1000, (), MOST + 8, f"the launch fails: it asks for {MOST + 8} B"),
        (1000, (16,), MOST, f"it asks for {MOST + 16} B of shared memory, a block of sm_90a has {MOST} B"),
    ],
)  # fmt: skip
def test_what_a_block_cannot_have_is_told_to_the_byte(
    allocated: int, fixed: tuple[int, ...], asked: int | None, said: str
) -> None:
    told = [one.message for one in too_large(lowered(allocated, *fixed, asked=asked), "sm_90a")]
    assert len(told) == bool(said) and said in "".join(told)


def test_allocations_may_stand_in_an_order_without_gaps() -> None:
    """quack's block-scaled GEMM on sm_100a: barriers and what is reserved lie before the tiles.

    DSL 4.8.1, PTX of 80 B (aligned to 16, reserved), 4096 B (1024) and 96 B (8, reserved): 0, 1024, 80.
    """
    barriers = [Allocation(size, 8) for size in (4, 48, 32, 96)]
    given = [*barriers, Allocation(231424, 1024), Allocation(80, 16)]
    assert least(given) == 231424 + 80 + 96 + 32 + 48 + 4
    assert least([Allocation(9, 16), Allocation(8, 8), Allocation(7, 1)]) == 24
    assert least([Allocation(100, 1024), Allocation(100, 1024)]) == 1124
    assert least([Allocation(1, 1024)] * 11) == 11 and least([]) == 0


def branches(merged: bool) -> str:
    """160,000 B for one arm of a branch, 200,000 B for the other and 100 B for both, allocated before it."""
    sizes = "\n".join(
        f'%n{i} = "arith.constant"() <{{value = {size} : i32}}> : () -> i32\n'
        f'%s{i} = "llvm.alloca"(%n{i}) <{{alignment = 16 : i64, elem_type = i8}}> : (i32) -> !llvm.ptr<3>'
        for i, size in enumerate((160000, 200000, 100))
    )

    def load(name: str, n: int) -> str:
        kinds = "<{alignment = 4 : i64}> : (!llvm.ptr<3>) -> f32"
        return f'%{name} = "llvm.load"(%s{n}) {kinds} loc("cute.copy#{n}")\n'

    attributes = "nvvm.reqntid = array<i32: 32, 1, 1>" + ", smem.merge_branch_allocs" * merged
    return f"""
"builtin.module"() ({{
  "gpu.module"() <{{sym_name = "m"}}> ({{
    "cuda.kernel"() <{{function_type = (i1) -> (), sym_name = "k"}}> ({{
    ^bb0(%c: i1):
      {sizes}
      "scf.if"(%c) ({{
        {load("a", 0)}{load("b", 2)}
        "scf.yield"() : () -> ()
      }}, {{
        {load("d", 1)}{load("e", 2)}
        "scf.yield"() : () -> ()
      }}) : (i1) -> ()
      "cuda.return"() : () -> ()
    }}) {{{attributes}}} : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""


def test_branches_share_their_memory_where_the_launch_says_so() -> None:
    """DSL 4.8.1, `smem_merge_branch_allocs=True`: in the PTX both arms begin at 0, else one lies behind."""
    told = {merged: list(too_large(read(branches(merged)), "sm_90a")) for merged in (True, False)}
    assert told[True] == []
    assert [one.message.split(" of shared")[0] for one in told[False]] == [
        "the launch fails: it allocates 360100 B"
    ]
    [one] = too_large(read(branches(True)), "sm_80")
    assert one.message.startswith("the launch fails: it allocates 200100 B")
