"""The tensor maps that a kernel is given, as the host's code makes them."""

from __future__ import annotations

from typing import Any

from layoutcheck.atoms.tma.descriptor import Descriptor
from layoutcheck.atoms.tma.words import decode
from layoutcheck.dsl.lowered import spaces
from layoutcheck.errors import InputError


def tensor_maps(given: Any) -> dict[int, Descriptor | None]:
    """The tensor maps among a kernel's arguments, by the address that the kernel sees each at."""
    found: dict[int, Descriptor | None] = {}
    for i, (value, _) in enumerate(given):
        while isinstance(value, tuple) and len(value) == 1:
            value = value[0]
        if isinstance(value, tuple) and len(value) == 16 and all(isinstance(x, int) for x in value):
            words, place = [x & ((1 << 64) - 1) for x in value], spaces.passed_at(i)
            try:
                found[place] = decode(words)
            except InputError:
                found[place] = None
    return found
