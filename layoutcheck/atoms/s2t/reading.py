"""`!cute_nvgpu.atom.s2t_copy<...>`; short `tcgen05.cp.32x128b.warpx4`."""

from __future__ import annotations

import re

from layoutcheck.algebra.notation import Scanner
from layoutcheck.atoms.reading import Reading, Short, close, read_dtype
from layoutcheck.atoms.s2t import BROADCASTS, S2TCopy
from layoutcheck.atoms.tmem.reading import shape
from layoutcheck.copies.atom import Atom

_CTAS = re.compile(r"([0-9]{1,2})\s*cta\b")
_BROADCAST = re.compile(r",\s*(x4|lw_0213|lw_0123|none)\b")
_SHAPE = re.compile(r"(128|64|32|4)x(128|256)b\Z")
_MULTICAST = {"warpx4": "x4", "warpx2::02_13": "lw_0213", "warpx2::01_23": "lw_0123"}


def _read(scan: Scanner, _name: str) -> Atom:
    element = read_dtype(scan)
    lanes, bits = shape(scan)
    scan.expect(",")
    ctas = scan.need("no number of CTAs", "'1 cta' or '2 cta'", _CTAS)
    found = scan.match(_BROADCAST)
    close(scan)
    broadcast = found[1] if found and found[1] != "none" else ""
    return S2TCopy(element, lanes, bits, int(ctas[1]), broadcast)


def _build(short: Short) -> Atom | None:
    """`tcgen05.cp.32x128b.warpx4`."""
    options = list(short.options)
    found = next((one for one in map(_SHAPE.match, options) if one), None)
    if found is None:
        return None
    options.remove(found[0])
    names = [_MULTICAST.get(option, option) for option in options]
    if len(names) > 1 or any(name not in BROADCASTS for name in names):
        return None
    return S2TCopy(short.element, int(found[1]), int(found[2]), 1, names[0] if names else "")


READING = Reading(
    since=100,
    readers={"s2t_copy": _read},
    names=("tcgen05.cp",),
    build=_build,
    shown=("tcgen05.cp.32x128b.warpx4",),
)
