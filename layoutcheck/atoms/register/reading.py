"""`!cute_nvgpu.atom.g2r<bf16 copy_bits = 128 mem_order = relaxed>`, also r2g, s2r and r2s."""

from __future__ import annotations

from layoutcheck.algebra.notation import Scanner
from layoutcheck.atoms.reading import NAME, NUMBER, WORD, Reading, Short, UnknownAttribute, read_dtype
from layoutcheck.atoms.register import KINDS, RegisterCopy
from layoutcheck.atoms.register.attributes import known
from layoutcheck.copies.atom import Atom


def _read(scan: Scanner, name: str) -> Atom:
    element = read_dtype(scan)
    scan.accept(",")
    scan.expect("copy_bits", "'copy_bits = N'")
    scan.expect("=")
    width = scan.need("not a width", "a number of bits", NUMBER)
    options: list[tuple[str, str]] = []
    while not scan.accept(">"):
        scan.accept(",")
        key = scan.need("unexpected text in the atom", "'key = value' or '>'", NAME)
        scan.expect("=", f"'=' after {key[0]}")
        value = scan.need("no value", f"the value of {key[0]}", WORD, NUMBER)
        if not known(name, key[0], value[0]):
            raise UnknownAttribute
        options.append((key[0], value[0]))
    return RegisterCopy(name, element, int(width[0]), tuple(options))


def _build(short: Short) -> Atom | None:
    width = 128 if short.width_bits is None else short.width_bits
    return RegisterCopy(short.family, short.element, width) if not short.rest else None


READING = Reading(
    since=70,
    readers=dict.fromkeys(KINDS, _read),
    names=KINDS,
    build=_build,
    shown=KINDS,
    classes={f"copy{kind}op": kind for kind in KINDS},
)
