"""What the readers of the atom families share: the moves of their grammar, and what a family declares."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from layoutcheck.algebra.notation import Scanner
from layoutcheck.copies.atom import Atom
from layoutcheck.digits import is_number
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import KNOWN, DType, dtype

NAME = re.compile(r"[A-Za-z_]\w*")
WORD = re.compile(r"[A-Za-z_][\w.]*")
WIDTH = re.compile(r"([0-9]{1,9})\s*b(?!\w)")
NUMBER = re.compile(r"[0-9]{1,9}")
ATTRIBUTE = re.compile(r",?\s*[A-Za-z_]\w*\s*=")

# Reads a printed atom: the scanner is past `name<`, and the reader moves past the closing `>`.
Reader: TypeAlias = Callable[[Scanner, str], Atom]


class UnknownAttribute(Exception):
    """Internal: the atom is well formed and has an attribute that its family's model lacks."""


class Short(NamedTuple):
    """A short name as asked for: its family, the options after dots, and what the command line adds.

    `width_bits` is the number among the options or else the asked width; `rest` the other options.
    """

    family: str
    options: tuple[str, ...]
    element: DType
    width_bits: int | None

    @property
    def rest(self) -> tuple[str, ...]:
        """The options that are not numbers."""
        return tuple(option for option in self.options if not is_number(option))


class Reading(NamedTuple):
    """How the atoms of a family are printed and what they are called.

    `since` is the first architecture that has one, by which families are listed.
    `readers` maps the printed name to its reader. `names` are the short names whose options follow after
    dots; `build` makes the atom of one, or None for an unknown option; `shown` are examples for messages.
    `classes` maps the DSL's Python classes (lower case) to a short name.
    """

    since: int
    readers: Mapping[str, Reader]
    names: tuple[str, ...] = ()
    build: Callable[[Short], Atom | None] = lambda _: None
    shown: tuple[str, ...] = ()
    classes: Mapping[str, str] = {}


def read_dtype(scan: Scanner) -> DType:
    """The element type at the scanner's place."""
    scan.skip()
    start = scan.pos
    name = scan.need("no element type", KNOWN, WORD)
    try:
        return dtype(name[0])
    except InputError as error:
        raise error.within(scan.text, start) from None


def close(scan: Scanner) -> None:
    """The end of an atom; an attribute that is not modelled makes it an OtherAtom."""
    if scan.accept(">"):
        return
    if ATTRIBUTE.match(scan.text, scan.pos):
        raise UnknownAttribute
    raise scan.error("unexpected text in the atom", "'>'")


def width(scan: Scanner) -> int:
    """A width such as `128 b`, in bits."""
    found = scan.need("not a width", "a width in bits such as '128 b'", WIDTH)
    return int(found[1])


def sized(scan: Scanner, make: Callable[[DType, int], Atom]) -> Atom:
    """The atom of an element type and of a width in bits; 0 where an attribute or the end follows."""
    element, bits = read_dtype(scan), 0
    if scan.peek(",") and not ATTRIBUTE.match(scan.text, scan.pos):
        scan.accept(",")
        bits = width(scan)
    close(scan)
    return make(element, bits)


def value(scan: Scanner, key: str) -> str:
    """The value of `key = value`, which must come next."""
    scan.expect(key, f"'{key} = ...'")
    scan.expect("=", f"'=' after {key}")
    found = scan.need("no value", f"the value of {key}", WORD, NUMBER)
    return found[0]
