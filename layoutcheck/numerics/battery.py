"""A published battery of tensor-core probes, its printed results, and the vectors it should have used.

The battery ran f16 inputs through WMMA 16x16x16 on an RTX 4060 (sm_89), the first four products of k in use,
and printed the bits of each result. Five of its 26 cases cannot see anything: they ask f16 for 2^-25, half
the smallest f16, which rounds to zero before the tensor core; another cannot tell truncation from rounding
to nearest, because the tie it makes is on an even last bit. `REPAIRED` does what those meant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Case:
    """One probe: the four products a[i] b[i] and c as exact values (f16 rounds them, to nearest, first).

    `printed` is the result's encoding as the battery printed it (sign, exponent and fraction bits), or None.
    `vacuous` says why the case shows nothing, where it does not.
    """

    name: str
    title: str
    accumulator: str
    a: tuple[float, ...]
    b: tuple[float, ...]
    c: float
    printed: str | None = None
    vacuous: str | None = None


def _value(written: str) -> float:
    """A sum of numbers and powers of two: "-1-2^-23"."""
    value = 0.0
    for sign, power, plain in re.findall(r"(-?)(?:2\^(-?[0-9]+)|([0-9.]+))", written):
        term = 2.0 ** int(power) if power else float(plain)
        value += -term if sign else term
    return value


def _cases(block: str) -> tuple[Case, ...]:
    """A case of each line of the table beside this module."""
    found = []
    for line in block.splitlines():
        name, title, accumulator, a, b, c, *rest = line.split(" | ")
        one, other = (tuple(map(_value, side.split())) for side in (a, b))
        found.append(Case(name, title, accumulator, one, other, _value(c), *rest))
    return tuple(found)


_TABLE = re.sub("#.*\n", "", Path(__file__).with_suffix(".txt").read_text(encoding="utf-8"))
BATTERY, REPAIRED = map(_cases, _TABLE.split("\n\n"))
