"""An exchange as CuTe DSL statements: the shared tile, and the copies into and out of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from layoutcheck.algebra.image import image
from layoutcheck.algebra.inttuple import flatten, product
from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes.code import allocation_code, atom_code, dtype_code, folded, layout_code, tree_code
from layoutcheck.synthesis.registers import Side


def statements(smem: Memref, write: Side, read: Side) -> str:
    """`held` are the writer's registers and `given` the reader's, both in their layouts' order of values.

    `tidx` is the thread. Where a side's values cannot be put in the order of shared memory by a layout, its
    copy is left to the reader of the code: the allocation stands alone.
    """
    first = [f"smem = {allocation_code(smem, layout_code(smem.layout))}"]
    into, out = _setup("write", write, smem), _setup("read", read, smem)
    if into is None or out is None:
        return folded("\n".join(first))
    kind = dtype_code(smem.dtype)
    moved = [
        f"held_packed = cute.make_rmem_tensor(write_smem.shape, {kind})",
        f"cute.basic_copy(cute.composition(cute.make_tensor(held.iterator, {layout_code(into.places)}), "
        "cute.make_layout(write_smem.shape)), held_packed)",
        "cute.copy(write_atom, held_packed, write_smem)",
        "cute.arch.sync_threads()",
        f"given_packed = cute.make_rmem_tensor(read_smem.shape, {kind})",
        "cute.copy(read_atom, read_smem, given_packed)",
        f"cute.basic_copy(cute.make_tensor(given_packed.iterator, {layout_code(out.packed)}), "
        f"cute.make_tensor(given.iterator, cute.make_layout({tree_code(out.packed.shape)})))",
    ]
    return folded("\n".join([*first, *into.lines, *out.lines, *moved]))


class _Setup(NamedTuple):
    """A side's tiled copy; the registers of its values in its order; its values in the registers' order."""

    lines: list[str]
    places: Layout
    packed: Layout


def _setup(name: str, side: Side, smem: Memref) -> _Setup | None:
    ordered = in_order(side, smem.layout)
    if ordered is None:
        return None
    values, places, packed = ordered
    thread = side.tv[0]
    split = layout_code(Layout((thread.shape, values.shape), (thread.stride, values.stride)))
    tile = tree_code(tuple(product(mode.shape) for mode in smem.layout.modes))
    part = "partition_D" if name == "write" else "partition_S"
    lines = [
        f"{name}_atom = {atom_code(_atom(side, smem))}",
        f"{name}_tiled = cute.make_tiled_copy({name}_atom, {split}, {tile})",
        f"{name}_smem = {name}_tiled.get_slice(tidx).{part}(smem)",
    ]
    return _Setup(lines, places, packed)


def _atom(side: Side, smem: Memref) -> Any:
    if not side.matrix:
        return UniversalCopy(smem.dtype, side.width_bits)
    kind = LdMatrix if side.matrix.startswith("ld") else StMatrix
    return kind(smem.dtype, side.width_bits // 32, side.matrix.endswith(".trans"))


def in_order(side: Side, layout: Layout) -> tuple[Layout, Layout, Layout] | None:
    """The values as an access takes them; the number of each in `tv`; and in `tv`'s order where each is.

    The first gives elements of the tile. Those come first that a matrix holds first, then those that are
    adjacent in shared memory; values that repeat others are left out. None where the values' modes have no
    such order.
    """
    shapes: Any = flatten(side.tv[1].shape)
    strides: Any = flatten(side.tv[1].stride)
    modes, place = [], 1  # (extent, stride in the tile, stride among the registers)
    for extent, stride in zip(shapes, strides, strict=True):
        parts = [2] * (extent.bit_length() - 1) if side.matrix else [extent]
        for part in parts:
            modes.append((part, stride, place))
            place, stride = place * part, stride * part
    offsets = image(layout)
    taken = [one for one in modes if one[0] > 1 and one[1]]
    taken.sort(key=lambda one: (_place(one[1], side.first), int(offsets[one[1]])))
    extents, elements, places = zip(*taken, strict=True) if taken else ((1,), (0,), (0,))
    values = _flat(extents, elements)
    if not side.matrix and not (np.diff(offsets[image(values)]) > 0).all():
        return None
    compact = dict(zip(places, np.cumprod([1, *extents[:-1]]).tolist(), strict=True))
    packed = [(extent, compact.get(at, 0) if stride else 0) for extent, stride, at in modes]
    return values, _flat(extents, places), _flat(*zip(*packed, strict=True))


def _place(stride: int, first: tuple[int, ...]) -> int:
    return first.index(stride) if stride in first else len(first)


def _flat(extents: tuple[int, ...], strides: tuple[int, ...]) -> Layout:
    return Layout(extents, strides) if len(extents) > 1 else Layout(extents[0], strides[0])
