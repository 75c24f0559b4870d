"""Tensors whose coordinates rest on made-up extents.

A workspace that holds a tile as one flat region has no rows and columns. With dynamic extents that are made
up, a region larger than the guess reaches into the next mode, and its elements seem to have coordinates
there. With another guess they have other ones. The elements of a tile keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.provenance.products import Products
from layoutcheck.provenance.refs import GLOBAL, PRODUCT, Array
from layoutcheck.sources.mlir import Operation


def opaque(products: Products, others: Products) -> frozenset[int]:
    """Those whose elements have other coordinates in `others`, of the same kernel with other extents."""
    found, again = dict(_first(products)), dict(_first(others))
    guessed, moving = products.names.guessed(), set[int]()
    for key in found.keys() & again.keys():
        mine, theirs = found[key], again[key]
        if key[0] in guessed and mine.shape == theirs.shape:
            there = (mine != 0) & (theirs != 0)
            if not _alike(products, others, mine[there], theirs[there]):
                moving.add(key[0])
    return frozenset(moving)


def _first(products: Products) -> Iterator[tuple[tuple[int, Operation, str, int], Array]]:
    """What each instruction takes from a tensor, or stores there, when a block first executes it."""
    seen: set[tuple[int, Operation, str, int]] = set()
    every = [
        (one.op, letter, one.block, side.labels)
        for one in products.executions
        for letter, side in (("A", one.a), ("B", one.b))
    ]
    every += [(one.op, "C", one.block, one.at) for one in products.replay.stored]
    for op, letter, block, labels in every:
        plain = (labels >= GLOBAL) & (labels < PRODUCT)
        for number in np.unique(labels[plain] // GLOBAL_STEP).tolist():
            key = number, op, letter, block
            if key not in seen:
                seen.add(key)
                yield key, np.where(plain & (labels // GLOBAL_STEP == number), labels, 0)


def _alike(products: Products, others: Products, mine: Array, theirs: Array) -> bool:
    """Whether addresses of one instruction have the same coordinates in both, or all of them are one tile on.

    What counts from a tensor's end (the last tile along k) is further on by what its mode is larger.
    """
    if not mine.size:
        return True
    tensor, other = products.names.tensor(mine), others.names.tensor(theirs)
    if tensor is None or other is None:
        return False
    a, b = tensor.coordinates(mine), other.coordinates(theirs)
    if a is None or b is None:
        return False
    larger, extents = np.zeros(tensor.rank, np.int64), {mode.place: mode.extent for mode in tensor.modes}
    for mode in other.modes:
        larger[mode.place] = mode.extent - extents.get(mode.place, mode.extent)
    on = b - a
    return bool((on == on[0]).all() and ((on[0] == 0) | (on[0] == larger)).all())
