"""`pad-pitch`: round the strides that break the vector's alignment up to whole vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.layout import Layout
from layoutcheck.analysis import Analysis
from layoutcheck.atoms.bulk import GRAIN_BYTES, BulkCopy
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.dsmem import DsmemStore
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Draft

STRATEGY = "pad-pitch"


def propose(analysis: Analysis) -> Iterator[Draft]:
    """Static strides above 1 that are no multiple of the vector, each to the next one."""
    copy = analysis.copy
    if copy.tiling is not None or not isinstance(copy.src.layout.shape, tuple):
        return
    if isinstance(copy.atom, BulkCopy):
        vector = GRAIN_BYTES * 8 // copy.src.dtype.bits
    elif isinstance(copy.atom, (CpAsync, DsmemStore, UniversalCopy, RegisterCopy)):
        vector = copy.atom.width_bits // copy.src.dtype.bits
    elif isinstance(copy.atom, (LdMatrix, StMatrix)):
        vector = 128 // copy.src.dtype.bits
    else:
        return
    if vector < 2:
        return
    src, dst = _padded(copy.src, vector), _padded(copy.dst, vector)
    if (src, dst) == (copy.src, copy.dst):
        return
    text = "\n".join(
        f"{name}_layout = {code.layout_code(new.layout)}"
        for name, new, old in (("src", src, copy.src), ("dst", dst, copy.dst))
        if new != old
    )
    yield Draft(
        STRATEGY,
        f"pad the pitch to a multiple of {vector} elements",
        text,
        (replace(copy, src=src, dst=dst),),
        "the tensor's allocation changes with it",
    )


def _padded(view: Memref, vector: int) -> Memref:
    """The view with its rest strides rounded up; registers have no pitch."""
    if view.space == "rmem":
        return view
    modes = view.layout.modes
    strides = tuple(_round(mode.stride, vector) for mode in modes[1:])
    layout = Layout(tuple(m.shape for m in modes), (modes[0].stride, *strides))
    return view if layout == view.layout else view.with_layout(layout)


def _round(stride: object, vector: int) -> object:
    leaves = (
        -(-leaf // vector) * vector if isinstance(leaf, int) and leaf > 1 else leaf
        for leaf in inttuple.flatten(stride)
    )
    return inttuple.unflatten(iter(leaves), stride)
