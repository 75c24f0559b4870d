"""Mistakes as a newcomer to the DSL makes them. Run as a program, it prints as JSON what the DSL says.

A function is named for the entry that should answer: "_" for "." and "-"; "__" before a second case.
"""

import json
import sys
import traceback

import cutlass
import numpy as np
from cutlass import cute
from cutlass.cute.nvgpu import tcgen05
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor


@cute.kernel
def empty():
    pass


@cute.jit
def dsl_raised__congruent(x: cute.Tensor):
    cute.make_layout((8, (2, 2)), stride=(4, 1))


@cute.jit
def dsl_algebra_refused(x: cute.Tensor):
    cute.composition(cute.make_layout((8, 4), stride=(4, 1)), cute.make_layout(5, stride=3))


@cute.jit
def dsl_coordinate_not_congruent__index(x: cute.Tensor):
    cute.crd2idx((0, 1, 2), cute.make_layout((8, 4)))


@cute.jit
def dsl_coordinate_not_congruent(x: cute.Tensor):
    x[(None, 0, 0)]


@cute.jit
def dsl_other_verifier__tiler(x: cute.Tensor):
    cute.local_tile(x, (8, 8, 8), (0, 0, 0))


@cute.jit
def dsl_not_sliced(x: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8)))
    tiled.partition_S(x)


@cute.jit
def dsl_api_moved(x: cute.Tensor):
    cute.make_swizzled_layout(x)


@cute.jit
def dsl_call(x: cute.Tensor):
    cute.local_tile(x, tile=(8, 8), coord=(0, 0))


@cute.jit
def dsl_arch_not_admissible(x: cute.Tensor):
    k, cta = cute.nvgpu.OperandMajorMode.K, tcgen05.CtaGroup.ONE
    source = tcgen05.OperandSource.SMEM
    tcgen05.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (128, 128, 16), cta, source, k, k)


@cute.jit
def dsl_two_swizzles(x: cute.Tensor):
    swizzle = cute.make_swizzle(3, 4, 3)
    layout = cute.make_composed_layout(swizzle, 0, cute.make_layout((8, 64), stride=(64, 1)))
    cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float16, layout, 1024, swizzle=swizzle)


@cute.jit
def dsl_coded(x: cute.Tensor):
    values = [1, 2, 3]
    for i in cutlass.range(x.shape[0]):
        values.append(i + 1)  # noqa: PERF401 (the mistake)


@cute.jit
def dsl_coded__early_return(x: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    if tidx == 0:
        return
    cute.printf("{}", tidx)


@cute.jit
def dsl_coded__arguments(x: cute.Tensor):
    empty(x).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.jit
def dsl_name_undefined(x: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    if tidx == 0:
        value = 3
    cute.printf("{}", value)


@cute.jit
def dsl_python_types(x: cute.Tensor):
    cute.make_layout(8) + 1


@cute.jit
def dsl_not_an_mlir_value(x: cute.Tensor):
    cute.local_partition(x, cute.make_layout((3, 5)), 0)


@cute.jit
def dsl_type_refused(x: cute.Tensor):
    cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=24)


@cute.jit
def dsl_raised__broadcast(x: cute.Tensor):
    x.load() + cute.make_rmem_tensor((4,), cutlass.Float16).load()


@cute.jit
def dsl_raised(x: cute.Tensor):
    cutlass.pipeline.NamedBarrier(barrier_id=17, num_threads=128)


@cute.kernel
def fences(x: cute.Tensor):
    cute.arch.fence_proxy("async.shared")


@cute.jit
def dsl_lowered_operation(x: cute.Tensor):
    fences(x).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def loads(x: cute.Tensor):
    words = cute.recast_ptr(x.iterator, dtype=cutlass.Int32)
    cute.printf("{}", cute.arch.load(words, cutlass.Int32, cop="cg", level1_eviction_priority="evict_last"))


@cute.jit
def dsl_lowered_operation__load(x: cute.Tensor):
    loads(x).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.jit
def dsl_abstract_operation(x: cute.Tensor):
    cute.make_copy_atom(cute.nvgpu.cpasync.CopyOp(), cutlass.Float16)


@cute.jit
def dsl_call__method(x: cute.Tensor):
    cute.make_rmem_tensor((64,), cutlass.Float32).load().reduce("add")


@cute.jit
def dsl_enumeration(x: cute.Tensor):
    tcgen05.Repetition(3)


@cute.kernel
def adds(x: cute.Tensor):
    cute.arch.atomic_add(x, cutlass.Float16(1))


@cute.jit
def dsl_lowered_operation__tensor(x: cute.Tensor):
    adds(x).launch(grid=(1, 1, 1), block=(32, 1, 1))


def compiled(function):
    tensor = make_fake_compact_tensor(cutlass.Float16, (128, 64), stride_order=(1, 0), assumed_align=16)
    return lambda: cute.compile(function, tensor)


CALLS = {
    name: compiled(value)
    for name, value in list(globals().items())
    if name.startswith(("dsl_", "elsewhere_")) and callable(value)
}
CALLS |= {
    "dsl_coded__kernel": lambda: cute.compile(empty),
    "dsl_coded__missing": lambda: cute.compile(dsl_coded),
    "dsl_coded__outside": lambda: cute.make_layout((8, 4)),
    "dsl_torch_tensor_given": lambda: cute.compile(dsl_coded, np.zeros((8, 8))),
    "dsl_leading_stride": lambda: from_dlpack(np.zeros((8, 8)).T).mark_layout_dynamic(leading_dim=1),
    "dsl_assumption_false": lambda: from_dlpack(np.zeros((8, 8))).mark_compact_shape_dynamic(
        mode=0, stride_order=(0, 1), divisibility=3
    ),
}


def said(call):
    """What is raised, as Python prints it; "" where nothing is."""
    try:
        call()
    except BaseException as error:
        return "".join(traceback.format_exception_only(error))
    return ""


if __name__ == "__main__":
    json.dump({name: said(call) for name, call in CALLS.items()}, sys.stdout)
