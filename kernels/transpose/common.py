"""What the variants share: the tile of the report, the views that make a transpose a copy, fake arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import cutlass
from cuda.bindings import runtime as cuda
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

N_TILE, M_TILE = 128, 64
"""The tile of NVIDIA/cutlass#2320: 64 rows of `x`, 128 contiguous elements each."""

THREADS = 256

SECTOR, LINE = 32, 128
"""Bytes that the L2 is asked for at least, and that it holds together."""

SMEM_KIB = 228
"""Shared memory of an sm_90 multiprocessor; a thread block takes 1 KiB more than it asks for."""

GRID_Y = 65535
"""Blocks along y that a grid can have (CUDA C++ Programming Guide, compute capabilities)."""

MULTIPROCESSORS = 132
"""Of an H100 or H200 (SXM), where no device can be asked."""

SOON, AFTER = 1, 2
"""Kernels that may start early: those behind may as soon as all blocks have started, or have waited."""

EVICT_FIRST, EVICT_LAST = 0x12F0000000000000, 0x14F0000000000000
"""L2 cache policies as `createpolicy.fractional.L2` makes them for fraction 1."""


class Kernel(NamedTuple):
    """A host launcher `host(x, y, stream)` and arguments that compile it without a GPU."""

    host: Callable[..., None]
    args: tuple[Any, ...]

    def compile(self, **kwargs: Any) -> Any:
        """The compiled launcher; call it with DLPack tensors of the same strides and a `CUstream`."""
        return cute.compile(self.host, *self.args, **kwargs)


TYPES: dict[int, Any] = {1: cutlass.Uint8, 2: cutlass.BFloat16, 4: cutlass.Float32, 8: cutlass.Int64}
"""What stands for all types of so many bytes."""


def multiprocessors() -> int:
    """Of the device at hand."""
    status, found = cuda.cudaDeviceGetAttribute(cuda.cudaDeviceAttr.cudaDevAttrMultiProcessorCount, 0)
    return int(found) if status == cuda.cudaError_t.cudaSuccess else MULTIPROCESSORS


def fake_args(dtype: Any = cutlass.BFloat16, align_bytes: int = 16) -> tuple[Any, ...]:
    """`x` (M,N):(ldx,1), `y` (N,M):(ldy,1) and a stream: all extents dynamic, the last stride 1."""
    m, n = cute.sym_int32(), cute.sym_int32()
    x = make_fake_tensor(dtype, (m, n), (cute.sym_int64(), 1), assumed_align=align_bytes)
    y = make_fake_tensor(dtype, (n, m), (cute.sym_int64(), 1), assumed_align=align_bytes)
    return x, y, make_fake_stream()


@cute.jit
def transpose_view(x: cute.Tensor, vector: cutlass.Constexpr = 8) -> cute.Tensor:
    """`x` (M,N):(ld,1) seen as (N,M):(1,ld): a transpose is a copy between this view and `y`.

    `vector` elements divide `ld`; the compiler has to be told, or no 16-byte access is provably aligned. A
    third mode, the matrices of a batch, stays the third.
    """
    m, n = x.shape[0], x.shape[1]
    layout = cute.make_layout((n, m), stride=(1, divisible(x.stride[0], vector)))
    if cutlass.const_expr(cute.rank(x) == 3):
        strides = (1, divisible(x.stride[0], vector), divisible(x.stride[2], vector))
        layout = cute.make_layout((n, m, x.shape[2]), stride=strides)
    return cute.make_tensor(x.iterator, layout)


@cute.jit
def short_view(t: cute.Tensor, vector: cutlass.Constexpr) -> cute.Tensor:
    """As `transpose_view`, with a pitch of 32 bits, whose product with a row takes one instruction."""
    view = transpose_view(t, vector)
    pitch = t.stride[0] if isinstance(t.stride[0], int) else divisible(cutlass.Int32(t.stride[0]), vector)
    return cute.make_tensor(view.iterator, cute.make_layout(view.shape, stride=(1, pitch, *view.stride[2:])))


@cute.jit
def enter(early: cutlass.Constexpr):
    """The first thing a kernel does. `early`: SOON or AFTER, if it may start before the one ahead has ended.

    It waits for that here. Those that come after it and are launched so may start as soon as all its blocks
    have begun, or have waited (programmatic dependent launch, sm_90 and later). SOON, several kernels may
    wait at a time, where there is room: all of the latency of a launch is hidden, but each gets what places
    the others leave, so that its blocks may lie unevenly on the multiprocessors.
    """
    let_others_start(early)
    wait_now(early)


@cute.jit
def let_others_start(early: cutlass.Constexpr):
    """The first thing a kernel does that waits later: those that come after it may start, if SOON."""
    if cutlass.const_expr(early == SOON):
        cute.arch.griddepcontrol_launch_dependents()


