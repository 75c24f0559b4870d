"""`!cute_nvgpu.atom.universal_copy<bf16, 128 b>`; short `universal`, `universal.128`, `auto`."""

from __future__ import annotations

from layoutcheck.atoms.reading import Reading, Short, sized
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.atom import Atom


def _build(short: Short) -> Atom | None:
    if short.rest:
        return None
    return UniversalCopy(short.element, 0 if short.family == "auto" else short.width_bits or 0)


READING = Reading(
    since=70,
    readers={"universal_copy": lambda scan, _name: sized(scan, UniversalCopy)},
    names=("universal", "auto"),
    build=_build,
    shown=("universal", "auto"),
    classes={"copyuniversalop": "universal"},
)
