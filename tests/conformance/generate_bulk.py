"""Random bulk copies and DSMEM stores near the border between accepted and rejected, from a seed.

As tests/conformance/generate.py, whose shapes, layouts and spoilers it uses: a copy that its atom takes,
spoiled in zero to three ways.
"""

from __future__ import annotations

from random import Random

from layoutcheck.atoms.bulk import KINDS, SPACES, BulkCopy
from layoutcheck.atoms.dsmem import DsmemStore
from layoutcheck.copies.atom import Atom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.machine.dtypes import DType, dtype
from tests.conformance.generate import (
    COMMON,
    RARE,
    Draft,
    add_predicate,
    random_layout,
    random_rest,
    random_v,
    refactored,
    spoiled,
)

SUB_BYTE = [dtype(t) for t in ("f4E2M1FN", "i4", "f6E2M3FN", "f6E3M2FN")]


def random_copy(rng: Random) -> Copy:
    """One bulk copy or DSMEM store."""
    return spoiled(sound(rng), rng)


def sound(rng: Random) -> Draft:
    """A copy that its atom takes, mostly: whole runs of 16 bytes on both sides."""
    element = rng.choice((*COMMON[:4], *SUB_BYTE[:3])) if rng.random() < 0.9 else rng.choice(COMMON + RARE)
    atom, spaces, n = random_atom(rng, element)
    shape = (random_v(rng, n), *(random_rest(rng) for _ in range(rng.choice((0, 1, 1, 1, 2)))))
    align = rng.choice((16, 16, 32, 128, 16))
    src = Memref(element, spaces[0], random_layout(rng, shape, n), align)
    other = refactored(rng, shape) if rng.random() < 0.25 else shape
    dst = Memref(element, spaces[1], random_layout(rng, other, n), align)
    if rng.random() < 0.4:
        dst = dst.with_layout(src.layout)
    draft = Draft(atom, element, src, dst)
    if rng.random() < 0.1:
        add_predicate(draft, rng)
    return draft


def random_atom(rng: Random, element: DType) -> tuple[Atom, tuple[str, str], int]:
    """An atom, spaces it works between, and the elements of one instruction."""
    named = element if rng.random() < 0.85 else rng.choice(COMMON + RARE)
    if rng.random() < 0.3:
        width = rng.choice((0, 32, 64, 128, 128, 128)) if rng.random() < 0.95 else rng.choice((16, 256, 96))
        return DsmemStore(named, width), ("rmem", "dsmem"), max(1, (width or element.bits) // element.bits)
    kind = rng.choice(KINDS)
    n = rng.choice((8, 16, 16, 32, 32, 48, 64, 128))
    width = rng.choice((0, 0, n * element.bits, n * named.bits, 128, 256, 512, 1024))
    if rng.random() < 0.02:
        width = rng.choice((8, 64, 96, 136, 192))
    flag = rng.random() < 0.2
    return (BulkCopy(kind, named, width, flag and kind == "g2s", flag and kind == "s2g"), SPACES[kind], n)