@cute.jit
def wait_now(early: cutlass.Constexpr):
    """Wait for the kernel ahead; those that come after this may start now, if AFTER."""
    if cutlass.const_expr(early > 0):
        cute.arch.griddepcontrol_wait()
    if cutlass.const_expr(early == AFTER):
        cute.arch.griddepcontrol_launch_dependents()


@cute.jit
def wait_at(early: cutlass.Constexpr, place: cutlass.Int32 | cutlass.Int64):
    """Wait for the kernel ahead once `place`, where the first load reads, has been worked out.

    The wait depends on `place`: otherwise the compiler moves the address arithmetic behind the wait, where it
    delays the loads. `place` is never the least number of its type, so all threads wait.
    """
    if cutlass.const_expr(early > 0):
        least = cutlass.const_expr(-(1 << (place.width - 1)))
        if place != least:
            wait_now(early)


@cute.jit
def enter_fetching(
    early: cutlass.Constexpr,
    residents: cutlass.Constexpr,
    t: cute.Tensor,
    first: cutlass.Int64,
    apart: cutlass.Int64,
    runs: cutlass.Int32,
    length: cutlass.Int32,
    place: cutlass.Int32 | None = None,
):
    """As `enter`; what the block is going to load comes to the L2 while it waits.

    That is `runs` runs of `length` elements, `apart` from one to the next, the first at element `first` of
    the memory of `t`. The L2 is where the writes of the kernel ahead meet, so what it still writes is not
    missed; nothing comes nearer before it has ended. Only the first blocks can find that they have to wait,
    `residents` of a multiprocessor. `place`: see `wait_at`.
    """
    let_others_start(early)
    if cutlass.const_expr(early > 0):
        bx, by, bz = cute.arch.block_idx()
        wide, high, _ = cute.arch.grid_dim()
        if bx + wide * (by + high * bz) < multiprocessors() * residents:
            fetch_runs(t, first, apart, runs, length)
        if cutlass.const_expr(place is None):
            wait_now(early)
        else:
            wait_at(early, place)


