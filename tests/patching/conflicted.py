"""Programs that read shared tensors by columns, written in many ways, and what the first repair writes.

Each reads a tile of 32 x 32 by rows and writes it by columns. `CONFLICTED` has the text, the lines that an
edit takes away and those that it puts there.
"""

from __future__ import annotations

from tests.patching.broken import HEAD

_KERNEL = (
    HEAD
    + """TILE = 32
PITCH = 32


{before}@cute.kernel
def kernel(src: cute.Tensor, dst: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
{made}
    row, col = tid // TILE, tid % TILE
    for i in cutlass.range_constexpr(0, TILE, 8):
        {write} = src[by * TILE + row + i, bx * TILE + col]
    cute.arch.sync_threads()
    for i in {turns}:
        dst[bx * TILE + row + i, by * TILE + col] = {read}


@cute.jit
def host(src: cute.Tensor, dst: cute.Tensor):
    kernel(src, dst).launch(grid=(2, 2, 1), block=(256, 1, 1){launch})


def tensor():
    return make_fake_tensor(cutlass.{dtype}, (64, 64), stride=(64, 1), assumed_align=16)


cute.compile(host, tensor(), tensor())
"""
)
_ALLOCATED = "    tile = smem.allocate_tensor(src.element_type, {layout}, {align})"
_ROWS = "cute.make_layout((TILE, TILE), stride=(TILE, 1))"
_WIDER = "cute.make_layout((TILE, TILE), stride=(TILE + 1, 1))"
_SWIZZLED = "1024, swizzle=cute.make_swizzle(5, 2, 5)"


def program(made: str, **other: str) -> str:
    """A program that makes its tile so."""
    given = {
        "before": "", "write": "tile[row + i, col]", "read": "tile[col, row + i]", "dtype": "Float32",
        "turns": "cutlass.range_constexpr(0, TILE, 8)", "launch": "",
    }  # fmt: skip
    return _KERNEL.format(made=made, **{**given, **other})


def allocated(layout: str, align: str = "16") -> str:
    """The statement that allocates the tile."""
    return _ALLOCATED.format(layout=layout, align=align)


_STRUCT = """@cute.struct
class Storage:
    bar: cute.struct.MemRange[cutlass.Int64, 2]
    tile: {member}
    after: cute.struct.MemRange[cutlass.Float32, 64]


"""
_MEMBER = "cute.struct.Align[cute.struct.MemRange[cutlass.Float32, {}], 128]"
_TENSOR = "    storage = smem.allocate(Storage)\n    tile = storage.tile.get_tensor({})"
_HELPER = """@cute.jit
def made(smem, n: cutlass.Constexpr):
    return smem.allocate_tensor(cutlass.Float32, cute.make_layout((n, n), stride=({}, 1)), 16)


"""
_VIEW = "\n    turned = cute.make_tensor(tile.iterator, cute.make_layout((TILE, TILE), stride=(1, {})))"
_POINTER = (
    "    base = cute.arch.alloc_smem(cutlass.Float32, TILE * PITCH)\n    tile = cute.make_tensor(base, {})"
)

