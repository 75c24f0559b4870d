"""Broken programs by name, each a working kernel with one bug planted.

Every text is a whole script that compiles its kernel for fake tensors.
"""

from __future__ import annotations

HEAD = """import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_fake_tensor

"""

STAGED = (
    HEAD
    + """
@cute.kernel
def kernel(
    src: cute.Tensor, dst: cute.Tensor, layout: cute.Layout, load: cute.TiledCopy, store: cute.TiledCopy
):
    tid, _, _ = cute.arch.thread_idx()
    allocator = cutlass.memory.SmemAllocator()
    tile = allocator.allocate_tensor({dtype}, layout, byte_alignment={align})
    own = load.get_slice(tid)
    cute.copy(load, own.partition_S(src), own.partition_D(tile))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    back = store.get_slice(tid)
    held = cute.make_fragment_like(back.partition_S(tile))
    cute.copy(store, back.partition_S(tile), held)
    cute.copy(store, held, back.partition_D(dst))


@cute.jit
def host(src: cute.Tensor, dst: cute.Tensor):
    layout = cute.make_layout(({rows}, {columns}), stride={stride})
    threads = cute.make_layout({thr}, stride={thr_stride})
    values = cute.make_layout({val})
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), {dtype}, num_bits_per_copy={bits})
    plain = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), {dtype}, num_bits_per_copy={bits})
    load = cute.make_tiled_copy_tv(atom, threads, values)
    store = cute.make_tiled_copy_tv(plain, threads, values)
    kernel(src, dst, layout, load, store).launch(grid=(1, 1, 1), block=({block}, 1, 1))


def tensor():
    return make_fake_tensor({dtype}, ({rows}, {columns}), stride=({pitch}, 1), assumed_align={assumed})


cute.compile(host, tensor(), tensor())
"""
)


MATRIX = (
    HEAD
    + """
@cute.kernel
def kernel(src: cute.Tensor, layout: {kind}, load: cute.TiledCopy, mma: cute.TiledMma):
    tid, _, _ = cute.arch.thread_idx()
    allocator = cutlass.memory.SmemAllocator()
    tile = allocator.allocate_tensor({dtype}, layout, byte_alignment={align})
    own = load.get_slice(tid)
    cute.copy(load, own.partition_S(src), own.partition_D(tile))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    mine = mma.get_slice(tid)
    held = mma.make_fragment_A(mine.partition_A(tile))
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp({transpose}, 4), {dtype})
    read = cute.make_tiled_copy_A(atom, mma)
    rows = read.get_slice(tid).partition_S(tile)
    into = read.get_slice(tid).retile(held)
    for k in cutlass.range_constexpr(cute.size(held, mode=[2])):
        cute.copy(read, rows[None, None, k], into[None, None, k])


@cute.jit
def host(src: cute.Tensor):
    {layout}
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), {dtype}, num_bits_per_copy=128)
    threads = cute.make_layout((16, 8), stride=(8, 1))
    load = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8)))
    operation = warp.MmaF16BF16Op({dtype}, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(operation, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
    kernel(src, layout, load, mma).launch(grid=(1, 1, 1), block=(128, 1, 1))


cute.compile(host, make_fake_tensor({dtype}, ({rows}, 64), stride=(64, 1), assumed_align=16))
"""
)


def matrix(dtype: str, rows: int, bug: str) -> str:
    """A tile through shared memory to the registers of an MMA's operand A."""
    swizzled = (
        "atom_layout = cute.make_composed_layout(cute.make_swizzle(3, {}, 3), 0, "
        "cute.make_layout((8, 64), stride=(64, 1)))\n"
        f"    layout = cute.tile_to_shape(atom_layout, ({rows}, 64), (0, 1))"
    )
    given = {
        "dtype": f"cutlass.{dtype}", "rows": rows, "align": 1024, "transpose": False, "kind": "cute.Layout",
        "layout": f"layout = cute.make_layout(({rows}, 64), stride=(72, 1))",
    }  # fmt: skip
    composed = {"kind": "cute.ComposedLayout", "layout": swizzled.format(3)}
    given |= {
        "none": {},
        "turned": {"transpose": True},
        "turned, swizzled": {"transpose": True, **composed},
        "pitch": {"layout": f"layout = cute.make_layout(({rows}, 64), stride=(68, 1))"},
        "base": {"align": 8},
        "base, swizzled": {**composed, "align": 2},
        "fine swizzle": {**composed, "layout": swizzled.format(2)},
    }[bug]
    return MATRIX.format(**given)


_TYPES = {8: "cutlass.Int8", 16: "cutlass.BFloat16", 32: "cutlass.Float32"}


def staged(width: int, rows: int, columns: int, bug: str) -> str:
    """A tile through shared memory and back, by vectors along its rows; `width` are bits of an element."""
    vector, across = 128 // width, columns * width // 128
    down = 128 // across
    given = {
        "dtype": _TYPES[width],
        "rows": rows, "columns": columns, "align": 128, "stride": f"({columns}, 1)", "bits": 128,
        "block": 128,
        "thr": f"({down}, {across})", "thr_stride": f"({across}, 1)", "val": f"(1, {vector})",
        "pitch": columns, "assumed": 16,
    }  # fmt: skip
    given |= {
        "none": {},
        "odd pitch": {"stride": f"({columns + vector // 2}, 1)"},
        "one element more": {"stride": f"({columns + 1}, 1)"},
        "column major": {"stride": f"(1, {rows})"},
        "base": {"align": 4},
        "few threads": {"block": 64},
        "many threads": {"block": 256},
        "overlapping rows": {"stride": f"({columns - vector}, 1)"},
        "no promise": {"assumed": max(1, width // 8)},
        "pitch and block": {"stride": f"({columns + vector // 2}, 1)", "block": 256},
        "base and block": {"align": 4, "block": 64},
        "values across": {"val": f"({vector}, 1)"},
    }[bug]
    return STAGED.format(**given)


BUGS = (
    "odd pitch", "one element more", "column major", "base", "few threads", "many threads",
    "overlapping rows", "no promise", "values across", "pitch and block", "base and block",
)  # fmt: skip
SIZES = [(16, 64, 64), (16, 128, 64), (16, 128, 32), (32, 64, 32), (32, 64, 64), (32, 128, 32), (8, 64, 128),
         (8, 128, 64), (16, 64, 128), (32, 32, 64)]  # fmt: skip
TILES = [("BFloat16", 64), ("Float16", 64), ("BFloat16", 32), ("Float16", 128)]
MATRIX_BUGS = ("turned", "turned, swizzled", "pitch", "base", "base, swizzled", "fine swizzle")

_STAGED = [(bug, size) for bug in BUGS for size in SIZES]
_MATRIX = [(bug, tile) for bug in MATRIX_BUGS for tile in TILES]


def _staged(size: tuple[int, int, int], bug: str) -> str:
    width, rows, columns = size
    return f"staged {width}-bit {rows}x{columns}, {bug}"


def _matrix(tile: tuple[str, int], bug: str) -> str:
    return f"matrix {tile[0]} {tile[1]}x64, {bug}"


PROGRAMS = {
    **{_staged(size, bug): staged(*size, bug) for bug, size in _STAGED},
    **{_matrix(tile, bug): matrix(*tile, bug) for bug, tile in _MATRIX},
}
RIGHT = {
    **{_staged(size, bug): staged(*size, "none") for bug, size in _STAGED},
    **{_matrix(tile, bug): matrix(*tile, "none") for bug, tile in _MATRIX},
}
"""The working program that each was made from."""
