"""A TMA copy built with the DSL's own functions, in the worker's child process.

`make_tiled_tma_atom` runs in a host function, and its code is lowered and read: the words of the tensor map
that it stores are evaluated for a base address and run-time extents and strides (the code has no branches).
`tma_partition` and `cute.copy` run in a kernel that takes the tensor map, the shared tensor's address and the
barrier's as parameters; its PTX is the answer's. An im2col atom is made by `make_im2col_tma_atom`, and which
tile it is are parameters too: the DSL dies on a tile known when it compiles.

An item: gmem, smem (memref types), tiler, coord, kind, internal (an element type or ""), described (a layout
or composed layout), arch, base, values (run-time leaves of gmem, left to right), lower (whether PTX is
wanted), im2col (the convolution of an im2col copy, else left out).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from layoutcheck.dsl.tasks import Item
from layoutcheck.dsl.tasks.errors import python_error
from layoutcheck.dsl.tasks.lower import dumped_ptx, entry_of, run_pipeline


def tma(item: Item) -> Item:
    """{"atom", "coord", "words", "src", "dst", "ptx"} or {"error", "stage"}."""
    return made(item, _host, _kernel)


def made(item: Item, host: Callable[[Item], Item], kernel: Callable[[Item, Item], Item]) -> Item:
    """What the host's part and the kernel's answer together, or the DSL's error and its stage."""
    stage = "make_tiled_tma_atom"
    try:
        found = host(item)
        stage = "cute.copy"
        found.update(kernel(item, found))
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
}


def _class(item: Item, suffix: str) -> Any:
    """The DSL's class of the operation, with its "Op", or "NonExecTrait"."""
    from cutlass.cute.nvgpu import cpasync

    mode = "im2col" if "im2col" in item else "tiled"
    return getattr(cpasync.copy, _CLASSES[f"{mode} {item['kind']}"] + suffix)


def _op(item: Item) -> Any:
    return _class(item, "Op")()


def numeric(name: str) -> Any:
    """The DSL's class of an element type by its printed name; None for none."""
    from cutlass._mlir import ir
    from cutlass.base_dsl.typing import Numeric

    return Numeric.from_mlir_type(ir.Type.parse(name)) if name else None


def _host(item: Item) -> Item:
    from cutlass.cute.nvgpu import cpasync

    make = cpasync.make_im2col_tma_atom if "im2col" in item else cpasync.make_tiled_tma_atom
    return written(item, make, _op(item), **_convolution(item))


def written(item: Item, make: Callable[..., Any], op: Any, index: str = "", **more: Any) -> Item:
    """The atom that `make` makes of the operation, its coordinate tensor, and the words of its tensor map.

    `index` is the type of a tensor of row numbers, `more` what else `make` wants to know.
    """
    from cutlass._mlir import ir
    from cutlass.cute.nvgpu import cpasync

    described = item["described"]
    name = "composed_layout" if described.startswith("S<") else "layout"
    rows = f", %i: {index}" if index else ""
    module = ir.Module.parse(
        f"module attributes {{gpu.container_module}} {{ func.func @host(%g: {item['gmem']}, "
        f"%p: !cute.ptr<i8, gmem, align<64>>{rows}) "
        f'{{ %s = cute.static : !cute.{name}<"{described}"> return }} }}'
    )
    block = module.body.operations[0].regions[0].blocks[0]
    layout, end = block.operations[0].results[0], block.operations[1]
    with ir.InsertionPoint(end):
        gmem, place, *numbers = block.arguments
        if numbers:
            more["gmem_coord_tensor"] = numbers[0]
        atom, coords = make(
            op, gmem, layout, tuple(item["tiler"]), internal_type=numeric(item["internal"]), **more
        )
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
    from cutlass.cute.nvgpu import cpasync

    coords = host["coord"]
    mask = ", %m: i16" if item["kind"] == "load.multicast" else ""
    dynamic = "?" in coords  # extents and steps known at run time: parameters of the kernel
    im2col = "im2col" in item
    place = ", %i: i32, %j: i32" if im2col else ""
    module = ir.Module.parse(
        "module attributes {gpu.container_module} { gpu.module @m { cuda.kernel @k0("
        f"%a: {host['atom']} {{cute_nvgpu.grid_constant}}, %c: {coords}, %s: {item['smem']}, "
        f"%b: !cute.ptr<i64, smem, align<8>>{place}{mask}) attributes {{cute.kernel, gpu.kernel, "
        "nvvm.reqntid = array<i32: 32, 1, 1>} { return } } }"
    )
    kernel = module.body.operations[0].regions[0].blocks[0].operations[0]
    block = kernel.regions[0].blocks[0]
    load = item["kind"].startswith("load")
    with ir.InsertionPoint(block.operations[len(block.operations) - 1]):
        atom, tensor, shared, barrier, *others = block.arguments  # wrapping them builds operations
        copy_atom = cute.CopyAtom(_op(item), _class(item, "NonExecTrait")(getattr(atom, "value", atom)))
        coord = tuple(map(Int32, others[:2])) if im2col else tuple(item["coord"])
        tiler = tuple(item["tiler"])
        more = 0 if im2col else cute.rank(tensor) - len(tiler)  # a tiler of the first modes alone
        tile = cute.local_tile(tensor, tiler + (1,) * more, coord + (0,) * more)
        here, there = cpasync.tma_partition(
            copy_atom,
            0,
            cute.make_layout(1),
            cute.group_modes(shared, 0, cute.rank(shared)),
            cute.group_modes(tile, 0, len(tiler) + more),
        )
        if load:
            named = {"mcast_mask": Int16(others[-1])} if mask else {}
            cute.copy(copy_atom, there, here, tma_bar_ptr=barrier, **named)
        else:
            cute.copy(copy_atom, here, there)
    types = {"there": str(there.type), "here": str(here.type), "dynamic": dynamic}
    module.operation.verify()
    if not item["lower"]:
        return types
    run_pipeline(module, item["arch"])
    return {**types, "ptx": entry_of(dumped_ptx(), "k0")}
