"""`resolve`: the copy that `autovec_copy`, `basic_copy` and `basic_copy_if` really make. Measured.

`cute.autovec_copy(src, dst)` picks the width itself: the elements that are contiguous in both layouts
(`max_common_layout`), cut down to a divisor of

    gcd(src.layout.max_alignment, dst.layout.max_alignment, common elements) * element bits
    src and dst pointer alignment, weakened by the pointer's swizzle (registers: by their swizzle alone)
    256 bits

It then divides both views by the common layout and by the width, and copies with a universal atom, or with
a g2r or r2g atom where `l1c_evict_priority=` is given. `layout.max_alignment` looks at static strides only:
a run-time pitch does not narrow the copy. With one common element or less than a byte it falls back to
`basic_copy`, a universal copy of single elements.
"""

from __future__ import annotations

import math
from dataclasses import replace

from layoutcheck.algebra.divide import logical_divide
from layoutcheck.algebra.inttuple import is_static, product
from layoutcheck.algebra.inverse import max_common_layout
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.measure import max_alignment
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.machine.dtypes import DType, dtype

MAX_WIDTH_BITS = 256
_LETTERS = {"gmem": "g", "rmem": "r", "smem": "s"}


def resolve(copy: Copy) -> Copy:
    """The same copy with its atom, width and views as the DSL chooses them; other copies as they are.

    The result's `op` is "copy", but for `basic_copy_if`, which stays a loop of predicated elements. Views
    of run-time shape come back as they are: `autovec_copy` refuses them and `basic_copy` loops over them.
    """
    if copy.op not in ("autovec_copy", "basic_copy", "basic_copy_if"):
        return copy
    copy = replace(copy, tiled=None)
    element = stored(copy.src.dtype)
    if not (is_static(copy.src.layout.shape) and is_static(copy.dst.layout.shape)):
        return replace(copy, atom=UniversalCopy(element, element.bits))
    if copy.op == "basic_copy_if":
        return replace(copy, atom=UniversalCopy(element, element.bits))
    if copy.op == "autovec_copy":
        width_bits = autovec_width(copy.src, copy.dst)
        if width_bits >= element.bits:
            return _vectorised(copy, element, width_bits)
    return replace(copy, op="copy", atom=UniversalCopy(element, element.bits), evict_priority=False)


def stored(element: DType) -> DType:
    """The type an element is copied as: i1 tensors hold bytes."""
    return dtype("i8") if element.name == "i1" else element


def autovec_width(src: Memref, dst: Memref) -> int:
    """The width `autovec_copy` picks, in bits; 0 where it falls back to `basic_copy`.

    Less than an element's bits only where a pointer is less aligned than an element; the DSL then fails.
    Raises InputError where the DSL cannot compose the source with the destination's inverse either.
    """
    common = product(max_common_layout(src.layout, dst.layout).shape)
    assert isinstance(common, int)
    run = math.gcd(max_alignment(src.layout), max_alignment(dst.layout), common)
    pointers = (_pointer_bits(src), _pointer_bits(dst))
    width_bits = math.gcd(run * stored(src.dtype).bits, *pointers, MAX_WIDTH_BITS)
    return width_bits if common > 1 and width_bits % 8 == 0 else 0


def _pointer_bits(view: Memref) -> int:
    """What a pointer bears. Registers bear any width, as the compiler places them, but for their swizzle."""
    if view.space != "rmem":
        return view.access_align_bytes * 8
    return MAX_WIDTH_BITS if view.swizzle is None or not view.swizzle.bits else view.swizzle.granule * 8


def _vectorised(copy: Copy, element: DType, width_bits: int) -> Copy:
    """Both views divided by the common layout, then by the vector."""
    common = max_common_layout(copy.src.layout, copy.dst.layout)
    vector = Layout(width_bits // element.bits)

    def divided(view: Memref) -> Memref:
        return view.with_layout(
            logical_divide(logical_divide(view.layout, common, strict=False), vector, strict=False)
        )

    atom: UniversalCopy | RegisterCopy = UniversalCopy(element, width_bits)
    if copy.evict_priority:
        kind = f"{_LETTERS.get(copy.src.space, '')}2{_LETTERS.get(copy.dst.space, '')}"
        atom = RegisterCopy(kind, element, width_bits, (("l1_cache_evict_priority", "evict_first"),))
    return replace(
        copy, op="copy", atom=atom, src=divided(copy.src), dst=divided(copy.dst), evict_priority=False
    )
