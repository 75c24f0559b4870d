"""`as_moved`: the tensors of a TMA copy as the elements that its tensor map counts (`internal_type`).

The DSL: an internal type as wide as the tensor's changes the format alone; 8 bits for 4-bit and 6-bit
elements give the format with gaps; any other width recasts the tensors, and the map counts wider or
narrower elements (measured; tests/conformance/test_tma.py).
"""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.algebra.inttuple import flatten, product, wrap
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.recast import recast_is_exact, recast_layout
from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.atoms.tma.descriptor import MOST_BOX
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import DType

_FLOATS = {"f16": "F16_RN", "bf16": "BF16_RN", "f32": "F32_RN", "tf32": "F32_RN", "f64": "F64_RN"}


def tensor_format(element: DType, internal: DType | None = None) -> str:
    """The format that the DSL gives a tensor map of these elements. Raises InputError where there is none."""
    if internal is not None:
        if internal.bits == 8 and element.bits in (4, 6):
            return f"U{element.bits}_UNPACK_U8"
        element = internal
    name = str(element)
    if name in _FLOATS:
        return _FLOATS[name]
    if element.bits == 6:
        return "U6_UNPACK_U8"
    if element.bits in (4, 8, 16, 32, 64) and element.kind != "index":
        return f"U{element.bits}"
    raise InputError(f"no tensor map holds {name}", expected="elements of 4, 6, 8, 16, 32 or 64 bits")


def as_moved(copy: Copy) -> Copy:
    """The copy itself, or one of recast tensors and a recast tile.

    Raises InputError for layouts that are not static, or do not divide into the internal elements.
    """
    tile = copy.tma
    if tile is None or tile.internal is None:
        return copy
    assert isinstance(copy.atom, TmaCopy)
    gmem, smem = (copy.src, copy.dst) if copy.atom.kind == "load" else (copy.dst, copy.src)
    new, old = tile.internal, gmem.dtype
    if new.bits == old.bits or (new.bits == 8 and old.bits in (4, 6)):
        return copy
    shape = wrap(gmem.layout.shape)
    if not all(isinstance(one, Memref) for one in (gmem, smem)) or not gmem.layout.is_static:
        raise InputError("a run-time layout under an internal type of another width is not modelled")
    if len(tile.tiler) != len(shape):
        raise InputError(f"a tile of {len(tile.tiler)} modes, a tensor of {len(shape)}: not modelled")
    there = _recast(gmem, new, tail=True)
    scaled = []
    for extent, before, after in zip(tile.tiler, shape, wrap(there.layout.shape), strict=True):
        many, of = product(after), product(before)
        assert isinstance(many, int) and isinstance(of, int)
        whole, rest = (extent, 0) if many == of else divmod(extent * old.bits, new.bits)
        if rest or (whole != extent and (min(whole, extent) == 1 or whole > MOST_BOX)):
            raise InputError(f"a tile of {extent} {old} as {whole} {new} is not modelled")
        scaled.append(whole)
    described = _recast(tile.described, new) if tile.described is not None else None
    here = _recast(smem, new)
    if tuple(product(mode) for mode in wrap((described or here).layout.shape)) != tuple(scaled):
        raise InputError(f"{smem.layout} holds {new} along another mode than {gmem.layout}")
    moved = replace(tile, tiler=tuple(scaled), described=described, internal=None)
    src, dst = (there, here) if copy.atom.kind == "load" else (here, there)
    return replace(copy, src=src, dst=dst, tma=moved)


def _recast(memref: Memref, new: DType, tail: bool = False) -> Memref:
    """The tensor as `new` elements; with a `tail` its contiguous extent is rounded up to whole ones."""
    old = memref.dtype
    layout = recast_layout(new.bits, old.bits, memref.layout)
    exact = recast_is_exact(new.bits, old.bits, memref.layout)
    if tail and not exact and isinstance(memref.layout.shape, tuple):
        strides = flatten(memref.layout.stride)
        flat = all(type(n) is int for n in memref.layout.shape)
        exact = flat and 1 in strides and all(d == 1 or d * old.bits % new.bits == 0 for d in strides)
    if not isinstance(layout, Layout) or not exact:
        raise InputError(f"{memref.layout} of {old} is not a whole number of {new}")
    return replace(memref, dtype=new, layout=layout)
