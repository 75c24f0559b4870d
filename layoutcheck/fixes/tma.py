"""`tma`: the tile moved by TMA, in a shared layout that its boxes follow, with the barrier that it takes.

Of a TMA copy that goes wrong it is the nearest that works: base and strides of whole 16 bytes, the mode that is
contiguous in global memory contiguous in shared memory too, rows as wide as the swizzle, boxes at multiples of
128 bytes. Of any other copy between global and shared memory it is the same tile without a thread's work.
"""

from __future__ import annotations

import math
from dataclasses import replace

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, unflatten, wrap
from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.atoms.tma.descriptor import (
    MOST_BOX,
    MOST_PIXELS,
    PIECE_BYTES,
    REPEAT_BYTES,
    SPAN_BYTES,
    SWIZZLES,
    dsl_kind,
)
from layoutcheck.atoms.tma.plan import gmem_side, smem_side
from layoutcheck.copies.copy import Copy, TmaTile
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Analysis, Draft, Drafts
from layoutcheck.fixes.edit import edited
from layoutcheck.fixes.tma_code import tile_code
from layoutcheck.machine.arch import parse_arch
from layoutcheck.machine.dtypes import dtype

STRATEGY = "tma"


def propose(analysis: Analysis) -> Drafts:
    """The same tile by TMA: as the tensors lie where that can be, else of a tensor that TMA can take."""
    copy = analysis.copy
    if copy.mapped is not None:
        yield from _begun(copy)
    found = _pair(analysis)
    if found is None or parse_arch(copy.arch).number < 90:
        return
    if copy.index is not None:
        return  # tma_parts
    kind, gmem, smem, tile = found
    if kind == "load" and gmem.dtype.bits == 4 and smem.dtype.bits == 8 and tile.internal is None:
        yield _with_gaps(copy, gmem, smem, tile)
    if gmem.dtype != smem.dtype or gmem.dtype.bits % 8 or len(tile.tiler) > len(wrap(gmem.layout.shape)):
        return
    better, asks = takeable(gmem)
    if isinstance(copy.atom, TmaCopy):
        told = _expecting(copy, smem, tile)
        if told is not None:
            yield told
        begin = REPEAT_BYTES[dsl_kind(smem.swizzle)]
        aligned = replace(smem, align_bytes=max(begin, smem.proved_align_bytes))
        yield _draft(copy, kind, better, aligned, tile, asks)
        whole = _whole_rows(better)
        if kind != "load" and whole is not None:
            owned = (*asks, "the last 16 bytes of every row must belong to the tensor as a whole")
            yield _draft(copy, kind, whole, aligned, tile, owned)
    for swizzle in ("128B", "64B", "32B", "none"):
        laid = laid_out(better, smem, tile, swizzle)
        if laid is not None:
            yield _draft(copy, kind, better, laid, tile, asks)


def _begun(copy: Copy) -> Drafts:
    """A traced copy by coordinates whose shared tile begins where the swizzle's pattern does."""
    side = smem_side(copy)
    smem = copy.side(side)
    begin = REPEAT_BYTES[dsl_kind(smem.swizzle)]
    if not isinstance(smem, OtherOperand) and smem.proved_align_bytes % begin:
        made = copy.with_side(side, replace(smem, align_bytes=begin))
        yield edited(STRATEGY, f"allocate the tile at a multiple of {begin} bytes", copy, made)


def _pair(analysis: Analysis) -> tuple[str, Memref, Memref, TmaTile] | None:
    """(kind, global tensor, shared tensor, tile) of a copy between the two spaces."""
    copy = analysis.copy
    if isinstance(copy.atom, TmaCopy):
        if copy.tma is None:
            return None
        tile = replace(copy.tma, described=None)
        return copy.atom.kind, copy.side(gmem_side(copy)), copy.side(smem_side(copy)), tile
    src, dst = analysis.copy.whole("src"), analysis.copy.whole("dst")
    spaces = src.space, dst.space
    if copy.tiling is None or copy.pred is not None or set(spaces) != {"gmem", "smem"}:
        return None
    gmem, smem = (src, dst) if spaces[0] == "gmem" else (dst, src)
    sizes = [tuple(map(_size, memref.layout.modes)) for memref in (gmem, smem)]
    if isinstance(gmem, OtherOperand) or sizes[0] != sizes[1] or None in sizes[0]:
        return None
    tiler = tuple(n for n in sizes[0] if n is not None)
    return ("load" if spaces[0] == "gmem" else "store"), gmem, smem, TmaTile(tiler)


def _size(layout: Layout) -> int | None:
    extents = flatten((layout.shape,))
    return math.prod(extents) if all(isinstance(n, int) for n in extents) else None


