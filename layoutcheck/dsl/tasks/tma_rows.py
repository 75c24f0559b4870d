"""A gather4 or scatter4 copy built with the DSL's own functions: what `tensor_map` does for tiles.

An item is `tensor_map`'s with `index`, the type of the tensor of row numbers, which the kernel takes too.
"""

from __future__ import annotations

from typing import Any

from layoutcheck.dsl.tasks import Item
from layoutcheck.dsl.tasks.lower import dumped_ptx, entry_of, run_pipeline
from layoutcheck.dsl.tasks.tensor_map import made, written


def tma_rows(item: Item) -> Item:
    """{"atom", "coord", "words", "here", "there", "rows", "ptx"} or {"error", "stage"}."""
    return made(item, _host, _kernel)


def _host(item: Item) -> Item:
    from cutlass.cute.nvgpu import cpasync

    return written(item, cpasync.make_tiled_tma_atom, _op(item), index=item["index"])


def _kernel(item: Item, host: Item) -> Item:
    """The partition's types and the PTX of a kernel (tensor map, index tensor, shared tensor, barrier)."""
    from cutlass import Int16, cute
    from cutlass._mlir import ir
    from cutlass.cute.nvgpu import cpasync

    mask = ", %m: i16" if item["kind"] == "load.multicast" else ""
    module = ir.Module.parse(
        "module attributes {gpu.container_module} { gpu.module @m { cuda.kernel @k0("
        f"%a: {host['atom']} {{cute_nvgpu.grid_constant}}, %c: {host['coord']}, %i: {item['index']}, "
        f"%s: {item['smem']}, %b: !cute.ptr<i64, smem, align<8>>{mask}) attributes "
        "{cute.kernel, gpu.kernel, nvvm.reqntid = array<i32: 32, 1, 1>} { return } } }"
    )
    kernel = module.body.operations[0].regions[0].blocks[0].operations[0]
    block = kernel.regions[0].blocks[0]
    tiler, coord = tuple(item["tiler"]), tuple(item["coord"])
    with ir.InsertionPoint(block.operations[len(block.operations) - 1]):
        atom, tensor, index, shared, barrier, *rest = block.arguments  # wrapping them builds operations
        trait = {
            "load": cpasync.copy.CopyBulkTensor2DGather4G2SNonExecTrait,
            "load.multicast": cpasync.copy.CopyBulkTensor2DGather4G2SMulticastNonExecTrait,
            "store": cpasync.copy.CopyBulkTensor2DScatter4S2GNonExecTrait,
        }[item["kind"]]
        copy_atom = cute.CopyAtom(_op(item), trait(getattr(atom, "value", atom)))
        here, there, rows = cpasync.tma_partition(
            copy_atom,
            0,
            cute.make_layout(1),
            cute.group_modes(shared, 0, len(tiler)),
            [cute.zipped_divide(tensor, tiler), cute.zipped_divide(index, tiler)],
        )
        there, rows = there[(None, coord)], rows[(None, coord)]
        if item["kind"] != "store":
            named = {"mcast_mask": Int16(rest[0])} if mask else {}
            cute.copy(copy_atom, [there, rows], here, tma_bar_ptr=barrier, **named)
        else:
            cute.copy(copy_atom, here, [there, rows])
    types = {"there": str(there.type), "here": str(here.type), "rows": str(rows.type)}
    module.operation.verify()
    if not item["lower"]:
        return types
    run_pipeline(module, item["arch"])
    return {**types, "ptx": entry_of(dumped_ptx(), "k0")}


def _op(item: Item) -> Any:
    """The operation, made for the item's architecture, which its constructor looks at."""
    from cutlass.base_dsl.dsl import BaseDSL
    from cutlass.cute.nvgpu import cpasync

    BaseDSL._get_dsl().envar.arch = item["arch"]
    return {
        "load": cpasync.CopyBulkTensor2DGather4G2SOp,
        "load.multicast": cpasync.CopyBulkTensor2DGather4G2SMulticastOp,
        "store": cpasync.CopyBulkTensor2DScatter4S2GOp,
    }[item["kind"]]()
