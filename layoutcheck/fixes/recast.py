"""`recast`: move 4-bit elements as the bytes they fill, in accesses of any width."""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.algebra.recast import recast_is_exact, recast_layout
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Analysis, Draft, Drafts
from layoutcheck.machine.dtypes import dtype

STRATEGY = "recast"
_BYTE = dtype("i8")


def propose(analysis: Analysis) -> Drafts:
    """Both tensors of 4-bit elements as bytes, where every other stride is a whole number of bytes."""
    copy = analysis.copy
    if not isinstance(copy.atom, (UniversalCopy, RegisterCopy)) or copy.tiling is not None or copy.pred:
        return
    if copy.src.dtype.bits != 4 or copy.dst.dtype.bits != 4:
        return
    src, dst = _as_bytes(copy.src), _as_bytes(copy.dst)
    if src is None or dst is None:
        return
    atom = replace(copy.atom, dtype=_BYTE)
    yield Draft(
        STRATEGY,
        "recast both tensors to bytes",
        "src = cute.recast_tensor(src, cutlass.Int8)\ndst = cute.recast_tensor(dst, cutlass.Int8)\n"
        f"atom = {code.atom_code(atom)}",
        (replace(copy, atom=atom, src=src, dst=dst),),
    )


def _as_bytes(view: Memref) -> Memref | None:
    """`recast_tensor(view, Int8)`; None where it would round a stride, or a run-time one decides."""
    if not recast_is_exact(8, 4, view.layout):
        return None
    return replace(view, dtype=_BYTE, layout=recast_layout(8, 4, view.layout))
