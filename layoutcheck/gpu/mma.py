"""One MMA atom, launched over many tiles: D = A B + C for a batch of products, raw encodings in and out.

`tiles(op)` builds the launcher for a CuTe operation. A is (M, K, L), B is (N, K, L), both K-major; C and D
are (M, N, L), N-major. One block computes one atom-sized tile of one batch entry by chaining the atom
over K: the same kernel runs single test vectors (K = one instruction, L many) and whole GEMMs (L = 1).
Operands go from global memory to the fragments the simplest way: speed is not the point, bits are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cutlass
import cutlass.cute as cute
from cutlass import utils
from cutlass.cute.nvgpu import OperandMajorMode, warp, warpgroup
from cutlass.cute.runtime import make_ptr

TYPES = {
    "f16": cutlass.Float16,
    "bf16": cutlass.BFloat16,
    "tf32": cutlass.TFloat32,
    "e4m3": cutlass.Float8E4M3FN,
    "e5m2": cutlass.Float8E5M2,
    "f32": cutlass.Float32,
}
UNSIGNED = {8: cutlass.Uint8, 16: cutlass.Uint16, 32: cutlass.Uint32}


def operation(kind: str, n: int, k: int, a: str, b: str, accumulator: str) -> Any:
    """The CuTe operation of that kind ("mma" or "wgmma") and shape."""
    a_type, b_type, acc = TYPES[a], TYPES[b], TYPES[accumulator]
    if kind == "wgmma":
        where = (warpgroup.OperandSource.SMEM, OperandMajorMode.K, OperandMajorMode.K)
        if a_type.width == 8:
            return warpgroup.MmaF8Op(a_type, b_type, acc, (64, n, k), *where)
        return warpgroup.MmaF16BF16Op(a_type, acc, (64, n, k), *where)
    if a == "tf32":
        return warp.MmaTF32Op((16, 8, k))
    if a_type.width == 8:
        return warp.MmaFP8Op(a_type, acc, (16, 8, k))
    return warp.MmaF16BF16Op(a_type, acc, (16, 8, k))


def _block_tiles(a: Any, b: Any, c: Any, d: Any, m: Any, n: Any, k: Any, op: Any) -> tuple[Any, ...]:
    """The block's tiles of A and B, with a mode for the steps along K, and of C and D."""
    tile_m, tile_n, tile_k = op.shape_mnk
    bx, by, bz = cute.arch.block_idx()
    row, column, entry = cutlass.Int64(bx) * tile_m, cutlass.Int64(by) * tile_n, cutlass.Int64(bz)
    across = k // tile_k
    ga = cute.make_tensor(
        a + (entry * m + row) * k, cute.make_layout((tile_m, tile_k, across), stride=(k, 1, tile_k))
    )
    gb = cute.make_tensor(
        b + (entry * n + column) * k, cute.make_layout((tile_n, tile_k, across), stride=(k, 1, tile_k))
    )
    at = (entry * m + row) * n + column
    gc = cute.make_tensor(c + at, cute.make_layout((tile_m, tile_n), stride=(n, 1)))
    gd = cute.make_tensor(d + at, cute.make_layout((tile_m, tile_n), stride=(n, 1)))
    return ga, gb, gc, gd


