"""`!cute_nvgpu.atom.tmem_load<...>`, `tmem_store` and `s2t_copy`; short `tcgen05.ld.32x32b.x32`."""

from __future__ import annotations

import re

from layoutcheck.algebra.notation import Scanner
from layoutcheck.machine.atoms import Atom, S2TCopy, TmemLoad, TmemStore
from layoutcheck.machine.atoms.s2t import BROADCASTS
from layoutcheck.sources.atoms.reading import Family, Short, UnknownAttribute, close, read_dtype

_LANES = re.compile(r"([0-9]{1,4})\s*DP\b")
_BITS = re.compile(r"([0-9]{1,4})\s*bit\b")
_REPEAT = re.compile(r"x([0-9]{1,4})\b")
_CTAS = re.compile(r"([0-9]{1,2})\s*cta\b")
_PACKED = re.compile(r",\s*(pack16b|expand16b)\b")
_BROADCAST = re.compile(r",\s*(x4|lw_0213|lw_0123|none)\b")
_SHAPE = re.compile(r"(16|32)x(32|64|128|256)b(x2)?\Z")
_CP_SHAPE = re.compile(r"(128|64|32|4)x(128|256)b\Z")
_MULTICAST = {"warpx4": "x4", "warpx2::02_13": "lw_0213", "warpx2::01_23": "lw_0123"}


def _shape(scan: Scanner) -> tuple[int, int]:
    scan.expect(",")
    lanes = scan.match(_LANES)
    if lanes is None:
        raise scan.error("no number of data paths", "such as '32 DP'")
    scan.expect(",")
    bits = scan.match(_BITS)
    if bits is None:
        raise scan.error("no number of bits", "such as '32 bit'")
    return int(lanes[1]), int(bits[1])


def _read(scan: Scanner, name: str) -> Atom:
    element = read_dtype(scan)
    lanes, bits = _shape(scan)
    scan.expect(",")
    if name == "s2t_copy":
        ctas = scan.match(_CTAS)
        if ctas is None:
            raise scan.error("no number of CTAs", "'1 cta' or '2 cta'")
        scan.skip()
        found = scan.match(_BROADCAST)
        close(scan)
        broadcast = found[1] if found and found[1] != "none" else ""
        return S2TCopy(element, lanes, bits, int(ctas[1]), broadcast)
    repeat = scan.match(_REPEAT)
    if repeat is None:
        raise scan.error("no repetition", "x1, x2, ..., x128")
    scan.skip()
    packed = scan.match(_PACKED)
    if packed and (packed[1] == "pack16b") != (name == "tmem_load"):
        raise UnknownAttribute
    close(scan)
    atom = TmemLoad if name == "tmem_load" else TmemStore
    return atom(element, lanes, bits, int(repeat[1]), packed is not None)


def _build(short: Short) -> Atom | None:
    """`tcgen05.ld.16x64b.x4.pack16b`, `tcgen05.st.32x32b.x8`, `tcgen05.cp.32x128b.warpx4`."""
    options = list(short.options)
    if short.family == "tcgen05.cp":
        return _build_cp(short, options)
    shape = next((found for found in map(_SHAPE.match, options) if found), None)
    if shape is None or bool(shape[3]) != ((shape[1], shape[2]) == ("16", "32")):
        return None
    options.remove(shape[0])
    packed = [option for option in options if option in ("pack16b", "unpack16b", "expand16b")]
    repeats = [option for option in options if _REPEAT.fullmatch(option)]
    if len(packed) + len(repeats) != len(options) or len(repeats) > 1:
        return None
    atom = TmemLoad if short.family == "tcgen05.ld" else TmemStore
    repeat = int(repeats[0][1:]) if repeats else 1
    return atom(short.element, int(shape[1]), int(shape[2]), repeat, bool(packed))


def _build_cp(short: Short, options: list[str]) -> Atom | None:
    shape = next((found for found in map(_CP_SHAPE.match, options) if found), None)
    if shape is None:
        return None
    options.remove(shape[0])
    names = [_MULTICAST.get(option, option) for option in options]
    if len(names) > 1 or any(name not in BROADCASTS for name in names):
        return None
    return S2TCopy(short.element, int(shape[1]), int(shape[2]), 1, names[0] if names else "")


TMEM = Family(
    readers=dict.fromkeys(("tmem_load", "tmem_store", "s2t_copy"), _read),
    names=("tcgen05.ld", "tcgen05.st", "tcgen05.cp"),
    build=_build,
    shown=("tcgen05.ld.32x32b.x32", "tcgen05.cp.32x128b.warpx4"),
)