def takeable(gmem: Memref) -> tuple[Memref, tuple[str, ...]]:
    """The global tensor as a tensor map can hold it, and what that asks of its maker."""
    asks: list[str] = []
    piece = PIECE_BYTES * 8 // gmem.dtype.bits
    if gmem.proved_align_bytes % PIECE_BYTES:
        gmem = replace(gmem, align_bytes=PIECE_BYTES)
        asks.append("the tensor must begin at a multiple of 16 bytes: assumed_align=16")
    layout = gmem.layout
    strides = flatten(wrap(layout.stride))
    if 1 not in strides or type(layout.shape) is not tuple:
        return gmem, tuple(asks)
    steps: list[int | Dynamic] = []
    for stride in strides:
        if isinstance(stride, Dynamic):
            steps.append(Dynamic(math.lcm(stride.divisor, piece), stride.bits))
        else:
            steps.append(stride if stride in (0, 1) else -(-stride // piece) * piece)
    if tuple(steps) != strides:
        gmem = replace(gmem, layout=Layout(layout.shape, unflatten(iter(steps), layout.shape)))
        asks.append(f"every pitch must be a multiple of {piece} elements (16 bytes): pad the tensor")
    return gmem, tuple(asks)


def _whole_rows(gmem: Memref) -> Memref | None:
    """The tensor with rows of whole 16 bytes, where its pitch has room for them."""
    piece = PIECE_BYTES * 8 // gmem.dtype.bits
    shape, stride = wrap(gmem.layout.shape), wrap(gmem.layout.stride)
    first = next((i for i, d in enumerate(stride) if d == 1), None)
    if (
        first is None
        or any(type(n) is tuple for n in shape)
        or not isinstance(shape[first], int)
        or shape[first] % piece == 0
    ):
        return None
    rows = -(-shape[first] // piece) * piece
    if any(isinstance(d, int) and 1 < d < rows for d in stride):
        return None
    longer = tuple(rows if i == first else n for i, n in enumerate(shape))
    return replace(gmem, layout=Layout(longer, stride))


def laid_out(gmem: Memref, smem: Memref, tile: TmaTile, kind: str) -> Memref | None:
    """The shared tensor in atoms as wide as the swizzle's span along global memory's contiguous mode."""
    tiler, most = tile.tiler, MOST_PIXELS if tile.im2col is not None else MOST_BOX
    strides = wrap(gmem.layout.stride)
    first = next((i for i, d in enumerate(strides) if d == 1 and tiler[i] > 1), None)
    if first is None or max(n for i, n in enumerate(tiler) if i != first or len(tiler) == 1) > most:
        return None
    width = gmem.dtype.bits // 8
    channels = wrap(gmem.layout.shape)[first]  # an im2col box is of one tap's
    widest = min(MOST_BOX, channels) if tile.im2col is not None and isinstance(channels, int) else MOST_BOX
    run = SPAN_BYTES[kind] // width if SPAN_BYTES[kind] else min(tiler[first], widest)
    if tiler[first] % run or run * width % PIECE_BYTES:
        return None
    order = [i for i in range(len(tiler)) if i != first]
    order.sort(
        key=lambda i: (isinstance(strides[i], Dynamic), strides[i] if isinstance(strides[i], int) else 0)
    )
    shape: list[object] = list(tiler)
    stride: list[object] = [0] * len(tiler)
    reach = run
    for mode in order:
        stride[mode] = reach if tiler[mode] > 1 else 0
        reach *= tiler[mode]
    stride[first] = 1
    if tiler[first] != run:
        shape[first], stride[first] = (run, tiler[first] // run), (1, reach)
    return replace(
        smem,
        layout=Layout(tuple(shape), tuple(stride)),
        swizzle=SWIZZLES[kind],
        align_bytes=max(REPEAT_BYTES[kind], smem.proved_align_bytes),
    )


def _with_gaps(copy: Copy, gmem: Memref, smem: Memref, tile: TmaTile) -> Draft:
    """4-bit elements into bytes: a tensor map with gaps."""
    swizzle = (
        f"cute.make_composed_layout({code.swizzle_code(smem.swizzle)}, 0, layout)"
        if smem.swizzle
        else "layout"
    )
    return Draft(
        STRATEGY,
        "a tensor map with gaps: internal_type=cutlass.Uint8, the tensor at 32 bytes, tiles 128 elements wide",
        f"layout = {code.layout_code(smem.layout)}\n"
        "atom, tma_tensor = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), gmem, "
        f"{swizzle}, {code.tree_code(tile.tiler)}, internal_type=cutlass.Uint8)",
        (
            replace(
                copy,
                src=replace(gmem, align_bytes=max(32, gmem.proved_align_bytes)),
                tma=replace(tile, internal=dtype("i8")),
            ),
        ),
    )


def _expecting(copy: Copy, smem: Memref, tile: TmaTile) -> Draft | None:
    """The same copy with a barrier that waits for the tile's bytes."""
    if copy.issue is None or copy.issue.expect_bytes is None or copy.tma != tile:
        return None
    count = math.prod(tile.tiler) * smem.dtype.bits // 8
    return Draft(
        STRATEGY,
        f"expect the {count} B of the tile",
        f"cute.arch.mbarrier_arrive_and_expect_tx(mbar, {count})",
        (replace(copy, issue=replace(copy.issue, expect_bytes=count)),),
    )


def _draft(copy: Copy, kind: str, gmem: Memref, smem: Memref, tile: TmaTile, asks: tuple[str, ...]) -> Draft:
    load = kind == "load"
    atom = copy.atom if isinstance(copy.atom, TmaCopy) else TmaCopy(kind, gmem.dtype)
    src, dst = (gmem, smem) if load else (smem, gmem)
    issue = copy.issue if isinstance(copy.atom, TmaCopy) else None
    made = Copy(atom, src, dst, arch=copy.arch, issue=issue, tma=tile)
    swizzle = f" under {smem.swizzle}" if smem.swizzle is not None else ""
    notes = [*asks]
    old = copy.side("dst" if load else "src")
    if smem.layout != old.layout or smem.swizzle != old.swizzle:
        notes.append("every use of the tile takes that layout")
    return Draft(
        STRATEGY,
        f"copy the tile {'into' if load else 'from'} {smem.layout}{swizzle}",
        tile_code(kind, smem, tile),
        (made,),
        "; ".join(notes),
    )
