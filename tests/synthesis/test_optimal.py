"""The search finds what trying everything finds, and counts as the judge's analysis counts."""

from __future__ import annotations

import random
from typing import Any

import pytest

from layoutcheck.errors import InputError
from layoutcheck.synthesis.copies import counted_again, judged
from layoutcheck.synthesis.reading import read
from layoutcheck.synthesis.request import TileRequest
from layoutcheck.synthesis.search import every, kind_of, search, space_of
from layoutcheck.synthesis.wanted import Wanted

MOST = 227 * 1024
SMALL = 40_000
"""Plans of a space that is tried whole."""


def small(seed: int) -> Wanted | None:
    """A random request of a small tile; None where nothing serves it."""
    rng = random.Random(seed)
    element = rng.choice(["bf16", "f32", "i8", "f64"])
    to = rng.choice(["ldmatrix", "ldmatrix.trans", "wgmma.A", "wgmma.B", "registers", "gmem"])
    div = rng.choice([1, 2, 4, 8, 16])
    tensors = [f"(?{{div={div}}},?):(1,?{{div={div}}})", f"(?,?{{div={div}}}):(?{{div={div}}},1)"]
    extents = [8, 16, 24, 32] if to in ("registers", "gmem") else [8, 16, 32, 48, 64]
    given: dict[str, Any] = {"dst": rng.choice(tensors)} if to == "gmem" else {}
    if to in ("wgmma.A", "wgmma.B", "registers"):
        given["major"] = rng.choice([None, "K", "MN"])
    try:
        request = TileRequest(
            (rng.choice(extents), rng.choice(extents)),
            rng.choice(tensors),
            to,
            dtype=element,
            threads=rng.choice([32, 64]),
            stages=rng.choice([1, 2]),
            engine=rng.choice([None, "cp.async", "universal", "tma,universal"]),
            **given,
        )
        return read(request)
    except InputError:
        return None


def held_against_every(seed: int, most: int = SMALL) -> bool:
    """Whether there was a space to try whole; asserts that the search found its best of each kind."""
    wanted = small(seed)
    space = None if wanted is None else space_of(wanted)
    if wanted is None or space is None or not 0 < space.size <= most:
        return False
    best: dict[str, Any] = {}
    for one in every(space, wanted.stages, MOST):
        kind = kind_of(one.shared, one.moves)
        if kind not in best or one.key[:3] < best[kind]:
            best[kind] = one.key[:3]
    found = {kind_of(one.shared, one.moves): one.key[:3] for one in search(space, wanted.stages, MOST).found}
    assert found == best, wanted
    return bool(best)


def test_the_search_finds_the_best_of_all() -> None:
    assert sum(held_against_every(seed) for seed in (6, 46, 57, 70, 74)) == 5


@pytest.mark.sweep
def test_the_search_finds_the_best_of_all_500_of_500() -> None:
    seed = tried = 0
    while tried < 500:
        tried += held_against_every(seed, 5 * SMALL)
        seed += 1
    print(f"{tried} of {tried} spaces: optimal in time, shared bytes and instructions; {seed} seeds")


def counted_alike(seed: int) -> int:
    """Plans of a random request that work, each counted by its deals as by its partitions."""
    wanted = small(seed)
    if wanted is None:
        return 0
    count = 0
    for one in search(space_of(wanted), wanted.stages, MOST).found[:6]:
        if not judged(one, wanted).refusal:
            assert counted_again(one, wanted) == one.counts, (wanted, one)
            count += 1
    return count


def test_deals_are_counted_as_partitions_are() -> None:
    assert sum(map(counted_alike, (27, 49, 57))) > 6


@pytest.mark.sweep
def test_deals_are_counted_as_partitions_are_of_many() -> None:
    print(sum(map(counted_alike, range(1000, 1400))), "plans")
