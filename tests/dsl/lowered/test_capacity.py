"""Shared memory of a block: arrays of a fixed size have their own places, and all must fit. No DSL."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from layoutcheck.dsl.lowered import Lowered, read
from layoutcheck.dsl.lowered.allocations import PERIOD
from layoutcheck.dsl.lowered.capacity import FIXED_BYTES, too_large

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


@pytest.mark.parametrize(
    ("attributes", "bytes_"),
    [
        ("", 360100),  # of an older DSL, which does not say: the sizes without gaps
        (", smem.merge_branch_allocs", 200000),  # in branches of which one runs, perhaps: the largest
        (", smem.merge_branch_allocs, layoutcheck.shared_bytes = 300100 : i64", 300100),
        (", layoutcheck.shared_bytes = 360128 : i64", 360128),
    ],
)
def test_allocations_take_what_the_compiler_says(attributes: str, bytes_: int) -> None:
    allocated = "\n".join(
        f'%n{i} = "arith.constant"() <{{value = {size} : i32}}> : () -> i32\n'
        f'%s{i} = "llvm.alloca"(%n{i}) <{{alignment = 16 : i64, elem_type = i8}}> : (i32) -> !llvm.ptr<3>'
        for i, size in enumerate((160000, 200000, 100))
    )
    text = f"""
"builtin.module"() ({{
  "gpu.module"() <{{sym_name = "m"}}> ({{
    "cuda.kernel"() <{{function_type = () -> (), sym_name = "k"}}> ({{
    ^bb0():
      {allocated}
      "cuda.return"() : () -> ()
    }}) {{nvvm.reqntid = array<i32: 32, 1, 1>{attributes}}} : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""
    [one] = too_large(read(text), "sm_80")
    assert one.message.startswith(f"the launch fails: it allocates {bytes_} B of shared memory")
