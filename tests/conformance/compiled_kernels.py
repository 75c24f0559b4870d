"""Kernels with one wrong copy each, as users write them; run as a module it compiles them for sm_90a.

One JSON line a kernel: its name and what `cute.compile` said, or null where it compiled. No GPU is needed.
"""

import json
import os
from collections.abc import Callable
from typing import Any

os.environ["CUTE_DSL_ARCH"] = "sm_90a"
os.environ["CUTE_DSL_DISABLE_FILE_CACHING"] = "1"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_fake_compact_tensor

BF16 = cutlass.BFloat16
Body = Callable[[Any, Any, Any], None]
BODIES: dict[str, Body] = {}


def kernel(body: Body) -> Body:
    BODIES[body.__name__] = body
    return body


def universal(bits: int = 128) -> Any:
    return cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), BF16, num_bits_per_copy=bits)


def cp_async(bits: int = 128) -> Any:
    return cute.make_copy_atom(cpasync.CopyG2SOp(), BF16, num_bits_per_copy=bits)


def view(m: Any, shape: Any, stride: Any) -> Any:
    return cute.make_tensor(m.iterator, cute.make_layout(shape, stride=stride))


def smem(shape: Any, stride: Any, element: Any = BF16, align: int = 16) -> Any:
    layout = cute.make_layout(shape, stride=stride)
    return cutlass.memory.SmemAllocator().allocate_tensor(element, layout, byte_alignment=align)


def rmem(shape: Any, element: Any = BF16) -> Any:
    return cute.make_rmem_tensor(cute.make_layout(shape), element)


@kernel
def element_width(m: Any, o: Any, ld: Any) -> None:
    cute.copy(universal(), view(m, (8,), (1,)), rmem((8,), cutlass.Float32))


@kernel
def rank(m: Any, o: Any, ld: Any) -> None:
    cute.copy(universal(), view(m, (8, 2), (1, 8)), rmem((16,)))


@kernel
def mode_1_size(m: Any, o: Any, ld: Any) -> None:
    cute.copy(universal(), view(m, (8, 2), (1, 8)), rmem((8, 4)))


@kernel
def grouped_rest(m: Any, o: Any, ld: Any) -> None:
    cute.copy(universal(), view(m, (8, 2, 3), (1, 8, 16)), smem((8, 3, 2), (1, 8, 24)))


@kernel
def dynamic_rest(m: Any, o: Any, ld: Any) -> None:
    cute.copy(universal(), view(m, (8, ld), (1, 8)), view(o, (8, ld), (1, 8)))


@kernel
def source_alignment(m: Any, o: Any, ld: Any) -> None:
    tid = cute.arch.thread_idx()[0]
    cute.copy(cp_async(), view(m, (8, 64), (1, 9))[None, tid], smem((8,), (1,)))


@kernel
def not_contiguous(m: Any, o: Any, ld: Any) -> None:
    cute.copy(universal(), view(m, (8,), (64,)), rmem((8,)))


@kernel
def v_shorter_than_the_vector(m: Any, o: Any, ld: Any) -> None:
    cute.copy(universal(), view(m, (4,), (1,)), rmem((4,)))


@kernel
def cp_async_width(m: Any, o: Any, ld: Any) -> None:
    cute.copy(cp_async(16), view(m, (8,), (1,)), smem((8,), (1,)))


@kernel
def cp_async_to_registers(m: Any, o: Any, ld: Any) -> None:
    cute.copy(cp_async(), view(m, (8,), (1,)), rmem((8,)))


@kernel
def dynamic_stride_of_g2r(m: Any, o: Any, ld: Any) -> None:
    atom = cute.make_copy_atom(cute.nvgpu.CopyG2ROp(), BF16, num_bits_per_copy=128)
    cute.copy(atom, view(m, (8,), (ld,)), rmem((8,)))


@kernel
def ldmatrix_from_global(m: Any, o: Any, ld: Any) -> None:
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), BF16)
    cute.copy(atom, view(m, (8,), (1,)), rmem((8,)))


@kernel
def predicate_shape(m: Any, o: Any, ld: Any) -> None:
    pred = rmem((2, 2), cutlass.Boolean)
    shape, stride = ((8, 1), 2), ((1, 0), 8)
    cute.copy(cp_async(), view(m, shape, stride), smem(shape, stride), pred=pred)


@kernel
def nested_v_under_unroll_factor(m: Any, o: Any, ld: Any) -> None:
    shape, stride = ((8, 1, 1), 2), ((1, 0, 0), 8)
    cute.copy(universal(), view(m, shape, stride), smem(shape, stride), unroll_factor=2)


@kernel
def autovec_of_another_size(m: Any, o: Any, ld: Any) -> None:
    cute.autovec_copy(view(m, (16,), (1,)), rmem((8,)))


@kernel
def unroll_factor_checks_nothing_else(m: Any, o: Any, ld: Any) -> None:
    cute.copy(universal(), view(m, (8, 2), (2, 16)), smem((8, 2), (1, 8)), unroll_factor=2)


@cute.kernel
def run(m: cute.Tensor, o: cute.Tensor, ld: cutlass.Int32, body: cutlass.Constexpr) -> None:
    body(m, o, ld)


@cute.jit
def launch(m: cute.Tensor, o: cute.Tensor, ld: cutlass.Int32, body: cutlass.Constexpr) -> None:
    run(m, o, ld, body).launch(grid=(1, 1, 1), block=(32, 1, 1))


def error_of(m: Any, body: Body) -> str | None:
    try:
        cute.compile(launch, m, m, cutlass.Int32(64), body)
    except Exception as error:
        return str(error)
    return None


def main() -> None:
    m = make_fake_compact_tensor(BF16, (65536,), assumed_align=16)
    for name, body in BODIES.items():
        print(json.dumps([name, error_of(m, body)]), flush=True)


if __name__ == "__main__":
    main()
