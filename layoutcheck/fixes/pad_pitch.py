"""`pad-pitch`: the next pitches that keep every vector aligned."""

from __future__ import annotations

from collections.abc import Sequence

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.integers import round_up
from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.fixes.draft import ALLOCATED, Analysis, Drafts
from layoutcheck.fixes.edit import edited, with_tensors

STRATEGY = "pad-pitch"


def propose(analysis: Analysis) -> Drafts:
    """Static strides above 1 that are not a multiple of the vector, each to the next one, of tiles or of views."""
    copy = analysis.copy
    vector = copy.atom.address_bytes * 8 // copy.src.dtype.bits if copy.atom else 0  # kept together, aligned
    if vector < 2:
        return
    old = analysis.copy.whole("src"), analysis.copy.whole("dst")
    new = tuple(_padded(memref, vector) for memref in old)
    if new == old:
        return
    pitches = ", ".join(f"{a} to {b}" for o, n in zip(old, new, strict=True) for a, b in _raised(o, n))
    yield edited(
        STRATEGY,
        f"pad the pitch to a multiple of {vector} elements: {pitches}",
        copy,
        with_tensors(copy, *new),
        ALLOCATED,
    )


def _padded(memref: Memref, vector: int) -> Memref:
    """The tensor with its pitches rounded up, each as far apart as what is below it now takes; registers have none."""
    layout = memref.layout
    if memref.space == "rmem" or isinstance(memref, OtherOperand) or not layout.is_static:
        return _rest_padded(memref, vector)
    extents, strides = inttuple.flatten((layout.shape,)), list(inttuple.flatten((layout.stride,)))
    if min(strides, default=0) < 0 or strides.count(1) != 1:
        return _rest_padded(memref, vector)
    return _strided(memref, padded(extents, strides, vector))


def padded(extents: Sequence[int], strides: Sequence[int], vector: int) -> list[int]:
    """Strides rounded up to multiples of the vector, each as far apart as what is below it now takes."""
    out = list(strides)
    reach = was = 1
    for i in sorted(range(len(out)), key=out.__getitem__):
        old = out[i]
        if old > 1:
            out[i] = round_up(max(old, reach) if old >= was else old, vector) if extents[i] > 1 else old
        if old > 0:
            was, reach = max(was, old * extents[i]), max(reach, out[i] * extents[i])
    return out


def _rest_padded(memref: Memref, vector: int) -> Memref:
    """The same of a view with run-time strides: those of its rest modes, each by itself."""
    if memref.space == "rmem" or isinstance(memref, OtherOperand) or type(memref.layout.shape) is not tuple:
        return memref
    first, *rest = memref.layout.modes
    strides = list(inttuple.flatten((first.stride,)))
    for mode in rest:
        leaves = inttuple.flatten((mode.stride,))
        strides += [round_up(d, vector) if isinstance(d, int) and d > 1 else d for d in leaves]
    return _strided(memref, strides)


def _strided(memref: Memref, strides: list[int]) -> Memref:
    shape = memref.layout.shape
    return memref.with_layout(Layout(shape, inttuple.unflatten(iter(strides), shape)))


def _raised(old: Memref, new: Memref) -> list[tuple[int, int]]:
    pairs = zip(inttuple.flatten((old.layout.stride,)), inttuple.flatten((new.layout.stride,)), strict=True)
    return [(a, b) for a, b in pairs if a != b]
