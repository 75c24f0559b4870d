"""`!cute_nvgpu.atom.tmem_load_spcompress<f32, 32 DP, 32 bit, x8, max, red, nan>`."""

from __future__ import annotations

import re

from layoutcheck.algebra.notation import Scanner
from layoutcheck.atoms.reading import Reading, close, read_dtype
from layoutcheck.atoms.tmem.reading import read_repeat, shape
from layoutcheck.atoms.tmem_red.reading import read_op
from layoutcheck.atoms.tmem_spcompress import TmemLoadSPCompress
from layoutcheck.copies.atom import Atom

_RED, _NAN = re.compile(r",\s*red\b"), re.compile(r",\s*nan\b")


def _read(scan: Scanner, _name: str) -> Atom:
    element = read_dtype(scan)
    lanes, bits = shape(scan)
    repeat, op = read_repeat(scan), read_op(scan)
    scan.skip()
    red = scan.match(_RED) is not None
    scan.skip()
    nan = scan.match(_NAN) is not None
    close(scan)
    return TmemLoadSPCompress(element, lanes, bits, repeat, op=op, red=red, nan=nan)


READING = Reading(since=107, readers={"tmem_load_spcompress": _read})
