"""That rows of a text's tensor begin at addresses which no access of 16 bytes may have: vectors, rows of ldmatrix, maps of TMA."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from layoutcheck.algebra.modes import leaves
from layoutcheck.catalogue import symptoms, tiles
from layoutcheck.catalogue.figures import TYPES, VECTOR, bits_of, of_tma, sentences

_NAMES = "|".join(sorted((*TYPES, "float", "byte"), key=len, reverse=True))
_TYPED = re.compile(
    rf"(?i)(?<![a-z0-9])(?:torch\.|cutlass\.|cute\.|np\.)?(?P<type>{_NAMES})s?(?:_t)?\b|\bb(?P<bits>8|16|32)\b"
)
_MADE = re.compile(
    rf"\btorch\.(?:randn?|empty|zeros|ones|full)\((?P<rows>(?:[0-9]+, ?){{1,3}})(?P<count>[0-9]{{1,6}})\)?[^()]{{0,40}}?dtype ?= ?(?:torch\.)?(?P<type>{'|'.join(TYPES)})\b(?![^();]{{0,30}}\)\.(?:t\(|T\b|mT\b|permute|transpose|view|reshape))"
)
_SAID = re.compile(
    rf"(?i)\b(?:pad(?:s|ded|ding)?\b[^.;]{{0,60}}?\bto|(?:pitch|rows?|(?:row|smem|shared(?: memory)?) stride|leading dimension)(?: (?:of|is|are|to|has|have))+) (?P<count>[0-9]{{1,5}}) (?P<type>{_NAMES})s?\b(?! (?:of|in|for|from|between) )"
)
_EXTENT = re.compile(
    r"(?P<name>(?:\b|--)(?:[KNM]|(?<=--)[knm]|lda|ldb|ldc|ld|head_?dim|hidden(?:_size)?|cols?|columns)) ?= ?(?P<count>[0-9]{2,6})\b|\b(?P<columns>[0-9]{2,6}) (?:columns|cols)\b"
)
_OF_VECTORS = re.compile(
    r"(?i)vectori|\bvectors?\b|向量|\balign|num_bits_per_copy|128[- ]?bit|16[- ]?bytes?\b|\bLDG|ld\.global|misalign|coalesc|\b(?:ld|st)matrix|\bLDSM\b|\buint128|\bfloat4\b|\bcp\.async"
)
_TENSOR = re.compile(r"\bgmem_ptr\[(?P<bits>[0-9]{1,3})b\]\([^()]{0,40}\) o ")
_OF_MAPS = re.compile(
    r"(?i)make_tma_copy|descriptor|tensor ?map|INVALID_VALUE|invalid (?:value|argument)|misalign|illegal|cuTensorMap"
)
_MISALIGNED = re.compile(r"(?i)\bmis-?align")
_PADDED = re.compile(r"(?i)\bpadded\b|\bF\.pad\b")


class Pitch(NamedTuple):
    """As many elements of `bits` from one row to the next, as the text says it; 0 bits where it names no type, or several."""

    said: str
    count: int
    bits: int


def told(folded: str) -> tuple[str, ...]:
    """The first pitch of a text about such accesses that is no multiple of their width."""
    return tuple(_told(one) for one in _read(folded) if _shared(one) < VECTOR)[:1]


def _read(folded: str) -> Iterator[Pitch]:
    """Each pitch of a text, where it is about vectors, or a tensor map that is refused."""
    vectors = _OF_VECTORS.search(folded) is not None
    mapped = _OF_MAPS.search(folded) is not None and any(map(of_tma, sentences(folded)))
    for one in _MADE.finditer(folded) if vectors and not _PADDED.search(folded) else ():
        if math.prod(int(rows) for rows in re.findall(r"[0-9]+", one["rows"])) > 1:
            said = f"a row of {one['count']} elements of {one['type']}"
            yield Pitch(said, int(one["count"]), bits_of(one["type"]))
    for said in sentences(folded) if vectors else ():
        found = _SAID.search(said) if _OF_VECTORS.search(said) else None
        if found:
            count, typed = found["count"], found["type"]
            yield Pitch(f"a pitch of {count} {typed}", int(count), bits_of(typed))
    if mapped:
        yield from (
            Pitch(f"a row of {one.said.rpartition(' ')[2]} x {one.columns}", one.columns, one.bits)
            for one in tiles.by_rows(folded)
        )
        yield from _printed(folded)
    types = {one["type"] or one["bits"] for one in _TYPED.finditer(folded)}
    kinds = {bits_of(one) for one in types}
    bits = kinds.pop() if len(kinds) == 1 else 0
    named = f" of {types.pop()}" if len(types) == 1 and bits and not types <= {"8", "16", "32"} else ""
    for one in (
        _EXTENT.finditer(folded) if mapped or (vectors and (bits or _MISALIGNED.search(folded))) else ()
    ):
        if bits or one["name"] != "M":
            yield Pitch(f"{one[0].strip('-')}{named}", int(one["count"] or one["columns"]), bits)


def _printed(folded: str) -> Iterator[Pitch]:
    """The strides of each tensor in global memory that a text prints with the bits of its elements."""
    tensors = {one.end(): int(one["bits"]) for one in _TENSOR.finditer(folded)}
    for start, text, layout in symptoms.placed(folded) if tensors else ():
        for mode in leaves(layout) if layout is not None and start in tensors else ():
            if isinstance(mode.stride, int) and mode.stride > 1 and mode.extent != 1:
                yield Pitch(
                    f"the stride {mode.stride} of {text} in elements of {tensors[start]} bits",
                    mode.stride,
                    tensors[start],
                )


def _shared(pitch: Pitch) -> int:
    """How many of a vector's bytes the pitch is a multiple of; of an unknown type, as 16 bits."""
    return math.gcd(pitch.count * (pitch.bits or 16) // 8, VECTOR)


def _told(pitch: Pitch) -> str:
    shared, bits = _shared(pitch), pitch.bits
    if not bits:
        return f"{pitch.said} elements are {pitch.count:,} B of 8 bits and {2 * pitch.count:,} B of 16, neither a multiple of {VECTOR}: as the pitch of rows it fits no tensor map of TMA and no access of {VECTOR} B; pad it to a multiple of {VECTOR} B, or take a kernel of a smaller alignment, without TMA, for this shape"
    each = VECTOR * 8 // bits
    return f"{pitch.said} is {pitch.count * bits // 8:,} B, a multiple of {shared} B and not of {VECTOR} B: the second row begins at no multiple of {VECTOR} B, whatever is promised, and no access of {VECTOR} B (a vector, a row of ldmatrix, a map of TMA) takes it; copy {8 * shared} bits at a time (LC101), or pad: the next count that fits is {-(-pitch.count // each) * each}"
