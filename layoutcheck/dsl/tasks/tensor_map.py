"""A TMA copy built with the DSL's own functions, in the worker's child process.

`make_tiled_tma_atom` runs in a host function, and its code is lowered and read: the words of the tensor map
that it stores are evaluated for a base address and run-time extents and strides (the code has no branches).
`tma_partition` and `cute.copy` run in a kernel that takes the tensor map, the shared tensor's address and the
barrier's as parameters; its PTX is the answer's. An im2col atom is made by `make_im2col_tma_atom`, and which
tile it is are parameters too: the DSL dies on a tile known when it compiles.

An item: gmem, smem (memref types), tiler, coord, kind, internal (an element type or ""), described (a layout
or composed layout), arch, base, values (run-time leaves of gmem, left to right), lower (whether PTX is
wanted), im2col (the convolution of an im2col copy, else left out), index (the type of the tensor of row
numbers of gather4 and scatter4, which host and kernel take as well; "" for none).
"""

from __future__ import annotations

from typing import Any

from layoutcheck.dsl.tasks import Item, python_error
from layoutcheck.dsl.tasks.lower import dumped_ptx, entry_of, run_pipeline


def tma(item: Item) -> Item:
    """{"atom", "coord", "words", "here", "there", "rows", "ptx"} or {"error", "stage"}."""
    stage = "make_tiled_tma_atom"
    try:
        found = _host(item)
        stage = "cute.copy"
        found.update(_kernel(item, found))
    except Exception as caught:
        return {**python_error(caught), "stage": stage}
    return found


_CLASSES = {
    "tiled load": "CopyBulkTensorTileG2S",
    "tiled load.multicast": "CopyBulkTensorTileG2SMulticast",
    "tiled store": "CopyBulkTensorTileS2G",
    "tiled reduce": "CopyReduceBulkTensorTileS2G",
    "im2col load": "CopyBulkTensorIm2ColG2S",
    "im2col load.multicast": "CopyBulkTensorIm2ColG2SMulticast",
    "im2col store": "CopyBulkTensorIm2ColS2G",
    "rows load": "CopyBulkTensor2DGather4G2S",
    "rows load.multicast": "CopyBulkTensor2DGather4G2SMulticast",
    "rows store": "CopyBulkTensor2DScatter4S2G",
}


def _class(item: Item, suffix: str) -> Any:
    """The DSL's class of the operation, with its "Op", or "NonExecTrait"."""
    from cutlass.cute.nvgpu import cpasync

    mode = "im2col" if "im2col" in item else "rows" if item["index"] else "tiled"
    return getattr(cpasync.copy, _CLASSES[f"{mode} {item['kind']}"] + suffix)


def _op(item: Item) -> Any:
    """The operation, made for the item's architecture, which its constructor looks at."""
    from cutlass.base_dsl.dsl import BaseDSL

    BaseDSL._get_dsl().envar.arch = item["arch"]
    return _class(item, "Op")()


def numeric(name: str) -> Any:
    """The DSL's class of an element type by its printed name; None for none."""
    from cutlass._mlir import ir
    from cutlass.base_dsl.typing import Numeric

    return Numeric.from_mlir_type(ir.Type.parse(name)) if name else None


def _host(item: Item) -> Item:
    """The atom, its coordinate tensor, and the words of its tensor map."""
    from cutlass._mlir import ir
    from cutlass.cute.nvgpu import cpasync

    described = item["described"]
    name = "composed_layout" if described.startswith("S<") else "layout"
    rows = f", %i: {item['index']}" if item["index"] else ""
    module = ir.Module.parse(
        f"module attributes {{gpu.container_module}} {{ func.func @host(%g: {item['gmem']}, "
        f"%p: !cute.ptr<i8, gmem, align<64>>{rows}) "
        f'{{ %s = cute.static : !cute.{name}<"{described}"> return }} }}'
    )
    block = module.body.operations[0].regions[0].blocks[0]
    layout, end = block.operations[0].results[0], block.operations[1]
    with ir.InsertionPoint(end):
        gmem, place, *numbers = block.arguments
        make = cpasync.make_im2col_tma_atom if "im2col" in item else cpasync.make_tiled_tma_atom
        more = {"gmem_coord_tensor": numbers[0]} if numbers else _convolution(item)
        internal = numeric(item["internal"])
        atom, coords = make(_op(item), gmem, layout, tuple(item["tiler"]), internal_type=internal, **more)
        cpasync.copy_tensormap(atom, place)
    types = {"atom": str(atom._trait.value.type), "coord": str(coords.type)}
    module.operation.verify()
    run_pipeline(module, item["arch"])
    function = next(one for one in module.body.operations if one.attributes["sym_name"].value == "host")
    return {**types, "words": stored_words(function, item["base"], item["values"])}


def _convolution(item: Item) -> Item:
    """What make_im2col_tma_atom wants to know of a load; a store knows no filter."""
    if "im2col" not in item or not item["kind"].startswith("load"):
        return {}
    names = {"lower_srt": "lower_srt", "dilation": "stride_srt"}
    return {names.get(name, f"{name}_whd"): tuple(value) for name, value in item["im2col"].items()}


