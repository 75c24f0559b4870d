"""`narrow-copy`: move only as many bits at a time as both sides keep together.

Where that is under the atom's minimum (`cp.async` moves at least 32 bits) the element type has to grow: the
report's own second strategy is FP32 elements, 32-bit copies and one value a thread.
"""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.algebra.inttuple import wrap
from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.copies.atom import ThreadAtom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes.draft import Analysis, Drafts
from layoutcheck.fixes.edit import Woven, edited, of_width, rewoven
from layoutcheck.machine.dtypes import DType, dtype

STRATEGY = "narrow-copy"


def propose(analysis: Analysis) -> Drafts:
    """Every narrower width the atom has, widest first; then the wider type."""
    copy = analysis.copy
    if not isinstance(copy.atom, ThreadAtom):
        return
    element = copy.src.dtype.bits
    at_least = max(copy.atom.least_bits, element)
    width = (copy.atom.width_bits or 128) // 2
    while width >= at_least:
        yield from of_width(STRATEGY, copy, copy.atom.with_width(width))
        width //= 2
    if isinstance(copy.atom, CpAsync) and element < 32 and copy.src.dtype.kind == "float":
        yield from _in_fp32(copy)


def _in_fp32(copy: Copy) -> Drafts:
    wide = dtype("f32")
    atom = CpAsync(wide, 32, "always")
    made: Copy | Woven | None
    if copy.tiling is None:
        made = replace(copy, atom=atom, src=_one_by_one(copy.src, wide), dst=_one_by_one(copy.dst, wide))
    else:
        src, dst = (
            replace(tile, dtype=wide, align_bytes=max(tile.proved_align_bytes, 4))
            for tile in (copy.tiling.src, copy.tiling.dst)
        )
        made = rewoven(copy, atom, src=src, dst=dst)
    if made is None:
        return
    yield edited(
        STRATEGY,
        f"store the matrix as FP32 and copy one 32-bit element at a time ({copy.src.dtype} is too narrow)",
        copy,
        made,
        "the tensor must be FP32 in global and shared memory: twice the bytes",
    )


def _one_by_one(view: Memref, wide: DType) -> Memref:
    """The view with every element an atom of its own: ((1, V), rest...)."""
    shape, stride = wrap(view.layout.shape), wrap(view.layout.stride)
    return replace(
        view,
        dtype=wide,
        layout=Layout(((1, shape[0]), *shape[1:]), ((0, stride[0]), *stride[1:])),
        align_bytes=max(view.proved_align_bytes, 4),
    )
