"""`promise-alignment`: state the alignment or divisibility that is true and that nobody told the compiler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import dotted
from layoutcheck.analysis import Analysis
from layoutcheck.analysis.vector import NAMES, leaves
from layoutcheck.atoms.bulk import GRAIN_BYTES, BulkCopy
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.tiling import of_tiles
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Draft

STRATEGY = "promise-alignment"


def propose(analysis: Analysis) -> Iterator[Draft]:
    """`assumed_align` on every operand that lacks it and `divby` on every run-time pitch that lacks it."""
    copy = analysis.copy
    need = GRAIN_BYTES if isinstance(copy.atom, BulkCopy) else analysis.width_bytes
    if need < 2:
        return
    said: list[str] = []
    tiled = copy.tiling is not None
    src = _promised(analysis.whole("src"), "src", need, said, tiled)
    dst = _promised(analysis.whole("dst"), "dst", need, said, tiled)
    if not said:
        return
    made = all(line.startswith(("src = allocator", "dst = allocator")) for line in said)
    yield Draft(
        STRATEGY,
        f"{'allocate it so' if made else 'promise what is true'}: {_title(analysis, src, dst)}",
        "\n".join(said),
        (_rebuilt(copy, src, dst),),
        "" if made else "only if it is true for every caller: nothing checks it at run time",
    )


def _rebuilt(copy: Copy, src: Memref, dst: Memref) -> Copy:
    if copy.tiling is None:
        return replace(copy, src=src, dst=dst)
    return of_tiles(copy, src, dst)


def _promised(memref: Memref, side: str, need: int, said: list[str], whole: bool) -> Memref:
    """The operand, a whole tile or a thread's view, with both kinds of promise; `said` gets what is to be written."""
    if memref.space == "rmem":
        return memref
    align = memref.align_bytes
    if memref.proved_align_bytes % need:
        align = need
        said.append(
            f"# on the host; likewise make_ptr(..., assumed_align={need})\n"
            f"{side} = cute.runtime.from_dlpack(tensor, assumed_align={need})"
            if memref.space in ("gmem", "generic")
            else f"{side} = allocator.allocate_tensor({code.dtype_code(memref.dtype)}, "
            f"{code.allocated_code(memref.layout) if whole else 'layout'}, byte_alignment={need}{_swizzle(memref)})"
        )
    n = max(1, need * 8 // memref.dtype.bits)
    strides: list[object] = []
    for path, _, stride in leaves(memref.layout):
        if isinstance(stride, Dynamic) and stride.divisor % n:
            strides.append(Dynamic(n, stride.bits))
            said.append(
                f"stride = cute.assume(stride, divby={n})  # mode {dotted(path)} of the {NAMES[side]}"
            )
        else:
            strides.append(stride)
    stride_tree = inttuple.unflatten(iter(strides), memref.layout.stride)
    return replace(memref, layout=Layout(memref.layout.shape, stride_tree), align_bytes=align)


def _swizzle(memref: Memref) -> str:
    """The argument that keeps the pointer's swizzle."""
    return f", swizzle={code.swizzle_code(memref.swizzle)}" if memref.swizzle is not None else ""


def _title(analysis: Analysis, src: Memref, dst: Memref) -> str:
    parts = []
    for side, new in (("src", src), ("dst", dst)):
        old = analysis.whole(side)
        if new.align_bytes != old.align_bytes:
            parts.append(f"the {NAMES[side]} is {new.align_bytes} B aligned")
        for (path, _, was), (_, _, now) in zip(leaves(old.layout), leaves(new.layout), strict=True):
            if was != now:
                parts.append(f"stride {dotted(path)} of the {NAMES[side]} is a multiple of {now.divisor}")
    return ", ".join(parts)
