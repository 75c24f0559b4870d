"""`!cute_nvgpu.atom.dsmem_store<bf16, 128 b>`; short `st.async`."""

from __future__ import annotations

from layoutcheck.atoms.dsmem import DsmemStore
from layoutcheck.atoms.reading import Reading, Short, sized
from layoutcheck.copies.atom import Atom


def _build(short: Short) -> Atom | None:
    width_bits = 128 if short.width_bits is None else short.width_bits
    return DsmemStore(short.element, width_bits) if not short.rest else None


READING = Reading(
    since=90,
    readers={"dsmem_store": lambda scan, _name: sized(scan, DsmemStore)},
    names=("st.async",),
    build=_build,
    shown=("st.async",),
    classes={"copydsmemstoreop": "st.async"},
)
