"""`match-repetition`: the rectangle and the fragment that a tensor-memory atom moves, in its own type."""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, product, unflatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.tmem import COLUMN_BITS, COLUMNS, LANE_STEP, TmemCopy, columns, exists, registers
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Analysis, Draft, Drafts

STRATEGY = "match-repetition"


def propose(analysis: Analysis) -> Drafts:
    """Adjacent rectangles and adjacent fragments, as `make_tmem_copy` partitions a tensor of columns."""
    copy = analysis.copy
    atom = copy.atom
    if not isinstance(atom, TmemCopy) or not exists(atom):
        return
    side, other = atom.memory_side, atom.register_side
    view, fragment = copy.side(side), copy.side(other)
    if view.space != "tmem" or fragment.space != "rmem" or COLUMN_BITS % view.dtype.bits:
        return
    bits = view.dtype.bits
    packed = atom.packed and bits == 16
    made = atom.fitted(view.dtype, packed)
    step = 2 if packed else 1
    row = columns(made) * COLUMN_BITS // bits // step
    count = registers(made) * COLUMN_BITS // bits
    rest = tuple(mode.shape for mode in fragment.layout.modes[1:])
    steps = product(rest)
    if isinstance(steps, Dynamic) or int(steps) * columns(made) > COLUMNS:
        return
    lane = LANE_STEP * COLUMN_BITS // bits
    rectangle = Layout((((row, atom.lanes), 1), *rest), (((step, lane), 0), *_spaced(rest, row * step)))
    own = Layout(((count, 1), *rest), ((1, 0), *_spaced(rest, count)))
    fixed = replace(copy, atom=made, tiled=None, tiling=None)
    if copy.aux is not None:
        one = Layout(((1, 1), *rest), ((0, 0), *_spaced(rest, 1)))
        fixed = replace(fixed, aux=copy.aux.with_layout(one))
    for name, memref, layout in ((side, view, rectangle), (other, fragment, own)):
        fixed = fixed.with_side(name, _with(memref, layout))
    yield Draft(
        STRATEGY,
        f"{count} values a thread for x{atom.repeat}, {atom.lanes} lanes x {columns(made)} columns each",
        f"# atom: {made}\n"
        f"tiled = tcgen05.make_tmem_copy(atom, tmem_tensor)\n"
        f"thr = tiled.get_slice(tid)\n"
        f"fragment = cute.make_rmem_tensor({code.layout_code(own)}, {code.dtype_code(view.dtype)})",
        (fixed,),
        "compiler-verified only: no Blackwell GPU ran it",
    )


def _with(memref: Memref, layout: Layout) -> Memref:
    align = max(8, memref.proved_align_bytes) if memref.space == "tmem" else memref.proved_align_bytes
    return memref.with_layout(layout, align)


def _spaced(shape: tuple[object, ...], first: int) -> tuple[object, ...]:
    """Compact strides of `shape`, the first of them `first`; 0 for extents of 1."""
    strides: list[int] = []
    at = first
    for extent in flatten(shape):
        strides.append(0 if extent == 1 else at)
        at *= extent
    return unflatten(iter(strides), shape)
