"""Programs whose tiles leave the tensor, cut in the kernel or by the host; none is guarded rightly."""

from __future__ import annotations

from tests.patching.broken import HEAD

KERNEL = (
    HEAD
    + """
@cute.kernel
def kernel(src: cute.Tensor, dst: cute.Tensor, tiled: cute.TiledCopy):
    tid, _, _ = cute.arch.thread_idx()
    row, column, _ = cute.arch.block_idx()
    source = {source}
    target = {target}
    own = tiled.get_slice(tid)
    mine = own.partition_S(source)
{before}
    cute.copy(tiled, mine, held{pred})
{after}


@cute.jit
def host(src: cute.Tensor, dst: cute.Tensor):
    atom = cute.make_copy_atom({operation}(), cutlass.Float32, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(
        atom, cute.make_layout((4, 8), stride=(8, 1)), cute.make_layout((1, 4))
    )
    kernel({given}, tiled).launch(grid={grid}, block=(32, 1, 1))


def tensor():
    return make_fake_tensor(cutlass.Float32, {shape}, stride={stride}, assumed_align=16)


cute.compile(host, tensor(), tensor())
"""
)

_TILES = {"source": "cute.local_tile(src, (32, 32), (row, column))",
          "target": "cute.local_tile(dst, (32, 32), (row, column))", "given": "src, dst"}  # fmt: skip
_BY_HOST = {
    "source": "src[(None, None), (row, column)]",
    "target": "dst[(None, None), (row, column)]",
    "given": "cute.zipped_divide(src, (32, 32)), cute.zipped_divide(dst, (32, 32))",
}
_THROUGH_REGISTERS = {
    "operation": "cute.nvgpu.CopyUniversalOp",
    "before": "    held = cute.make_fragment_like(mine)",
    "after": "    cute.copy(tiled, held, own.partition_D(target))",
}
_THROUGH_SHARED = {
    "operation": "cpasync.CopyG2SOp",
    "before": """    tile = cutlass.memory.SmemAllocator().allocate_tensor(
        cutlass.Float32, cute.make_layout((32, 32), stride=(32, 1)), byte_alignment=128
    )
    held = own.partition_D(tile)""",
    "after": """    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()""",
}
_COLUMNS_ONLY = """
    seen = own.partition_S(cute.local_tile(cute.make_identity_tensor(src.shape), (32, 32), (row, column)))
    pred = cute.make_rmem_tensor((1, 8, 1), cutlass.Boolean)
    for m in cutlass.range_constexpr(8):
        pred[0, m, 0] = seen[(0, 0), m, 0][1] < src.shape[1]"""
_KNOWN = {"shape": "(40, 64)", "stride": "(64, 1)", "grid": "(2, 2, 1)", "pred": ""}
_DYNAMIC = {
    "shape": "(cute.sym_int(), cute.sym_int(divisibility=4))",
    "stride": "(cute.sym_int64(divisibility=4), 1)",
    "grid": "(cute.ceil_div(src.shape[0], 32), cute.ceil_div(src.shape[1], 32), 1)",
    "pred": "",
}

TAILS = {
    "rows": {**_TILES, **_THROUGH_REGISTERS, **_KNOWN},
    "columns": {**_TILES, **_THROUGH_REGISTERS, **_KNOWN, "shape": "(64, 40)", "stride": "(40, 1)"},
    "one block": {**_TILES, **_THROUGH_REGISTERS, **_KNOWN, "shape": "(20, 32)", "stride": "(32, 1)",
                  "grid": "(1, 1, 1)"},
    "host": {**_BY_HOST, **_THROUGH_REGISTERS, **_KNOWN},
    "cp.async": {**_TILES, **_THROUGH_SHARED, **_KNOWN},
    "cp.async, columns": {**_TILES, **_THROUGH_SHARED, **_KNOWN, "shape": "(256, 136)", "stride": "(136, 1)",
                          "grid": "(8, 5, 1)"},
    "columns, host": {**_BY_HOST, **_THROUGH_REGISTERS, **_KNOWN, "shape": "(64, 40)", "stride": "(40, 1)"},
    "wrong mode": {**_TILES, **_THROUGH_SHARED, **_KNOWN, "pred": ", pred=pred",
                   "before": _THROUGH_SHARED["before"] + _COLUMNS_ONLY},
    "dynamic": {**_TILES, **_THROUGH_REGISTERS, **_DYNAMIC},
    "dynamic, host": {**_BY_HOST, **_THROUGH_REGISTERS, **_DYNAMIC,
                      "grid": "(cute.ceil_div(src.shape[0], 32), cute.ceil_div(src.shape[1], 32), 1)"},
}  # fmt: skip
TAILS = {name: KERNEL.format(**given) for name, given in TAILS.items()}
_ROWS = "cute.composition({}, cute.make_layout((32, 32), stride=(1, 32)))[(tid, None)]"  # one a thread
TAILS["autovec"] = (
    TAILS["rows"].replace("own.partition_S(source)", _ROWS.format("source"))
    .replace("own.partition_D(target)", _ROWS.format("target")).replace("copy(tiled, ", "autovec_copy(")
)  # fmt: skip
TAILS["tf32"] = TAILS["rows"].replace("Float32", "TFloat32")  # compiling a fill with 0 crashes the DSL
