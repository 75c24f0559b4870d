"""What a shared layout or a row's pitch in a text makes of a warp's accesses: wavefronts along each mode, addresses of vectors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from layoutcheck.algebra import Layout
from layoutcheck.algebra.modes import leaves
from layoutcheck.catalogue.figures import TYPES
from layoutcheck.catalogue.symptoms import printed
from layoutcheck.machine.arch import WARP
from layoutcheck.machine.banks import shared_wavefronts

_OF_BANKS = re.compile(r"(?i)\bbank[- ]?conflict|\bwavefronts?\b")
_TYPED = re.compile(
    rf"(?i)\b(?:torch\.|cutlass\.|cute\.)?(?P<type>{'|'.join(TYPES)}|float|half|halfs|halves|floats)(?:_t)?\b"
)
_ALSO = {"float": "fp32", "halve": "half", "byte": "int8"}
_PITCH = re.compile(
    r"(?i)\b(?:pad(?:s|ded|ding)?|pitch|row|stride|leading dimension)\b[^.;]{0,60}?\b(?P<count>[0-9]{1,5}) (?P<type>halfs|halves|floats|bf16s?|fp16s?|fp32s?|bytes)\b"
)
_OF_VECTORS = re.compile(
    r"(?i)\b(?:ld|st)matrix|\bLDSM\b|128[- ]?bit|16[- ]?bytes?\b|\buint128|\bfloat4\b|vectori[sz]|cp\.async"
)
_MOST = 2  # layouts
_ROWS = 16  # bytes of a vector, and of a row of ldmatrix [PTX ISA]


def told(folded: str) -> tuple[str, ...]:
    """What the text's layouts cost in banks, where it is about them; what its pitch is no multiple of, where it is about vectors."""
    return (*_banks(folded), *_pitches(folded))


def _banks(folded: str) -> Iterator[str]:
    """The wavefronts of a warp that reads or writes one element a lane, along each mode of each static layout."""
    types = {_bits(one["type"]) for one in _TYPED.finditer(folded)}
    if not _OF_BANKS.search(folded) or len(types) != 1:
        return
    bits = types.pop()
    shared = [(text, layout) for text, layout in printed(folded) if layout is not None and layout.is_static]
    for text, layout in dict.fromkeys(shared[:_MOST]) if bits >= 8 else ():
        told = [_along(at, extent, stride, bits) for at, extent, stride in _modes(layout)]
        if told:
            yield f"{text} in elements of {bits // 8} B: {'; '.join(told)}; one a lane, without a swizzle (LC301)"


def _modes(layout: Layout) -> list[tuple[int, int, int]]:
    """(place, extent, stride) of each flattened mode along which lanes can lie."""
    each = ((at, one.extent, one.stride) for at, one in enumerate(leaves(layout)))
    return [
        (at, extent, stride)
        for at, extent, stride in each
        if isinstance(extent, int) and isinstance(stride, int) and extent > 1
    ]


def _along(at: int, extent: int, stride: int, bits: int) -> str:
    """The wavefronts of the lanes that lie along one mode, as many as it has and a warp at most; the next stride that has no conflict."""
    lanes = min(WARP, extent)
    ways = _ways(lanes, stride, bits)
    said = f"{lanes} lanes along mode {at} (stride {stride}) take {ways} wavefront{'s' if ways > 1 else ''}"
    free = next((one for one in range(stride, stride + WARP + 1) if _ways(lanes, one, bits) == 1), stride)
    return said if free == stride else f"{said}, and 1 with a stride of {free}"


def _ways(lanes: int, stride: int, bits: int) -> int:
    """The wavefronts of lanes that lie a stride apart; the others of the warp are off."""
    addresses = [lane * stride * bits // 8 if lane < lanes else None for lane in range(WARP)]
    return shared_wavefronts(addresses, min(bits, 32)).wavefronts


def _pitches(folded: str) -> Iterator[str]:
    """That rows of a pitch begin at addresses which no 16-byte vector may have."""
    found = _PITCH.search(folded)
    if not (found and _OF_VECTORS.search(folded)):
        return
    bits = _bits(found["type"])
    row = int(found["count"]) * bits // 8
    shared = math.gcd(row, _ROWS)
    if row and shared < _ROWS:
        each = _ROWS * 8 // bits
        upper = -(-int(found["count"]) // each) * each
        yield (
            f"a pitch of {found['count']} {found['type']} is {row} B, a multiple of {shared} alone: the second row begins {row % _ROWS} B behind a multiple of {_ROWS}, "
            f"and ldmatrix or any access of {_ROWS} B faults there; the next pitch that fits is {upper}"
        )


def _bits(name: str) -> int:
    """The bits of an element of this type, or of these: "half", "halves"."""
    one = name.lower().removesuffix("s")
    return TYPES[_ALSO.get(one, one)][0]
