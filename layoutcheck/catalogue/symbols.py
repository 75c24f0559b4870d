"""Whose a symbol is that a linker or a loader does not find, by its name, and what makes both ends meet."""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutcheck.catalogue import owners
from layoutcheck.catalogue.rows import rows


class Missing(NamedTuple):
    """A symbol that is missing: whose it is (`linked`, a sentence, "" where nothing tells), why it is missing, and what `help`s."""

    linked: str
    cause: str
    help: str


_ROWS = tuple(rows("meanings/symbols.txt"))
# The library that defines a name, by the name's beginning, with what it alone asks for. In order.
_LIBRARIES = tuple((row.field("words"), row.field("cause"), row.traits) for row in _ROWS if not row.name)
_WHY = {row.name: (row.field("cause"), row.field("helps")) for row in _ROWS if row.name}
_ANY = "not of a library that its name tells; most often it is a function of another file"
_PART = re.compile(r"[0-9]+")


def name(symbol: str) -> str:
    """The qualified name in a mangled symbol of C++, "tvm::ffi::ReprPrint"; another symbol as it is."""
    start = re.match(r"_?_Z(?:T[ISVT])?(?P<nested>N[KVrRO]*)?(?=[0-9])", symbol)
    at, parts = start.end() if start else 0, list[str]()
    while start and (length := _PART.match(symbol, at)):
        at = length.end() + int(length[0])
        parts.append(symbol[length.end() : at])
        if not start["nested"]:
            break
    return "::".join(parts) or symbol


def unlinked(symbol: str, device: bool) -> Missing:
    """Why a linker of host or device code does not find a symbol."""
    whose, asks = _whose(name(symbol))
    why = asks if asks in ("hip", "dlink") else "device" if device else "host"
    return Missing(_told(symbol, whose), *_WHY[why])


def unloaded(symbol: str) -> Missing:
    """Why a loader does not find a symbol ("" where the text does not name it) in the libraries that an extension needs."""
    plain = name(symbol)
    whose, asks = _whose(plain)
    why = "torch" if asks == "torch" else "others" if "::" in plain else "own" if whose == _ANY else "cuda"
    return Missing(_told(symbol, whose) if symbol else "", *_WHY[why])


def _told(symbol: str, whose: str) -> str:
    plain = name(symbol)
    return f"{symbol}{f' ({plain})' if plain != symbol else ''} is {whose}."


def _whose(plain: str) -> tuple[str, str]:
    """Whose a name is, and which reason that library has of its own ("" for none)."""
    known = next(((says, asks) for prefix, says, asks in _LIBRARIES if re.match(prefix, plain)), None)
    space = plain.partition("::")[0] if "::" in plain else ""
    owner = owners.of_words(plain) if space else None
    return known or (f"of {owner.name}" if owner else f"of the namespace {space}" if space else _ANY, "")
