"""`promise-alignment`: state an alignment or divisibility that is true and that the compiler does not know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import dotted, leaves
from layoutcheck.analysis.vector import NAMES
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.fixes.draft import Analysis, Drafts
from layoutcheck.fixes.edit import edited, partitioned, with_tensors
from layoutcheck.fixes.swizzle import begin_bytes

STRATEGY = "promise-alignment"


def propose(analysis: Analysis) -> Drafts:
    """`assumed_align` on every operand that lacks it and `divby` on every run-time pitch that lacks it."""
    copy = analysis.copy
    atom = analysis.resolved.atom
    need = atom.address_bytes if atom else 0
    if need < 2:
        return
    old = analysis.copy.whole("src"), analysis.copy.whole("dst")
    new = [_promised(memref, need) for memref in old]
    said = [part for side, o, n in zip(("src", "dst"), old, new, strict=True) for part in _parts(side, o, n)]
    changed = with_tensors(copy, *new)
    for side in ("src", "dst"):
        view = partitioned(copy, side)
        tile = analysis.copy.whole(side)
        if view is None or tile.space != "smem" or changed.side(side) != copy.side(side):
            continue
        if view.layout == copy.side(side).layout and copy.side(side).proved_align_bytes % need:
            # The tile is taken to begin where its swizzle does: the program does not allocate it so.
            changed = changed.with_side(side, view)
            said.append(f"the {NAMES[side]} is {tile.proved_align_bytes} B aligned")
    if not said:
        return
    made = all(memref.space == "smem" for memref, n in zip(old, new, strict=True) if memref != n)
    divided = any(o.layout != n.layout for o, n in zip(old, new, strict=True))
    note = "only if this is true for every caller: nothing checks it at run time"
    if divided:
        note += (
            "; of a tensor made by from_dlpack, .mark_compact_shape_dynamic(mode, divisibility=...) checks the "
            "extent, not the strides of a slice"
        )
    yield edited(
        STRATEGY,
        f"{'allocate it so' if made else 'promise what is true'}: {', '.join(said)}",
        copy,
        changed,
        "" if made else note,
    )


def _promised(memref: Memref, need: int) -> Memref:
    """The operand, a whole tile or a thread's view, with both kinds of promise.

    A tile under a swizzle begins where the pattern does: anywhere else the swizzle leads out of it.
    """
    if memref.space == "rmem" or isinstance(memref, OtherOperand):
        return memref
    align = memref.align_bytes
    if memref.proved_align_bytes % need:
        align = need if memref.swizzle is None else max(need, begin_bytes(memref.swizzle))
    n = max(1, need * 8 // memref.dtype.bits)
    strides = [
        Dynamic(n, stride.bits) if isinstance(stride, Dynamic) and stride.divisor % n else stride
        for _, _, stride in leaves(memref.layout)
    ]
    tree = inttuple.unflatten(iter(strides), memref.layout.stride)
    return replace(memref, layout=Layout(memref.layout.shape, tree), align_bytes=align)


def _parts(side: str, old: Memref, new: Memref) -> Iterator[str]:
    if new.align_bytes != old.align_bytes:
        yield f"the {NAMES[side]} is {new.align_bytes} B aligned"
    for (path, _, was), (_, _, now) in zip(leaves(old.layout), leaves(new.layout), strict=True):
        if was != now:
            yield f"stride {dotted(path)} of the {NAMES[side]} is a multiple of {now.divisor}"
