"""Elements of other tensors that results are combined with before they are stored: a bias, a residual.

Where such a tensor has a mode of C's extent, its coordinate goes with that of the place in C, up to one
distance. Another distance in another block or statement is that of another tile, where both are a tile's (8
elements) apart. What has no such mode is not compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.provenance.judged import Breach, Names
from layoutcheck.provenance.products import Products
from layoutcheck.provenance.refs import GLOBAL, PAIR, PRODUCT, Array
from layoutcheck.provenance.tensors import Tensor
from layoutcheck.sources.mlir import Operation

_LEAST = 8  # elements of a tile along a mode


class _Met(NamedTuple):
    """What a statement of a block stores: its elements' places in C, and in the tensor that came to them."""

    op: Operation
    tensors: tuple[int, int]
    source: Tensor
    target: Tensor
    held: Array
    places: Array


class _Apart(NamedTuple):
    """How far elements are from their places along a mode; None where that is not one distance."""

    distance: int | None
    extent: int
    met: _Met


def uncompared(products: Products, names: Names) -> set[int]:
    """The tensors whose elements come to results at places that say nothing of which should."""
    found: dict[int, bool] = {}
    for one in _met(products, names):
        modes = [mode.place for mode in one.source.modes if np.ptp(one.held[:, mode.place])]
        kept = bool(modes) and all(
            any(a.distance is not None for _, a in _along(one, place)) for place in modes
        )
        found[one.tensors[0]] = found.get(one.tensors[0], True) and kept
    return {number for number, kept in found.items() if not kept}


def astray(every: Sequence[Products], names: Names) -> Iterator[Breach]:
    """The first element of another tile, of several blocks (LC614); a doubt where its extent is `guessed`."""
    found: dict[tuple[tuple[int, int], int], dict[int, list[_Apart]]] = defaultdict(lambda: defaultdict(list))
    for products in every:
        for one in _met(products, names):
            for mode in one.source.modes:
                for place, apart in _along(one, mode.place):
                    found[one.tensors, mode.place][place].append(apart)
    for (_, place), by_target in found.items():
        ways = [([one.distance for one in each], each) for each in by_target.values()]
        each = next((each for way, each in ways if _of_tiles(way)), None)
        if each is None or any(len(set(way)) == 1 and None not in way for way, _ in ways):
            continue
        one, other = each[0], next(x for x in each if x.distance != each[0].distance)
        facts = (
            ("at", tuple(map(int, one.met.places[0]))), ("held", tuple(map(int, one.met.held[0]))),
            ("other", tuple(map(int, other.met.places[0]))), ("again", tuple(map(int, other.met.held[0]))),
            ("tensors", one.met.tensors), ("mode", place), ("guessed", one.extent in names.guesses),
        )  # fmt: skip
        yield Breach("tile beside", other.met.op, "", facts, other.met.op)
        return


def _of_tiles(distances: list[int | None]) -> bool:
    """Whether distances are those of several tiles."""
    known = sorted({one for one in distances if one is not None})
    return None not in distances and len(known) > 1 and not any(np.diff(known) % _LEAST)


def _along(one: _Met, place: int) -> Iterator[tuple[int, _Apart]]:
    """The modes of C of the extent of a mode of the other tensor, and how far elements are from there."""
    extent = next(mode.extent for mode in one.source.modes if mode.place == place)
    for mode in one.target.modes:
        if mode.extent == extent:
            apart = one.held[:, place] - one.places[:, mode.place]
            yield mode.place, _Apart(None if np.ptp(apart) else int(apart[0]), extent, one)


def _met(products: Products, names: Names) -> Iterator[_Met]:
    """What every block stores of results that elements of memory came to, by those elements' tensor."""
    partners = [_partners(products, block) for block in range(len(products.replay.blocks))]
    for stored in products.replay.stored:
        results, others = partners[stored.block]
        target = names.tensor(stored.at) if results.size else None
        if target is None:
            continue
        whole = (stored.at - target.base) % target.bytes == 0
        at, labels = stored.at[whole], stored.labels[whole]
        for number in np.unique(others // GLOBAL_STEP).tolist():
            mine = others // GLOBAL_STEP == number
            pairs = np.unique(np.stack([results[mine], others[mine]]), axis=1)
            known, first, times = np.unique(pairs[0], return_index=True, return_counts=True)
            index = np.searchsorted(known, labels).clip(max=known.size - 1)
            here = (known[index] == labels) & (times[index] == 1)
            held = pairs[1][first][index[here]]
            source = names.tensor(held)
            coordinates = None if source is None else source.coordinates(held)
            places = target.coordinates(at[here]) if here.any() else None
            if source is not None and coordinates is not None and places is not None:
                both = (number, int(at[0]) // GLOBAL_STEP)
                yield _Met(stored.op, both, source, target, coordinates, places)


def _partners(products: Products, block: int) -> tuple[Array, Array]:
    """The numbers of results, and the address of an element of memory that came to each."""
    results, others = products.replay.blocks[block].beside
    others = products.replay.resolved(block, others)
    kept = (others >= GLOBAL) & (others < PAIR)
    return results[kept] & ~PRODUCT, others[kept]
