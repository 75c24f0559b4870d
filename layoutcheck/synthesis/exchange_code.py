"""An exchange as CuTe DSL statements: the shared tile, and the copies into and out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from layoutcheck.algebra.image import image
from layoutcheck.algebra.inttuple import flatten, product
from layoutcheck.algebra.layout import Layout
from layoutcheck.fixes.code import allocation_code, dtype_code, folded, layout_code, tree_code

if TYPE_CHECKING:
    from layoutcheck.copies.memref import Memref
    from layoutcheck.synthesis.exchange import Side


def statements(smem: Memref, write: Side, read: Side) -> str:
    """`held` are the writer's registers and `given` the reader's, both in their layouts' order of values.

    `tidx` is the thread. Where a side's values cannot be put in the order of shared memory by a layout, its
    copy is left to the reader of the code: the allocation stands alone.
    """
    lines = [f"smem = {allocation_code(smem, layout_code(smem.layout))}"]
    tile = tree_code(tuple(product(mode.shape) for mode in smem.layout.modes))
    kind = dtype_code(smem.dtype)
    for name, side in (("write", write), ("read", read)):
        ordered = in_order(side.tv, smem.layout)
        if ordered is None:
            return folded("\n".join(lines[:1]))
        values, registers = ordered
        split = layout_code(_pair(side.tv[0], values))
        atom = (
            f"cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), {kind}, num_bits_per_copy={side.width_bits})"
        )
        view = f"{name}_smem"
        part = "partition_D" if name == "write" else "partition_S"
        mine = "held" if name == "write" else "given"
        lines += [
            f"{name}_atom = {atom}",
            f"{name}_tiled = cute.make_tiled_copy({name}_atom, {split}, {tile})",
            f"{view} = {name}_tiled.get_slice(tidx).{part}(smem)",
            f"{mine}_ordered = cute.composition(cute.make_tensor({mine}.iterator, {layout_code(registers)}), "
            f"cute.make_layout({view}.shape))",
            f"{mine}_packed = cute.make_rmem_tensor({view}.shape, {kind})",
        ]
        if name == "write":
            lines += [
                "cute.basic_copy(held_ordered, held_packed)",
                "cute.copy(write_atom, held_packed, write_smem)",
                "cute.arch.sync_threads()",
            ]
        else:
            lines += [
                "cute.copy(read_atom, read_smem, given_packed)",
                "cute.basic_copy(given_packed, given_ordered)",
            ]
    return folded("\n".join(lines))


def _vector(extents: tuple[int, ...], strides: tuple[int, ...]) -> Layout:
    return Layout(extents, strides) if len(extents) > 1 else Layout(extents[0], strides[0])


def _pair(first: Layout, second: Layout) -> Layout:
    return Layout((first.shape, second.shape), (first.stride, second.stride))


def in_order(tv: Layout, layout: Layout) -> tuple[Layout, Layout] | None:
    """The values' layout with those first that are adjacent in shared memory; and their registers.

    The first gives an element of the tile, the second the value's number in `tv`. None where the values'
    modes have no such order.
    """
    shapes: Any = flatten(tv[1].shape)
    strides: Any = flatten(tv[1].stride)
    steps, place = [], 1
    for extent, stride in zip(shapes, strides, strict=True):
        if extent > 1:
            steps.append((extent, stride, place))
        place *= extent
    offsets = image(layout)
    steps.sort(key=lambda one: int(offsets[one[1]]))
    if not steps:
        return Layout(1, 0), Layout(1, 0)
    extents, elements, places = (tuple(column) for column in zip(*steps, strict=True))
    found = _vector(extents, elements), _vector(extents, places)
    at = offsets[image(found[0])]
    return found if bool((np.diff(at) > 0).all()) else None