@cute.kernel  # type: ignore[untyped-decorator]
def _warp_tile(
    a: cute.Pointer, b: cute.Pointer, c: cute.Pointer, d: cute.Pointer,
    m: cutlass.Int32, n: cutlass.Int32, k: cutlass.Int32,
    op: cutlass.Constexpr,
) -> None:  # fmt: skip
    mma = cute.make_tiled_mma(op)
    lane, _, _ = cute.arch.thread_idx()
    ga, gb, gc, gd = _block_tiles(a, b, c, d, m, n, k, op)
    thread = mma.get_slice(lane)
    ta, tb = thread.partition_A(ga), thread.partition_B(gb)
    tc, td = thread.partition_C(gc), thread.partition_C(gd)
    ra = mma.make_fragment_A(ta[None, None, None, 0])
    rb = mma.make_fragment_B(tb[None, None, None, 0])
    accumulator = mma.make_fragment_C(tc)
    cute.basic_copy(tc, accumulator)
    for step in range(k // op.shape_mnk[2]):
        cute.basic_copy(ta[None, None, None, step], ra)
        cute.basic_copy(tb[None, None, None, step], rb)
        cute.gemm(mma, accumulator, ra, rb, accumulator)
    cute.basic_copy(accumulator, td)


@cute.kernel  # type: ignore[untyped-decorator]
def _warpgroup_tile(
    a: cute.Pointer, b: cute.Pointer, c: cute.Pointer, d: cute.Pointer,
    m: cutlass.Int32, n: cutlass.Int32, k: cutlass.Int32,
    op: cutlass.Constexpr,
) -> None:  # fmt: skip
    mma = cute.make_tiled_mma(op)
    tile_m, tile_n, tile_k = op.shape_mnk
    thread_index, _, _ = cute.arch.thread_idx()
    ga, gb, gc, gd = _block_tiles(a, b, c, d, m, n, k, op)

    kind = warpgroup.SmemLayoutAtomKind.K_INTER  # no swizzle
    shape_a = cute.tile_to_shape(
        warpgroup.make_smem_layout_atom(kind, op.a_dtype), (tile_m, tile_k), order=(0, 1)
    )
    shape_b = cute.tile_to_shape(
        warpgroup.make_smem_layout_atom(kind, op.b_dtype), (tile_n, tile_k), order=(0, 1)
    )
    smem = utils.SmemAllocator()
    sa = smem.allocate_tensor(op.a_dtype, shape_a.outer, byte_alignment=128)
    sb = smem.allocate_tensor(op.b_dtype, shape_b.outer, byte_alignment=128)
    bits_a = cute.recast_tensor(sa, UNSIGNED[op.a_dtype.width])
    bits_b = cute.recast_tensor(sb, UNSIGNED[op.b_dtype.width])
    from_a = cute.recast_tensor(ga, UNSIGNED[op.a_dtype.width])
    from_b = cute.recast_tensor(gb, UNSIGNED[op.b_dtype.width])

    thread = mma.get_slice(thread_index)
    tc, td = thread.partition_C(gc), thread.partition_C(gd)
    ra, rb = mma.make_fragment_A(thread.partition_A(sa)), mma.make_fragment_B(thread.partition_B(sb))
    accumulator = mma.make_fragment_C(tc)
    cute.basic_copy(tc, accumulator)
    mma.set(warpgroup.Field.ACCUMULATE, True)
    for step in range(k // tile_k):
        for index in range(thread_index, tile_m * tile_k, 128):
            bits_a[index // tile_k, index % tile_k] = from_a[index // tile_k, index % tile_k, step]
        for index in range(thread_index, tile_n * tile_k, 128):
            bits_b[index // tile_k, index % tile_k] = from_b[index // tile_k, index % tile_k, step]
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_threads()
        warpgroup.fence()
        cute.gemm(mma, accumulator, ra, rb, accumulator)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        cute.arch.sync_threads()
    cute.basic_copy(accumulator, td)


@cute.jit  # type: ignore[untyped-decorator]
def _launch(
    a: cute.Pointer, b: cute.Pointer, c: cute.Pointer, d: cute.Pointer,
    m: cutlass.Int32, n: cutlass.Int32, k: cutlass.Int32, entries: cutlass.Int32,
    op: cutlass.Constexpr,
) -> None:  # fmt: skip
    tile_m, tile_n, _ = op.shape_mnk
    grid = (m // tile_m, n // tile_n, entries)
    if cutlass.const_expr(tile_m == 64):
        _warpgroup_tile(a, b, c, d, m, n, k, op).launch(grid=grid, block=(128, 1, 1))
    else:
        _warp_tile(a, b, c, d, m, n, k, op).launch(grid=grid, block=(32, 1, 1))


def pointer(dtype: Any, address: int = 0) -> Any:
    """A 16-byte-aligned pointer into global memory."""
    return make_ptr(dtype, address, cute.AddressSpace.gmem, assumed_align=16)


def tiles(op: Any) -> Callable[..., None]:
    """The compiled launcher `run(a, b, c, d, m, n, k, entries)`, addresses as integers; no GPU needed."""
    a_type = getattr(op, "a_dtype", None) or getattr(op, "ab_dtype", cutlass.TFloat32)
    b_type = getattr(op, "b_dtype", None) or a_type
    acc = getattr(op, "acc_dtype", cutlass.Float32)
    types = (a_type, b_type, acc, acc)
    compiled = cute.compile(_launch, *(pointer(t) for t in types), 16, 8, 16, 1, op)

    def run(*arguments: int) -> None:
        addresses, sizes = arguments[:4], arguments[4:]
        compiled(*(pointer(t, x) for t, x in zip(types, addresses, strict=True)), *sizes)

    return run
