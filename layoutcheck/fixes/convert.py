"""`convert-in-registers`: load in the source's type, convert the values, store in the destination's."""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Analysis, Draft, Drafts, fragment
from layoutcheck.machine.arch import parse_arch
from layoutcheck.machine.conversions import converts

STRATEGY = "convert-in-registers"


def propose(analysis: Analysis) -> Drafts:
    """Two copies around one conversion, each as wide as its side allows; else element by element."""
    copy = analysis.copy
    src, dst = copy.src, copy.dst
    if src.dtype == dst.dtype or copy.tiling is not None:
        return
    if not converts(src.dtype, dst.dtype, parse_arch(copy.arch)):
        return
    if analysis.per_instruction > 1:
        yield _draft(analysis, 128)
    yield _draft(analysis, 0)


def _draft(analysis: Analysis, widest: int) -> Draft:
    copy = analysis.copy
    load_bits, store_bits = (_bits(side, widest) for side in (copy.src, copy.dst))
    load, store = UniversalCopy(copy.src.dtype, load_bits), UniversalCopy(copy.dst.dtype, store_bits)
    read, written = fragment(copy.src), fragment(replace(copy.src, dtype=copy.dst.dtype))
    guard = ", pred=pred" if copy.pred is not None else ""
    lines = [
        f"load_atom = {code.atom_code(load)}",
        f"store_atom = {code.atom_code(store)}",
        code.fragment_code("src", copy.src.dtype),
        f"cute.copy(load_atom, src, fragment{guard})",
        f"converted = cute.make_rmem_tensor_like(fragment, {code.dtype_code(copy.dst.dtype)})",
        f"converted.store(fragment.load().to({code.dtype_code(copy.dst.dtype)}))",
        f"cute.copy(store_atom, converted, dst{guard})",
    ]
    return Draft(
        STRATEGY,
        f"load {copy.src.dtype}, convert in registers, store {copy.dst.dtype}",
        "\n".join(lines),
        (
            replace(copy, atom=load, op="copy", dst=read, tiled=None),
            replace(copy, atom=store, op="copy", src=written, tiled=None),
        ),
    )


def _bits(side: Memref, widest: int) -> int:
    return min(widest, side.proved_align_bytes * 8) if widest else side.dtype.bits
