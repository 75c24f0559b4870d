"""`!cute_nvgpu.atom.bulk_copy_g2s<bf16 copy_bits = 1024 mcast = true>`; short `bulk.g2s.multicast`."""

from __future__ import annotations

from layoutcheck.algebra.notation import Scanner
from layoutcheck.atoms.bulk import KINDS, BulkCopy
from layoutcheck.atoms.reading import NUMBER, Reading, Short, close, read_dtype
from layoutcheck.copies.atom import Atom

_PRINTED = "bulk_copy_"
_FLAGS = {"g2s": ("mcast", "multicast"), "s2g": ("mask", "byte_mask")}  # kind: as printed, the field
_OPTIONS = {"multicast": ("g2s", "multicast"), "mask": ("s2g", "byte_mask")}  # as typed: kind, the field


def _read(scan: Scanner, name: str) -> Atom:
    element = read_dtype(scan)
    width = 0
    flags = {}
    scan.accept(",")
    if scan.accept("copy_bits"):
        scan.expect("=")
        found = scan.need("not a width", "a number of bits", NUMBER)
        width = int(found[0])
    kind = name.removeprefix(_PRINTED)
    flag, field = _FLAGS.get(kind, ("", ""))
    if flag and scan.accept(flag):
        scan.expect("=")
        if scan.accept("true"):
            flags[field] = True
        else:
            scan.expect("false", "true or false")
    close(scan)
    return BulkCopy(kind, element, width, **flags)


def _build(short: Short) -> Atom | None:
    kind = short.family.removeprefix("bulk.")
    flags = {}
    for option in short.rest:
        needs, field = _OPTIONS.get(option, ("", ""))
        if needs != kind:
            return None
        flags[field] = True
    return BulkCopy(kind, short.element, short.width_bits or 0, **flags)


READING = Reading(
    since=90,
    readers=dict.fromkeys((f"{_PRINTED}{kind}" for kind in KINDS), _read),
    names=tuple(f"bulk.{kind}" for kind in KINDS),
    build=_build,
    shown=("bulk.g2s", "bulk.g2s.multicast", "bulk.s2g", "bulk.s2g.mask", "bulk.s2s"),
    classes={
        "copybulkg2sop": "bulk.g2s",
        "copybulkg2smulticastop": "bulk.g2s.multicast",
        "copybulks2gop": "bulk.s2g",
        "copybulks2gbytemaskop": "bulk.s2g.mask",
        "copybulks2sop": "bulk.s2s",
    },
)
