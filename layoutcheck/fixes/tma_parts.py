"""`tma`, cut otherwise: a tile too long for a box in several copies, a strided tensor by whole runs, rows of four.

Each keeps the instruction and changes what it is asked for. A tile of more than 256 elements along a dimension
that is neither its first nor its last becomes parts of it, one after the other in shared memory. Of a tensor
whose elements lie a few apart the tile comes with those between. The rows of gather4 and scatter4 are laid out
as the instruction packs them, in a multiple of four.
"""

from __future__ import annotations

import math
from dataclasses import replace

from layoutcheck.algebra.inttuple import wrap
from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.tma import ROWS, TmaCopy
from layoutcheck.atoms.tma.descriptor import MOST_BOX, REPEAT_BYTES, dsl_kind
from layoutcheck.atoms.tma.plan import gmem_side, smem_side
from layoutcheck.copies.copy import Copy, TmaTile
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Analysis, Draft, Drafts
from layoutcheck.fixes.tma import STRATEGY, laid_out, takeable
from layoutcheck.fixes.tma_code import issue_code, make_code, partition_code, tile_code, transfer
from layoutcheck.machine.dtypes import dtype

_MOST_PARTS = 16
_MOST_STEP = 4  # elements between wanted ones that are worth bringing along
_KINDS = ("128B", "64B", "32B", "none")


def propose(analysis: Analysis) -> Drafts:
    """Whichever of the three the copy asks for."""
    copy = analysis.copy
    if not isinstance(copy.atom, TmaCopy) or copy.tma is None or copy.atom.mode == "im2col":
        return
    gmem, smem = copy.side(gmem_side(copy)), copy.side(smem_side(copy))
    tile = replace(copy.tma, described=None)
    if gmem.dtype != smem.dtype or gmem.dtype.bits % 8 or tile.internal is not None:
        return
    modes = wrap(gmem.layout.shape)
    if not gmem.layout.is_static or any(type(n) is tuple for n in modes) or len(tile.tiler) > len(modes):
        return
    if copy.index is not None:
        yield from _rows(copy, gmem, smem, tile)
        return
    yield from _parts(copy, gmem, smem, tile)
    yield from _runs(copy, gmem, smem, tile)


