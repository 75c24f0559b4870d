"""Random copies of `drawn` against the PTX that the DSL makes of them, for as long as there is time.

    python -m tests.conformance.ptx_sweep --family first --seed 2701 --minutes 10 --out FILE

prints each disagreement and the counts, and pickles the copies that disagree. It needs no GPU.
"""

from __future__ import annotations

import argparse
import pickle
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from layoutcheck.copies.copy import Copy
from layoutcheck.dsl.lower import lower
from layoutcheck.dsl.session import Session
from tests.conformance import drawn
from tests.conformance.emitted import answer
from tests.conformance.tilings import elements_of

FAMILIES = {"first": drawn.first, "bulk": drawn.bulk}
BATCH = 32
MOST = {"first": 48, "bulk": 1024}  # elements of a thread: the compiler takes the longer the more there are


def family(copy: Copy) -> str:
    """The atom, or the function that chooses one."""
    return copy.op if copy.atom is None or copy.op != "copy" else type(copy.atom).__name__


def small(draw: Callable[[random.Random], Copy], rng: random.Random, most: int, count: int) -> list[Copy]:
    """`count` copies of at most `most` elements, for sm_100a; generic addresses are those of sm_90a."""
    copies: list[Copy] = []
    while len(copies) < count:
        copy = draw(rng)
        if 0 < elements_of(copy) <= most:
            generic = "generic" in (copy.src.space, copy.dst.space)
            copies.append(replace(copy, arch="sm_90a" if generic else "sm_100a"))
    return copies


def compare(
    copies: list[Copy], rng: random.Random, session: Session
) -> tuple[Counter, list[tuple[Copy, str]]]:
    """How many copies of each family have each answer; the copies that differ, and how."""
    seen: Counter = Counter()
    differ: list[tuple[Copy, str]] = []
    for copy, lowered in zip(copies, lower(copies, [c.arch for c in copies], session=session), strict=True):
        try:
            what, how = answer(copy, lowered, rng)
        except Exception as error:
            what, how = "differs", f"{type(error).__name__}: {error}"
        seen[family(copy), what] += 1
        if what == "differs":
            differ.append((copy, how))
    return seen, differ


def text(copy: Copy, how: str) -> str:
    """A copy that differs, as one reads it."""
    parts = (copy.src, copy.dst, copy.pred, copy.tiling)
    return "\n  ".join([f"{copy.op} {copy.atom}", *(str(part) for part in parts if part is not None), how])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", choices=FAMILIES, default="first")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    rng, end = random.Random(given.seed), time.monotonic() + 60 * given.minutes
    seen: Counter = Counter()
    differ: list[tuple[Copy, str]] = []
    with Session() as session:
        while time.monotonic() < end:
            copies = small(FAMILIES[given.family], rng, MOST[given.family], BATCH)
            counts, found = compare(copies, rng, session)
            seen += counts
            differ += found
            print(*(text(copy, how) for copy, how in found), sep="\n", end="\n" if found else "", flush=True)
            given.out.write_bytes(pickle.dumps((seen, differ)))
    print(*(f"{count:6d}  {' '.join(key)}" for key, count in sorted(seen.items())), sep="\n")
    print(f"{sum(seen.values())} copies, {len(differ)} differ")


if __name__ == "__main__":
    main()
