"""Tensors whose printed layout is composed with a swizzle, `S<3,4,3> o 0 o (64,64):(64,1)`."""

from __future__ import annotations

import re
from dataclasses import replace

from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.sources.types import parse_memref

_COMPOSED = re.compile(r'(!cute\.memref<[^"]*)"S<([0-9]+),([0-9]+),([0-9]+)> o 0 o ([^"]+)">\Z')


def unswizzled(text: str) -> Memref | None:
    """A tensor with a composed layout `S o 0 o L` as one of layout L under a pointer that swizzles bytes.

    The swizzle is of offsets from the base. That is what the pointer's swizzle does of a base that is a
    multiple of its period, which is taken for granted: another base moves all addresses alike.
    None for any other tensor.
    """
    match = _COMPOSED.match(text)
    if match is None:
        return None
    memref = parse_memref(f'{match[1]}"{match[5]}">')
    bits, base, shift = (int(match[i]) for i in (2, 3, 4))
    element_bytes = memref.dtype.bits // 8
    if isinstance(memref, OtherOperand) or memref.swizzle or element_bytes & (element_bytes - 1):
        return None
    swizzle = Swizzle(bits, base + element_bytes.bit_length() - 1, shift)
    align = max(memref.proved_align_bytes, swizzle.period)
    return replace(memref, swizzle=swizzle, align_bytes=align) if element_bytes else None
