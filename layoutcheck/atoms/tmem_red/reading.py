"""`!cute_nvgpu.atom.tmem_load_red<f32, 32 DP, 32 bit, x8, max>`; short `tcgen05.ld.red.32x32b.x8.max`."""

from __future__ import annotations

import re

from layoutcheck.algebra.notation import Scanner
from layoutcheck.atoms.reading import NAME, Reading, Short, close, read_dtype
from layoutcheck.atoms.tmem.reading import read_repeat, shape
from layoutcheck.atoms.tmem_red import OPS, TmemLoadRed
from layoutcheck.copies.atom import Atom

_NAN = re.compile(r",\s*nan\b")
_SPLIT = re.compile(r",\s*half_split_off\s*=\s*(-?[0-9]{1,9})\s*:\s*i32\b")
_SHAPES = {"32x32b": (32, 32), "16x32bx2": (16, 32)}
_REPEAT = re.compile(r"x([0-9]{1,4})\Z")
_TYPED_SPLIT = re.compile(r"split([0-9]{1,4})\Z")


def read_op(scan: Scanner) -> str:
    """`, max`, which comes next."""
    scan.expect(",")
    found = scan.match(NAME)
    if found is None or found[0] not in OPS:
        raise scan.error("no reduction", " or ".join(OPS))
    return found[0]


def _read(scan: Scanner, _name: str) -> Atom:
    element = read_dtype(scan)
    lanes, bits = shape(scan)
    repeat = read_repeat(scan)
    op = read_op(scan)
    scan.skip()
    nan = scan.match(_NAN) is not None
    scan.skip()
    split = scan.match(_SPLIT)
    close(scan)
    return TmemLoadRed(
        element, lanes, bits, repeat, op=op, nan=nan, half_split_off=int(split[1]) if split else None
    )


def _build(short: Short) -> Atom | None:
    """`tcgen05.ld.red.32x32b.x8.max.nan`; of 16x32bx2 also `split8`, the columns of `half_split_off`."""
    options = list(short.options)
    found: dict[str, int] = {}
    for name, pattern in (("repeat", _REPEAT), ("split", _TYPED_SPLIT)):
        matches = [match for match in map(pattern.match, options) if match]
        if len(matches) > 1:
            return None
        if matches:
            found[name] = int(matches[0][1])
            options.remove(matches[0][0])
    shapes = [option for option in options if option in _SHAPES]
    ops = [option for option in options if option in OPS]
    nan = "nan" in options
    if len(shapes) != 1 or len(ops) > 1 or len(options) != 1 + len(ops) + nan:
        return None
    lanes, bits = _SHAPES[shapes[0]]
    if lanes == 32 and "split" in found:
        return None
    split = found.get("split", 0) if lanes == 16 else None  # 0 is the DSL's own default
    repeat = found.get("repeat", 2)
    return TmemLoadRed(
        short.element, lanes, bits, repeat, op=ops[0] if ops else "max", nan=nan, half_split_off=split
    )


READING = Reading(
    since=103,
    readers={"tmem_load_red": _read},
    names=("tcgen05.ld.red",),
    build=_build,
    shown=("tcgen05.ld.red.32x32b.x8.max",),
)
