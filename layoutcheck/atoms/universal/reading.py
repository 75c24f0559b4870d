"""`!cute_nvgpu.atom.universal_copy<bf16, 128 b>`; short `universal`, `universal.128`, `auto`."""

from __future__ import annotations

from layoutcheck.algebra.notation import Scanner
from layoutcheck.atoms.reading import Reading, Short, close, read_dtype, width_if_printed
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.atom import Atom


def _read(scan: Scanner, _name: str) -> Atom:
    element = read_dtype(scan)
    bits = width_if_printed(scan)
    close(scan)
    return UniversalCopy(element, bits)


def _build(short: Short) -> Atom | None:
    if short.rest:
        return None
    return UniversalCopy(short.element, 0 if short.family == "auto" else short.width_bits or 0)


READING = Reading(
    since=70,
    readers={"universal_copy": _read},
    names=("universal", "auto"),
    build=_build,
    shown=("universal", "auto"),
    classes={"copyuniversalop": "universal"},
)
