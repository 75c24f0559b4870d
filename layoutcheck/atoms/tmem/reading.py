"""`!cute_nvgpu.atom.tmem_load<...>` and `tmem_store`; short `tcgen05.ld.32x32b.x32`."""

from __future__ import annotations

import re

from layoutcheck.algebra.notation import Scanner
from layoutcheck.atoms.reading import Reading, Short, UnknownAttribute, close, read_dtype
from layoutcheck.atoms.tmem import TmemLoad, TmemStore
from layoutcheck.copies.atom import Atom

_LANES = re.compile(r"([0-9]{1,4})\s*DP\b")
_BITS = re.compile(r"([0-9]{1,4})\s*bit\b")
_REPEAT = re.compile(r"x([0-9]{1,4})\b")
_PACKED = re.compile(r",\s*(pack16b|expand16b)\b")
_SHAPE = re.compile(r"(16|32)x(32|64|128|256)b(x2)?\Z")


def shape(scan: Scanner) -> tuple[int, int]:
    """`32 DP, 32 bit`, which comes next."""
    scan.expect(",")
    lanes = scan.need("no number of data paths", "such as '32 DP'", _LANES)
    scan.expect(",")
    bits = scan.need("no number of bits", "such as '32 bit'", _BITS)
    return int(lanes[1]), int(bits[1])


def read_repeat(scan: Scanner) -> int:
    """`, x8`, which comes next."""
    scan.expect(",")
    found = scan.need("no repetition", "x1, x2, ..., x128", _REPEAT)
    return int(found[1])


def _read(scan: Scanner, name: str) -> Atom:
    element = read_dtype(scan)
    lanes, bits = shape(scan)
    repeat = read_repeat(scan)
    scan.skip()
    packed = scan.match(_PACKED)
    if packed and (packed[1] == "pack16b") != (name == "tmem_load"):
        raise UnknownAttribute
    close(scan)
    atom = TmemLoad if name == "tmem_load" else TmemStore
    return atom(element, lanes, bits, repeat, packed is not None)


def _build(short: Short) -> Atom | None:
    """`tcgen05.ld.16x64b.x4.pack16b`, `tcgen05.st.32x32b.x8`."""
    options = list(short.options)
    found = next((one for one in map(_SHAPE.match, options) if one), None)
    if found is None or bool(found[3]) != ((found[1], found[2]) == ("16", "32")):
        return None
    options.remove(found[0])
    packed = [option for option in options if option in ("pack16b", "unpack16b", "expand16b")]
    repeats = [option for option in options if _REPEAT.fullmatch(option)]
    if len(packed) + len(repeats) != len(options) or len(repeats) > 1:
        return None
    atom = TmemLoad if short.family == "tcgen05.ld" else TmemStore
    repeat = int(repeats[0][1:]) if repeats else 1
    return atom(short.element, int(found[1]), int(found[2]), repeat, bool(packed))


READING = Reading(
    since=100,
    readers=dict.fromkeys(("tmem_load", "tmem_store"), _read),
    names=("tcgen05.ld", "tcgen05.st"),
    build=_build,
    shown=("tcgen05.ld.32x32b.x32",),
)
