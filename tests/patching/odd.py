"""Programs with a bug for which an edit is hard to find, or for which no edit of the program is safe."""

from __future__ import annotations

from tests.patching.broken import HEAD

PLAIN = (
    HEAD
    + """
@cute.kernel
def kernel(src: cute.Tensor, dst: cute.Tensor):
{body}


@cute.jit
def host(src: cute.Tensor, dst: cute.Tensor):
    kernel(src, dst).launch(grid=(1, 1, 1), block=({threads}, 1, 1))


def tensor():
    return make_fake_tensor({dtype}, (4096,), stride=(1,), assumed_align=16)


cute.compile(host, tensor(), tensor())
"""
)
_SHARED = """    allocator = cutlass.memory.SmemAllocator()
    tile = allocator.allocate_tensor({}, cute.make_layout({}), byte_alignment=128)
"""
_ASYNC = "    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.BFloat16, num_bits_per_copy=128)\n"
_MATRIX = """    held = cute.make_rmem_tensor(cute.make_layout({0}), cutlass.BFloat16)
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), cutlass.BFloat16)
    rows = cute.make_tensor(tile.iterator, cute.make_layout({0}, stride={1}))
    cute.copy(atom, rows, held)
    for i in cutlass.range_constexpr(cute.size(held)):
        dst[i] = held[i]"""


def _plain(body: str, dtype: str = "cutlass.BFloat16", threads: int = 1) -> str:
    return PLAIN.format(body=body, dtype=dtype, threads=threads)


MAPPED = (
    HEAD
    + """
@cute.kernel
def kernel(atom: cute.CopyAtom, whole: cute.Tensor):
    allocator = cutlass.memory.SmemAllocator()
    bar = allocator.allocate_array(cutlass.Int64, 1)
    tile = allocator.allocate_tensor(cutlass.BFloat16, cute.make_layout((64, 64), stride=(64, 1)), 1024)
    part = cute.local_tile(whole, (64, 64), (0, 0))
    into, out = cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(tile, 0, 2), cute.group_modes(part, 0, 2)
    )
    cute.copy(atom, out, {into}, tma_bar_ptr=bar)


@cute.jit
def host(given: cute.Tensor):
    view = cute.make_tensor(given.iterator, cute.make_layout({shape}, stride={stride}))
    load = cpasync.CopyBulkTensorTileG2SOp()
    shared = cute.make_layout((64, 64), stride=(64, 1))
    atom, whole = cpasync.make_tiled_tma_atom(load, view, shared, (64, 64))
    kernel(atom, whole).launch(grid=(1, 1, 1), block=(32, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.BFloat16, (65536,), stride=(1,), assumed_align=16))
"""
)

ODD = {
    "two vectors in V": _plain(
        "    part = cute.make_tensor(src.iterator, cute.make_layout((16,)))\n"
        + _SHARED.format("cutlass.BFloat16", "(16,)")
        + _ASYNC
        + "    cute.copy(atom, part, tile)"
    ),
    "half a vector in V": _plain(
        "    part = cute.make_tensor(src.iterator, cute.make_layout((4,)))\n"
        + _SHARED.format("cutlass.BFloat16", "(4,)")
        + _ASYNC
        + "    cute.copy(atom, part, tile)"
    ),
    "float predicate": _plain(
        "    part = cute.make_tensor(src.iterator, cute.make_layout(((8, 1), 2)))\n"
        + _SHARED.format("cutlass.BFloat16", "((8, 1), 2)")
        + "    wanted = cute.make_tensor(dst.iterator, cute.make_layout((1, 2)))\n"
        + _ASYNC
        + "    cute.copy(atom, part, tile, pred=wanted)"
    ),
    "rows of stride 64": _plain(
        _SHARED.format("cutlass.BFloat16", "(1024,)") + _MATRIX.format("((8, 1), 1)", "((64, 0), 0)"),
        threads=32,
    ),
    "rows at pitch 9": _plain(
        _SHARED.format("cutlass.BFloat16", "(1024,)") + _MATRIX.format("((8, 1), 2)", "((1, 0), 9)"),
        threads=32,
    ),
    "recast at an odd pitch": _plain(
        "    part = cute.make_tensor(src.iterator, cute.make_layout((8, 8), stride=(63, 1)))\n"
        "    wide = cute.recast_tensor(part, cutlass.Float32)\n"
        + _SHARED.format("cutlass.Float32", "(8, 4), stride=(4, 1)")
        + "    kind = cute.nvgpu.CopyUniversalOp()\n"
        "    atom = cute.make_copy_atom(kind, cutlass.Float32, num_bits_per_copy=32)\n"
        "    cute.copy(atom, wide, tile)"
    ),
    "every second nibble": _plain(
        "    part = cute.make_tensor(src.iterator, cute.make_layout((8,), stride=(2,)))\n"
        "    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float4E2M1FN)\n"
        "    cute.copy(atom, part, cute.make_tensor(dst.iterator, cute.make_layout((8,))))",
        "cutlass.Float4E2M1FN",
    ),
    "TMA, pitch 500 B": MAPPED.format(into="into", shape="(256, 250)", stride="(250, 1)"),
    "TMA, every second element": MAPPED.format(into="into", shape="(256, 128)", stride="(256, 2)"),
    "TMA, base past 8 B": MAPPED.format(
        into="cute.make_tensor(into.iterator + 4, into.layout)", shape="(256, 256)", stride="(256, 1)"
    ),
}  # fmt: skip
"""Like public and private reports of copies that nothing checks, each as a whole program."""

EDITS = {
    "two vectors in V": ["stride=((1, 8), (0,))", "stride=((1, 8), (0,))"],
    "half a vector in V": ["num_bits_per_copy=64"],
    "recast at an odd pitch": ["num_bits_per_copy=16), part, cute.recast_tensor(tile, cutlass.BFloat16))"],
    "float predicate": ["pred =", "for i in", "pred[i] = wanted[i] != 0", "pred=pred"],
}
"""What the lines of the repair hold."""