@cute.jit
def fetch_runs(
    t: cute.Tensor,
    first: cutlass.Int64,
    apart: cutlass.Int64,
    runs: cutlass.Int32,
    length: cutlass.Int32,
):
    """See `enter_fetching`: whole 16-byte chunks, none that reaches out of its run."""
    threads, _, _ = cute.arch.block_dim()
    tid, _, _ = cute.arch.thread_idx()
    bytes_each = t.element_type.width // 8
    # Runs side by side go to different warps, each of which asks for its own one by one.
    for run in cutlass.range(tid % 32 * (threads // 32) + tid // 32, runs, threads, unroll=1):
        begin = t.iterator.toint() + (first + run * apart) * bytes_each
        end = (begin + length * bytes_each) & ~15
        begin = (begin + 15) & ~15
        if end > begin:
            fetch_to_l2(begin, cutlass.Int32(end - begin))


@cute.jit
def fetch_lines(
    early: cutlass.Constexpr,
    residents: cutlass.Constexpr,
    t: cute.Tensor,
    first: cutlass.Int64,
    pitch: cutlass.Int64,
    rows: cutlass.Int32,
    length: cutlass.Int32,
    most: cutlass.Constexpr,
):
    """As `enter_fetching` before it waits, by a line a thread: the quickest way for short runs.

    Of `rows` runs of `length` elements, `pitch` apart; `most`: how many these are at most, and lines of each.
    """
    if cutlass.const_expr(early > 0):
        bx, by, bz = cute.arch.block_idx()
        wide, high, _ = cute.arch.grid_dim()
        if bx + wide * (by + high * bz) < multiprocessors() * residents:
            threads, _, _ = cute.arch.block_dim()
            tid, _, _ = cute.arch.thread_idx()
            count, lines = most
            for i in cutlass.range(tid, count * lines, threads, unroll=1):
                if i // lines < rows:
                    across = min(i % lines * (8 * LINE // t.element_type.width), length - 1)
                    fetch_line(t, first + i // lines * pitch + across)


def fetch_line(t: cute.Tensor, place: cutlass.Int64) -> None:
    """Ask for the line of element `place` of the memory of `t`, and keep it."""
    cute.arch.inline_ptx(
        "prefetch.global.L2::evict_last [{$r0}];",
        read_only_args=[t.iterator.toint() + place * (t.element_type.width // 8)],
    )


def fetch_to_l2(address: cutlass.Int64, size: cutlass.Int32) -> None:
    """Ask for `size` bytes of global memory from `address` on, both multiples of 16, and keep their lines."""
    cute.arch.inline_ptx(
        "cp.async.bulk.prefetch.L2.global.L2::cache_hint [{$r0}], {$r1}, {$r2};",
        read_only_args=[address, size, cutlass.Int64(EVICT_LAST)],
    )


@cute.jit
def fetch_ends(
    t: cute.Tensor,
    first: cutlass.Int64,
    apart: cutlass.Int64,
    runs: cutlass.Int32,
    length: cutlass.Int32,
):
    """As `fetch_runs`, what will be stored: the sectors at both ends, as far as they hold others' bytes, too.

    Such a sector is read in any case; where nobody asks, that begins with the store.
    """
    threads, _, _ = cute.arch.block_dim()
    tid, _, _ = cute.arch.thread_idx()
    for i in cutlass.range(tid, 2 * runs, threads, unroll=1):
        end = t.iterator.toint() + (first + (i >> 1) * apart + (i & 1) * length) * (t.element_type.width // 8)
        if end & 31 > 0:
            cute.arch.inline_ptx("prefetch.global.L2 [{$r0}];", read_only_args=[end])


def worked_out(places: list[cutlass.Int32]) -> list[cutlass.Int32]:
    """`places`, computed here and not where they are used, as the compiler would: past the wait for loads."""
    return [
        cute.arch.inline_ptx(
            "mov.b32 {$w0}, {$r0};", write_only_types=[cutlass.Int32], read_only_args=[cutlass.Int32(place)]
        )
        for place in places
    ]


def matrices(x: cute.Tensor, y: cute.Tensor) -> tuple[Any, tuple[Any, Any]]:
    """Matrices of a batch, one if it is none, and elements from one to the next, of `x` and of `y`."""
    if cute.rank(x) == 3:
        return x.shape[2], (cutlass.Int64(x.stride[2]), cutlass.Int64(y.stride[2]))
    return 1, (cutlass.Int64(0), cutlass.Int64(0))


def start_in(t: cute.Tensor, run: int) -> Any:
    """Elements from the boundary of a run of so many up to the first of `t`."""
    return t.iterator.toint() // (t.element_type.width // 8) % run


@cute.jit
def matrix_of(t: cute.Tensor) -> cute.Tensor:
    """The matrix of a batch that this block works on; `t` itself if it is one."""
    _, _, item = cute.arch.block_idx()
    if cutlass.const_expr(cute.rank(t) == 3):
        return t[None, None, item]
    return t


@cute.jit
def row_view(y: cute.Tensor, vector: cutlass.Constexpr = 8) -> cute.Tensor:
    """`y` (N,M):(ld,1) with `ld` known to be a multiple of `vector` elements."""
    return cute.make_tensor(y.iterator, cute.make_layout(y.shape, stride=(divisible(y.stride[0], vector), 1)))


def divisible(value: cutlass.Int64 | int, by: int) -> cutlass.Int64 | int:
    """`value`, promised to be a multiple of `by`; a number that is known stays as it is."""
    return value if isinstance(value, int) else cute.assume(value, divby=by)


@cute.jit
def tile_grid(xt: cute.Tensor):
    """One block a tile, M along x and N along y. M and N have to be multiples of the tile."""
    n, m = xt.shape
    return m // M_TILE, n // N_TILE, 1


@cute.jit
def strips(xt: cute.Tensor, tile: cutlass.Constexpr, group: cutlass.Constexpr):
    """The grid that walks strips of `group` tiles along M (0: all of M), tiles along M first.

    Block (x, y, z) takes tile (y, x + z * group) of (N, M); the last strip may reach past M. At most 65535
    tiles along N. A batch takes z for its matrices: ValueError if it is to have strips.
    """
    if cutlass.const_expr(cute.rank(xt) == 3 and group > 0):
        raise ValueError(f"a batch has no strips, of {group} tiles or any")
    n, m = xt.shape[0], xt.shape[1]
    tiles_n, tiles_m = (n + tile[0] - 1) // tile[0], (m + tile[1] - 1) // tile[1]
    grid = (tiles_m, tiles_n, 1)
    if cutlass.const_expr(cute.rank(xt) == 3):
        grid = (tiles_m, tiles_n, xt.shape[2])
    elif cutlass.const_expr(group > 0):
        grid = (cutlass.Int32(group), tiles_n, (tiles_m + group - 1) // group)
    return grid


@cute.jit
def store_rows(tile: cute.Tensor, gmem: cute.Tensor, tid: cutlass.Int32, read_bits: cutlass.Constexpr = 128):
    """Write a (N_TILE,M_TILE) shared-memory tile to `gmem` (N_TILE,M_TILE):(ld,1), 16 bytes a thread.

    `read_bits` is the width of the shared-memory reads: 128 where `tile` is M-major as `gmem` is, else one
    element.
    """
    dtype = tile.element_type
    vector = 128 // dtype.width
    columns = M_TILE // vector
    read = cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=read_bits)
    write = cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=128)
    thr = cute.make_layout((THREADS // columns, columns), stride=(columns, 1))
    mine = cute.make_tiled_copy_tv(write, thr, cute.make_layout((1, vector))).get_slice(tid)
    src, dst = mine.partition_S(tile), mine.partition_D(gmem)
    registers = cute.make_rmem_tensor(src.shape, dtype)
    cute.copy(read, src, registers)
    cute.copy(write, registers, dst)