def stored_words(function: Any, base: int, values: list[int]) -> list[int]:
    """What the straight-line code stores to the first eight words of its array."""
    from layoutcheck.dsl.lowered.integers import BINARY, compare
    from layoutcheck.dsl.lowered.values import unsigned, wrap

    known: dict[Any, Any] = {}
    words: dict[int, int] = {}
    left = list(values)

    def bits(value: Any) -> int:
        text = str(value.type)
        return int(text[1:]) if text.startswith("i") else 64

    for op in function.regions[0].blocks[0].operations:
        op = op.operation
        operation = op.name.removeprefix("llvm.")
        given: list[Any] = [known.get(operand) for operand in op.operands]
        result: Any = None
        if operation == "mlir.constant":
            result = op.attributes["value"].value
        elif operation == "extractvalue":
            path = list(op.attributes["position"])
            result = base if path == [0] else left.pop(0)  # in the order of the leaves
        elif operation == "zext":
            result = unsigned(given[0], bits(op.operands[0]))
        elif operation in ("ptrtoint", "inttoptr", "freeze", "sext", "trunc"):
            result = given[0]
        elif operation == "getelementptr":
            index = list(op.attributes["rawConstantIndices"])
            result = ("word", index[-1])
        elif operation == "store" and isinstance(given[1], tuple):
            words[given[1][1]] = int(unsigned(given[0], 64))
        elif op.name in BINARY and len(given) >= 2:
            result = BINARY[op.name](given[0], given[1], bits(op.operands[0]))
        elif operation == "icmp":
            predicate = int(op.attributes["predicate"].value)
            result = compare(predicate, given[0], given[1], bits(op.operands[0]))
        elif operation == "select":
            result = given[1] if given[0] else given[2]
        if result is not None and len(op.results) == 1:
            known[op.results[0]] = wrap(result, bits(op.results[0])) if isinstance(result, int) else result
    return [words[i] for i in range(8)]


def _kernel(item: Item, host: Item) -> Item:
    """The partition's types and the PTX of a kernel (tensor map, shared tensor, barrier)."""
    from cutlass import Int16, Int32, cute
    from cutlass._mlir import ir

    indexed, im2col, multicast = bool(item["index"]), "im2col" in item, item["kind"] == "load.multicast"
    module = ir.Module.parse(
        "module attributes {gpu.container_module} { gpu.module @m { cuda.kernel @k0("
        f"%a: {host['atom']} {{cute_nvgpu.grid_constant}}, %c: {host['coord']}, "
        + f"%x: {item['index']}, " * indexed
        + f"%s: {item['smem']}, %b: !cute.ptr<i64, smem, align<8>>"
        + ", %i: i32, %j: i32" * im2col
        + ", %m: i16" * multicast
        + ") attributes {cute.kernel, gpu.kernel, nvvm.reqntid = array<i32: 32, 1, 1>} { return } } }"
    )
    kernel = module.body.operations[0].regions[0].blocks[0].operations[0]
    block = kernel.regions[0].blocks[0]
    with ir.InsertionPoint(block.operations[len(block.operations) - 1]):
        atom, tensor, *others = block.arguments  # wrapping them builds operations
        index = others.pop(0) if indexed else None
        shared, barrier, *others = others
        copy_atom = cute.CopyAtom(_op(item), _class(item, "NonExecTrait")(getattr(atom, "value", atom)))
        tiler, coord = tuple(item["tiler"]), tuple(item["coord"])
        if im2col:
            coord = tuple(map(Int32, others[:2]))
        elif not indexed:  # a tiler of the first modes alone
            more = cute.rank(tensor) - len(tiler)
            tiler, coord = tiler + (1,) * more, coord + (0,) * more
        here, there, *rows = _partition(copy_atom, shared, tensor, index, tiler, coord)
        beyond = [there, *rows] if rows else there
        if item["kind"].startswith("load"):
            named = {"mcast_mask": Int16(others[-1])} if multicast else {}
            cute.copy(copy_atom, beyond, here, tma_bar_ptr=barrier, **named)
        else:
            cute.copy(copy_atom, here, beyond)
    types = {"there": str(there.type), "here": str(here.type), "rows": "".join(str(one.type) for one in rows)}
    module.operation.verify()
    if not item["lower"]:
        return types
    run_pipeline(module, item["arch"])
    return {**types, "ptx": entry_of(dumped_ptx(), "k0")}


def _partition(atom: Any, shared: Any, tensor: Any, index: Any, tiler: Any, coord: Any) -> list[Any]:
    """One tile as the DSL partitions it: of the shared, of the coordinate and of the index tensor."""
    from cutlass import cute
    from cutlass.cute.nvgpu import cpasync

    smem, one_block = cute.group_modes(shared, 0, cute.rank(shared)), cute.make_layout(1)
    if index is not None:
        divided = [cute.zipped_divide(one, tiler) for one in (tensor, index)]
        here, *there = cpasync.tma_partition(atom, 0, one_block, smem, divided)
        return [here, *(one[(None, coord)] for one in there)]
    tile = cute.group_modes(cute.local_tile(tensor, tiler, coord), 0, len(tiler))
    return list(cpasync.tma_partition(atom, 0, one_block, smem, tile))
