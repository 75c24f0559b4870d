"""Copy atoms from text: as the compiler prints them, and by the short names of the command line.

    !cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>      printed by the DSL
    cp.async   cp.async.cg   universal   auto   g2r   ldmatrix.x4.trans   stmatrix.x2
    bulk.g2s   bulk.s2g.mask   st.async

The folder of a family says how its atoms are read (`atoms.FAMILY.reading`). An atom of no such family, or
with an attribute that is not modelled, becomes an `OtherAtom` that keeps its text.
All functions raise InputError with the place in the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from layoutcheck.algebra.notation import Scanner
from layoutcheck.atoms.family import families, family, folder_names
from layoutcheck.atoms.other import OtherAtom
from layoutcheck.atoms.reading import NAME, Reader, Reading, Short, UnknownAttribute
from layoutcheck.brackets import type_end
from layoutcheck.copies.atom import Atom
from layoutcheck.digits import is_number
from layoutcheck.errors import InputError, meant
from layoutcheck.machine.dtypes import DType
from layoutcheck.sources.atom_names import short_name

PREFIX = "!cute_nvgpu.atom."


class Known(NamedTuple):
    """What all families say of their atoms: readers by printed name, short names by class, readings."""

    shown: tuple[str, ...]
    readers: dict[str, Reader]
    classes: dict[str, str]
    readings: Sequence[Reading]


def shown() -> tuple[str, ...]:
    """The short names of all atoms."""
    return known().shown


@cache
def known() -> Known:
    """Of every family: loading them all takes longer than a check does."""
    readings = sorted(
        (one.reading for one in families() if one.reading is not None), key=lambda reading: reading.since
    )
    return Known(
        tuple(name for reading in readings for name in reading.shown),
        {name: reader for reading in readings for name, reader in reading.readers.items()},
        {name: short for reading in readings for name, short in reading.classes.items()},
        readings,
    )


def _fitting(name: str, readings: Iterable[Reading]) -> tuple[str, Reading] | None:
    """The longest short name that fits, since one may begin another, and whose it is."""
    fitting = [
        (len(short), short, reading)
        for reading in readings
        for short in reading.names
        if f"{name}.".startswith(f"{short}.")
    ]
    if not fitting:
        return None
    _, short, reading = max(fitting, key=lambda one: one[0])
    return short, reading


def parse_atom(text: str, element: DType | None = None, bits: int | None = None) -> Atom:
    """A printed atom, or a short name given its element type and width in bits.

    `element` and `bits` are used by short names only; `bits` None means the DSL's default (auto) for
    universal copies and the widest instruction for the others.
    """
    scan = Scanner(text)
    if not scan.peek("!"):
        return named_atom(text, element, bits)
    atom = read_atom(scan)
    scan.finish("the atom")
    return atom


def read_atom(scan: Scanner) -> Atom:
    """The printed atom at the scanner's place."""
    scan.skip()
    start = scan.pos
    scan.expect(PREFIX, f"a copy atom, '{PREFIX}...'")
    name = scan.need("an atom without a name", "universal_copy, simt_async_copy, ldsm, ...", NAME)
    if not scan.peek("<"):
        raise scan.error("unexpected text after the atom's name", "'<'")
    end = type_end(scan.text, scan.pos)
    inner = Scanner(scan.text, scan.pos + 1)
    scan.pos = end
    reader = known().readers.get(name[0])
    whole = scan.text[start:end]
    if reader is None:
        return OtherAtom(name[0], " ".join(whole.split()))
    try:
        atom = reader(inner, name[0])
    except UnknownAttribute:
        return OtherAtom(name[0], " ".join(whole.split()))
    if inner.pos != end:
        raise inner.error("unexpected text in the atom", "'>'")
    return atom


def named_atom(text: str, element: DType | None = None, bits: int | None = None) -> Atom:
    """The atom of a short name: a family, then options after dots (`cp.async.cg`, `ldmatrix.x4.trans`)."""
    name = short_name(text)
    folders = (folder for folder in folder_names() if f"{name}.".startswith(f"{folder.replace('_', '.')}."))
    near = [one.reading for one in map(family, folders) if one.reading is not None]
    found = _fitting(name, near)  # `cp.async.cg` is in `cp_async`: no other folder is loaded
    if found is None:
        name = known().classes.get(name, name)
        found = _fitting(name, known().readings)
    if found is None:
        shown = known().shown
        raise InputError(
            f"unknown atom '{text.strip()[:40]}'{meant(name, shown)}",
            text=text,
            start=0,
            end=len(text),
            expected=f"one of {', '.join(shown)}, or a printed '{PREFIX}...<...>'",
        )
    start, reading = found
    if element is None:
        raise InputError(
            f"atom '{text.strip()[:40]}' needs an element type", expected="--dtype, such as bf16"
        )
    options = tuple(name[len(start) + 1 :].split(".")) if len(name) > len(start) else ()
    widths = [int(option) for option in options if is_number(option) and len(option) < 9]
    atom = reading.build(Short(start, options, element, widths[0] if widths else bits))
    if atom is None:
        shown = known().shown
        names = [one for one in shown if one.startswith(start)] or list(shown)
        raise InputError(
            f"unknown option in atom '{text.strip()[:40]}'{meant(name, names)}",
            text=text,
            start=len(text) - len(text.lstrip()) + len(start),
            end=len(text),
            expected=f"a name such as {', '.join(names)}",
        )
    return atom