def _parts(copy: Copy, gmem: Memref, smem: Memref, tile: TmaTile) -> Drafts:
    """Copies of a part of the tile's long mode each, their parts one after the other in shared memory."""
    strides = wrap(gmem.layout.stride)
    long = [i for i, n in enumerate(tile.tiler) if n > MOST_BOX and strides[i] != 1]
    if len(long) != 1:
        return
    mode = long[0]
    extent = tile.tiler[mode]
    for count in range(2, _MOST_PARTS + 1):
        if extent % count or extent // count > MOST_BOX:
            continue
        part = tuple(extent // count if i == mode else n for i, n in enumerate(tile.tiler))
        for kind in dict.fromkeys((dsl_kind(smem.swizzle), *_KINDS)):
            laid = laid_out(gmem, smem, TmaTile(part), kind)
            each = math.prod(part) * smem.dtype.bits // 8
            if laid is None or each % REPEAT_BYTES[kind]:
                continue
            at = tile.coord or (0,) * len(part)
            copies = tuple(
                transfer(copy, gmem, laid, TmaTile(part, _moved(at, mode, at[mode] * count + k)))
                for k in range(count)
            )
            yield Draft(
                STRATEGY,
                f"in {count} copies of {part}, each into {laid.layout}" + _under(laid),
                _parts_code(copy, laid, part, mode, count, each * count),
                copies,
                f"{each} B after each other in shared memory: mode {mode} of the tile is "
                f"({part[mode]},{count}) there",
            )


def _moved(at: tuple[int, ...], mode: int, to: int) -> tuple[int, ...]:
    return tuple(to if i == mode else c for i, c in enumerate(at))


def _under(smem: Memref) -> str:
    return "" if smem.swizzle is None else f" under {smem.swizzle}"


def _parts_code(
    copy: Copy, laid: Memref, part: tuple[int, ...], mode: int, count: int, total_bytes: int
) -> str:
    """Host and kernel parts; the parts are the last mode of the shared tensor."""
    assert isinstance(copy.atom, TmaCopy)
    modes, size = len(part), math.prod(part)
    shape, stride = wrap(laid.layout.shape), wrap(laid.layout.stride)
    staged = Layout((*shape, count), (*stride, size))
    where = ", ".join("None" if i == mode else f"coord[{i}]" for i in range(modes))
    lines = [
        *make_code(copy.atom.kind, laid, part),
        f"parts = {code.layout_code(staged)}",
        f"smem = {code.allocation_code(laid, 'parts')}",
        f"tiles = cute.local_tile(tma_tensor, {code.tree_code(part)}, ({where}))",
        partition_code("tiles", modes),
    ]
    there, here = f"gA[None, coord[{mode}] * {count} + k]", "sA[None, k]"
    lines += issue_code(copy.atom.kind, there, here, total_bytes, f"for k in range({count}):")
    return "\n".join(lines)


def _runs(copy: Copy, gmem: Memref, smem: Memref, tile: TmaTile) -> Drafts:
    """The tile with what lies between its elements, of a tensor that no mode runs through without gaps."""
    strides, shape = wrap(gmem.layout.stride), wrap(gmem.layout.shape)
    step = min((d for d in strides if d > 0), default=0)
    if not 1 < step <= _MOST_STEP or strides.count(step) != 1:
        return
    mode = strides.index(step)
    reach = shape[mode] * step
    if any(0 < d < reach for i, d in enumerate(strides) if i != mode):
        return
    wider = Layout(_moved(shape, mode, reach), _moved(strides, mode, 1))
    tiler = _moved(tile.tiler, mode, tile.tiler[mode] * step)
    whole, asks = takeable(replace(gmem, layout=wider))
    for kind in _KINDS:
        laid = laid_out(whole, smem, TmaTile(tiler), kind)
        if laid is None:
            continue
        assert isinstance(copy.atom, TmaCopy)
        if copy.atom.kind != "load":
            return  # what lies between would be overwritten
        lines = tile_code("load", laid, TmaTile(tiler)).split("\n")
        lines.insert(2, f"gmem = cute.make_tensor(gmem.iterator, {code.layout_code(wider)})")
        yield Draft(
            STRATEGY,
            f"copy the tile and the elements between its elements, {tiler} into {laid.layout}{_under(laid)}",
            "\n".join(lines),
            (transfer(copy, whole, laid, TmaTile(tiler, tile.coord)),),
            "; ".join((*asks, f"element j along mode {mode} is element {step}*j in shared memory")),
        )
        return


def _rows(copy: Copy, gmem: Memref, smem: Memref, tile: TmaTile) -> Drafts:
    """Rows as wide as the box, without gaps, a multiple of four of them, by an index tensor of Int32."""
    assert isinstance(copy.atom, TmaCopy) and copy.index is not None
    strides, shape = wrap(gmem.layout.stride), wrap(gmem.layout.shape)
    if len(strides) != 2 or strides.count(1) != 1 or len(tile.tiler) != 2:
        return
    along = strides.index(1)
    across = 1 - along
    rows = -(-tile.tiler[across] // ROWS) * ROWS
    tiler = _moved(tile.tiler, across, rows)
    better, asks = takeable(gmem)
    at = tile.coord or (0, 0)
    many = max(shape[across], (at[across] + 1) * rows)
    columns = shape[along]
    layout = Layout((many, columns), (1, 0)) if along == 1 else Layout((columns, many), (0, 1))
    index = Memref(dtype("i32"), "gmem", layout, 4)
    notes = [*asks]
    if rows != tile.tiler[across]:
        notes.append(f"{rows} rows: the indices of the added rows are beyond the tensor, and read zeros")
    if (index.layout, index.dtype) != (copy.index.layout, copy.index.dtype):
        notes.append(f"{many} indices; give the added ones a row beyond the tensor")
    for kind in dict.fromkeys((dsl_kind(smem.swizzle), *_KINDS)):
        laid = laid_out(better, smem, TmaTile(tiler), kind)
        if laid is None:
            continue
        moved = transfer(copy, better, laid, TmaTile(tiler, tile.coord))
        yield Draft(
            STRATEGY,
            f"{rows} rows {'into' if copy.atom.kind == 'load' else 'from'} {laid.layout}{_under(laid)}",
            _rows_code(copy, laid, tiler, layout),
            (replace(moved, index=index),),
            "; ".join(notes),
        )


def _rows_code(copy: Copy, laid: Memref, tiler: tuple[int, ...], index: Layout) -> str:
    """Host and kernel parts; `rows` points at the row numbers."""
    assert isinstance(copy.atom, TmaCopy)
    load = copy.atom.kind == "load"
    tile = code.tree_code(tiler)
    host = make_code(copy.atom.mode, laid, tiler, "gmem_coord_tensor=index")
    lines = [
        host[0],
        host[1],
        f"index = cute.make_tensor(rows, {code.layout_code(index)})",
        *host[2:],
        f"smem = {code.allocation_code(laid, 'layout')}",
        f"tiles = cute.zipped_divide(tma_tensor, {tile})",
        f"indices = cute.zipped_divide(index, {tile})",
        "sA, gA, gI = cpasync.tma_partition(atom, 0, cute.make_layout(1), "
        "cute.group_modes(smem, 0, 2), [tiles, indices])",
        *issue_code(
            "load" if load else "store",
            "[gA[None, coord], gI[None, coord]]",
            "sA",
            math.prod(tiler) * laid.dtype.bits // 8,
        ),
    ]
    return "\n".join(lines)