CONFLICTED: dict[str, tuple[str, dict[str, str]]] = {
    "rows": (program(allocated(_ROWS)), {_ROWS: _WIDER}),
    "a loop": (program(allocated(_ROWS), turns="cutlass.range(0, TILE, 8)"), {_ROWS: _WIDER}),
    "an order": (
        program(allocated("cute.make_ordered_layout((TILE, TILE), order=(1, 0))")),
        {"cute.make_ordered_layout((TILE, TILE), order=(1, 0))": _WIDER},
    ),
    "columns": (
        program(
            allocated("cute.make_layout((TILE, TILE))"), write="tile[col, row + i]", read="tile[row + i, col]"
        ),
        {"cute.make_layout((TILE, TILE))": "cute.make_layout((TILE, TILE), stride=(1, TILE + 1))"},
    ),
    "numbers": (
        program(allocated("cute.make_layout((32, 32), stride=(32, 1))")),
        {"stride=(32, 1)": "stride=(33, 1)"},
    ),
    "halves": (program(allocated(_ROWS), dtype="BFloat16"), {_ROWS: _WIDER.replace("+ 1", "+ 2")}),
    "bytes": (program(allocated(_ROWS), dtype="Int8"), {_ROWS: _WIDER.replace("+ 1", "+ 4")}),
    "doubles": (program(allocated(_ROWS), dtype="Float64"), {_ROWS: _WIDER}),
    "stages": (
        program(
            allocated("cute.make_layout((TILE, TILE, 2), stride=(TILE, 1, TILE * TILE))"),
            write="tile[row + i, col, 1]",
            read="tile[col, row + i, 1]",
        ),
        {"stride=(TILE, 1, TILE * TILE)": "stride=(TILE + 1, 1, TILE * (TILE + 1))"},
    ),
    "a sum": (
        program(allocated("cute.make_layout((TILE, TILE), stride=(TILE + 4, 1))")),
        {"TILE + 4": "TILE + 5"},
    ),
    "a helper": (
        program("    tile = made(smem, TILE)", before=_HELPER.format("n")),
        {"stride=(n, 1)": "stride=(n + 1, 1)"},
    ),
    "a struct": (
        program(_TENSOR.format(_ROWS), before=_STRUCT.format(member=_MEMBER.format("TILE * TILE"))),
        {_ROWS: _WIDER, "TILE * TILE]": "TILE * (TILE + 1)]"},
    ),
    "a struct of a number": (
        program(_TENSOR.format(_ROWS), before=_STRUCT.format(member=_MEMBER.format("1024"))),
        {_ROWS: _WIDER, "1024]": "1056]"},
    ),
    "an array": (
        program(_POINTER.format(_ROWS).replace("PITCH", "TILE")),
        {_ROWS: _WIDER, "TILE * TILE)": "TILE * (TILE + 1))"},
    ),
    "a pitch": (
        program(
            _POINTER.format("cute.make_layout(TILE * PITCH)"),
            write="tile[(row + i) * PITCH + col]",
            read="tile[col * PITCH + row + i]",
        ),
        {"PITCH = 32": "PITCH = 33"},
    ),
    "a pointer": (
        program(
            "    base = cute.arch.alloc_smem(cutlass.Float32, TILE * PITCH)",
            read="(base + col * PITCH + row + i).load()",
        ).replace(
            "{} = src[by * TILE + row + i, bx * TILE + col]".format("tile[row + i, col]"),
            "(base + (row + i) * PITCH + col).store(src[by * TILE + row + i, bx * TILE + col])",
        ),
        {"PITCH = 32": "PITCH = 33"},
    ),
    "a turned view": (
        program(allocated(_ROWS) + _VIEW.format("tile.stride[0]"), read="turned[row + i, col]"),
        {_ROWS: _WIDER},
    ),
    # Longer rows of the one alone would put elements where the other does not read them.
    "a view with a pitch of its own": (
        program(allocated(_ROWS) + _VIEW.format("TILE"), read="turned[row + i, col]"),
        {_ROWS: _WIDER, "stride=(1, TILE))": "stride=(1, TILE + 1))"},
    ),
    "a view of numbers": (
        program(
            allocated(_ROWS) + "\n    line = cute.make_tensor(tile.iterator, cute.make_layout(TILE * TILE))",
            read="line[col * 32 + row + i]",
        ),
        {f"{_ROWS}, 16": f"{_ROWS}, {_SWIZZLED}"},
    ),
    # The first and the last block do not read through it.
    "a view of one block": (
        program(
            allocated(_ROWS) + "\n    line = cute.make_tensor(tile.iterator, cute.make_layout(TILE * TILE))",
            read="line[(row + i) * 32 + col] if bx < by else tile[col, row + i]",
        ),
        {f"{_ROWS}, 16": f"{_ROWS}, {_SWIZZLED}"},
    ),
    "no room": (  # that the launch asks for
        program(allocated(_ROWS), launch=", smem=4096"),
        {f"{_ROWS}, 16": f"{_ROWS}, {_SWIZZLED}"},
    ),
}
