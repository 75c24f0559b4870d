"""`stage-through-registers`: wide loads from global memory into registers, element-wise stores to shared memory."""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.atom import ThreadAtom
from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.tiled import TiledCopy, make_tiled_copy_tv, partition
from layoutcheck.copies.vectors import contiguous_mode
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Analysis, Draft, Drafts, fragment, thread_value
from layoutcheck.fixes.edit import block_of

STRATEGY = "stage-through-registers"


def propose(analysis: Analysis) -> Drafts:
    """The widest load and the widest store that each side allows by itself, meeting in registers."""
    copy = analysis.copy
    if not isinstance(copy.atom, ThreadAtom):
        return
    if "rmem" in (copy.src.space, copy.dst.space):
        return
    element = copy.src.dtype.bits
    for load_bits in _widths(copy.atom.width_bits or 128, element):
        for store_bits in _widths(copy.atom.width_bits or 128, element):
            # Equal widths meet the copy's own obstacle, unless that was cp.async's minimum of 32 bits.
            if load_bits != store_bits or (isinstance(copy.atom, CpAsync) and load_bits == element):
                yield from _stage(copy, load_bits, store_bits)


def _widths(widest: int, element: int) -> list[int]:
    return [widest, max(8, element)] if widest > element else [max(8, element)]


def _stage(copy: Copy, load_bits: int, store_bits: int) -> Drafts:
    load, store = (UniversalCopy(copy.src.dtype, bits) for bits in (load_bits, store_bits))
    views = _views(copy, load, max(load_bits, store_bits) // copy.src.dtype.bits, load_bits >= store_bits)
    if views is None:
        return
    src, dst, split, tiled = views
    registers = fragment(src)
    into = outof = None
    if tiled is not None and copy.tiling is not None:
        block = copy.tiling.block_threads
        into = Tiling(tiled, copy.tiling.src, registers, block)
        outof = Tiling(tiled, registers, copy.tiling.dst, block)
    copies = (
        replace(copy, op="copy", atom=load, src=src, dst=registers, tiling=into, tiled=None),
        replace(copy, op="copy", atom=store, src=registers, dst=dst, tiling=outof, tiled=None),
    )
    guard = ", pred=pred" if copy.pred is not None else ""
    read, written = ("src", "dst") if tiled is None else ("tSrc", "tDst")
    lines = [
        f"load_atom = {code.atom_code(load)}",
        f"store_atom = {code.atom_code(store)}",
        split,
        f"cute.copy(load_atom, {read}, fragment{guard})",
        f"cute.copy(store_atom, fragment, {written}{guard})",
    ]
    yield Draft(
        STRATEGY,
        f"load {load_bits} bits into registers, store {store_bits} bits to {dst.space}",
        "\n".join(line for line in lines if line),
        copies,
        "synchronous, without a cp.async group",
    )


def _views(
    copy: Copy, load: UniversalCopy, vector: int, along_source: bool
) -> tuple[Memref, Memref, str, TiledCopy | None] | None:
    """Both sides as one thread sees them, the code that makes them, and the tiled copy they are cut by."""
    if copy.tiling is None:
        return copy.src, copy.dst, code.fragment_code("src", copy.src.dtype), None
    if copy.pred is not None:  # made for the vectors of the split that it has
        return None
    tiling = copy.tiling
    fast = contiguous_mode(tiling.src.layout if along_source else tiling.dst.layout)
    if fast is None:
        return None
    split = thread_value(tiling.src.layout, fast, vector, block_of(tiling))
    if split is None:
        return None
    atom = replace(load, width_bits=vector * load.dtype.bits)
    tiled = make_tiled_copy_tv(atom, *split)
    src = partition(tiled, "src", tiling.src).view
    dst = partition(tiled, "dst", tiling.dst).view
    wider = "load_atom" if load == atom else "store_atom"
    lines = [
        f"tiled_copy = cute.make_tiled_copy_tv({wider}, {code.layout_code(split[0])}, "
        f"{code.layout_code(split[1])})",
        "thr_copy = tiled_copy.get_slice(tidx)",
        "tSrc, tDst = thr_copy.partition_S(src), thr_copy.partition_D(dst)",
        code.fragment_code("tSrc", src.dtype),
    ]
    return src, dst, "\n".join(lines), tiled
