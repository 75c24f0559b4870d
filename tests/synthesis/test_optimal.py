"""The search finds what trying everything finds, and counts as the judge's analysis counts."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import astuple, fields
from itertools import product
from typing import Any

import numpy as np
import pytest

from layoutcheck.errors import InputError
from layoutcheck.machine.banks import IntArray
from layoutcheck.machine.cost import Counts, many_cycles
from layoutcheck.synthesis.conflicts import Banked
from layoutcheck.synthesis.copies import counted_again, judged
from layoutcheck.synthesis.deals import starts
from layoutcheck.synthesis.moves import Move
from layoutcheck.synthesis.reading import read
from layoutcheck.synthesis.request import TileRequest
from layoutcheck.synthesis.search import Key, Space, key_of, kind_of, search, space_of
from layoutcheck.synthesis.shared import Shared
from layoutcheck.synthesis.wanted import Wanted
from tests.synthesis.stated import best

MOST = 227 * 1024
SMALL, LARGER = 40_000, 1_000_000
"""Plans of a space that is tried whole: the second in the sweeps."""


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


def size(space: Space) -> int:
    """Plans, were every move to fit every layout."""
    ways = math.prod(len(slot) for slot in (space.writers, *space.readers))
    return len(space.layouts) * ways + len(space.direct)


def every(space: Space, stages: int, most_shared: int) -> Iterator[tuple[str, Key]]:
    """Every plan of the space, counted: of each kind and layout the least key. `search` is held against it.

    Every access of every move is counted, where the search counts one of those that are alike, and no plan is
    left out. Plans of one kind are added and timed at once; what may round to the least time is compared.
    """
    for move in space.direct:
        yield kind_of(None, (move,)), key_of(move.least, None, (move,), stages)[:3]
    for shared in space.layouts:
        if shared.size * stages > most_shared:
            continue
        slots = [by_kind(slot, shared) for slot in (space.writers, *space.readers)]
        for ways in product(*(slot.items() for slot in slots)):
            counts: Any = np.zeros((1, len(fields(Counts))), np.int64)
            for _, (_, each) in ways:
                counts = (counts[:, None] + each[None]).reshape(-1, counts.shape[1])
            cycles = many_cycles(Counts(*counts.T))
            near = np.unique(counts[cycles < cycles.min() + 0.2], axis=0)
            moves = [some[0] for _, (some, _) in ways]
            keys = (key_of(Counts(*one), shared, moves, stages)[:3] for one in near.tolist())
            yield kind_of(shared, moves), min(keys)


def by_kind(slot: list[Move], shared: Shared) -> dict[str, tuple[list[Move], IntArray]]:
    """The moves that fit a layout by their kinds, and what each asks: [move, count]."""
    kinds: dict[str, list[Move]] = {}
    for move in slot:
        if move.fits(shared):
            kinds.setdefault(move.kind, []).append(move)
    return {
        kind: (some, np.array([astuple(each_access(move, shared)) for move in some]))
        for kind, some in kinds.items()
    }


def each_access(move: Move, shared: Shared) -> Counts:
    """What a move asks, by all of its accesses."""
    if not isinstance(move, Banked):
        return move.counts(shared)
    spent = move.spent(starts(move.begins(shared.fast), move.lanes(shared.fast)), shared)
    return move.issued_counts(shared.fast, [int(one.sum()) for one in spent])


def held_against_every(seed: int, most: int = SMALL) -> bool:
    """Whether there was a space to try whole; asserts that the search found its best of each kind."""
    wanted = small(seed)
    space = None if wanted is None else space_of(wanted)
    if wanted is None or space is None or not 0 < size(space) <= most:
        return False
    least: dict[str, Key] = {}
    for kind, key in every(space, wanted.stages, MOST):
        least[kind] = min(key, least.get(kind, key))
    found = {kind_of(one.shared, one.moves): one.key[:3] for one in search(space, wanted.stages, MOST).found}
    assert found == least, wanted
    return bool(least)


def test_the_search_finds_the_best_of_all() -> None:
    assert sum(held_against_every(seed) for seed in (6, 46, 57, 70, 74)) == 5


@pytest.mark.sweep
def test_the_search_finds_the_best_of_all_500_of_500() -> None:
    seed = tried = 0
    while tried < 500:
        tried += held_against_every(seed, LARGER)
        seed += 1
    print(f"{tried} of {tried} spaces: optimal in time, shared bytes and instructions; {seed} seeds")


def held_against_the_stated_space(seed: int) -> bool:
    """The same, of a request of other extents and types, against the space as the report states it."""
    rng = random.Random(f"stated {seed}")
    to = rng.choice(["ldmatrix", "ldmatrix.trans", "registers", "registers"])
    extents = [8, 12, 16, 20, 24, 32, 40, 48] if to == "registers" else [8, 16, 24, 32, 40, 48]
    src = rng.choice(["(?,?):(1,?{div=%d})", "(?,?):(?{div=%d},1)"]) % rng.choice([1, 2, 4, 8, 16])
    try:
        wanted = read(
            TileRequest(
                (rng.choice(extents), rng.choice(extents)),
                src,
                to,
                dtype=rng.choice(["bf16", "f32", "i8", "f64", "tf32", "f8E5M2"]),
                major=rng.choice([None, "K", "MN"]) if to == "registers" else None,
                threads=rng.choice([32, 64, 96]),
                stages=rng.choice([1, 2, 3]),
                engine=rng.choice(["cp.async", "universal", "cp.async,universal"]),
            )
        )
    except InputError:
        return False
    space = space_of(wanted)
    if not 0 < size(space) <= 3 * SMALL:
        return False
    found = search(space, wanted.stages, wanted.arch.smem_per_block_bytes).found
    assert {kind_of(one.shared, one.moves): one.key[:3] for one in found} == best(wanted), wanted
    return bool(found)


def test_the_search_finds_the_best_of_the_stated_space() -> None:
    assert sum(held_against_the_stated_space(seed) for seed in (5, 10)) == 2


@pytest.mark.sweep
def test_the_search_finds_the_best_of_the_stated_space_500_of_500() -> None:
    seed = tried = 0
    while tried < 500:
        tried += held_against_the_stated_space(seed)
        seed += 1
    print(f"{tried} of {tried} spaces; {seed} seeds")


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


@pytest.mark.parametrize(
    ("tile", "src", "dtype"), [((128, 64), "(?,?):(4104,1)", "f32"), ((32, 16), "(32,16):(8,1)", "bf16")]
)
def test_rows_that_begin_within_a_line_or_overlap_are_counted_as_partitions_are(
    tile: tuple[int, int], src: str, dtype: str
) -> None:
    """Rows 16,416 bytes apart begin 32 further in a line each; of rows 16 apart lanes have the same words."""
    wanted = read(TileRequest(tile, src, "registers", dtype=dtype, engine="cp.async"))
    found = search(space_of(wanted), 1, MOST).found
    assert len(found) == 3
    assert [counted_again(one, wanted) for one in found] == [one.counts for one in found]


@pytest.mark.sweep
def test_deals_are_counted_as_partitions_are_of_many() -> None:
    print(sum(map(counted_alike, range(1000, 1400))), "plans")
