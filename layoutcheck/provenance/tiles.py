"""From one tile of results to the next: of several blocks, of one that goes over all tiles, of its warps.

Within a tile any distance between C and its operands may be meant. Between tiles it may not: a row of A times
a column of B belongs to one place (`_twice`), a place to one row and one column (`_over`), and tiles do not
change places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from layoutcheck.dsl.lowered.arguments import Numbers
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.dsl.lowered.tensor_maps import tensor_maps
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.global_memory import ordering
from layoutcheck.provenance.instances import USUAL
from layoutcheck.provenance.judged import Breach, Judged, Names
from layoutcheck.provenance.place import Stores, by_object, of_one, placed
from layoutcheck.provenance.products import Products
from layoutcheck.provenance.refs import GLOBAL, PRODUCT, Array
from layoutcheck.provenance.tensors import tensors
from layoutcheck.sources.mlir import Operation

Mode = tuple[int, int, int]
"""The number of a global object, which of the tensors there, and the place of a mode in its shape."""


def no_more(kernel: WatchedKernel, calls: Sequence[Numbers | None], one: Mode, other: Mode) -> bool | None:
    """Whether `one` has no more elements than `other` in all calls; None where that is not known.

    By the extents that tensors have, static ones and those of the program's calls, not by those made up.
    """
    found = [(_extent(names, one), _extent(names, other)) for names in _every(kernel, calls)]
    if not found or any(None in pair for pair in found) or (not calls and len(set(found)) > 1):
        return None
    return all(a is not None and b is not None and a <= b for a, b in found)


def _every(kernel: WatchedKernel, calls: Sequence[Numbers | None]) -> Iterator[Names]:
    """The tensors of each call; without calls those of two sizes, which static extents have in common."""
    launched = (
        [None if call is None else kernel.with_numbers(call, USUAL.extent) for call in calls]
        if calls
        else [one.of(kernel) for one in (USUAL, USUAL.larger())]
    )
    for one in launched:
        given = one.given[1] if one is not None and one.given else []
        known = {} if one is None else tensors(given, one.types, tensor_maps(given), frozenset())
        yield Names(known)


def _extent(names: Names, mode: Mode) -> int | None:
    number, which, place = mode
    every = names.known.get(number, [])
    if which >= len(every) or place >= every[which].rank:
        return None
    return next((one.extent for one in every[which].modes if one.place == place), 1)


def place_tiles(every: list[Products], names: Names) -> list[Breach]:
    """Compare the places of the results of several blocks with one another."""
    if not any(products.met for products in every):
        return []
    groups: dict[int, list[Stores]] = {}
    for products in every:
        for stores in by_object(products):
            groups.setdefault(int(stores.at[0]) // GLOBAL_STEP, []).append(_named(stores))
    found = Judged()
    op = next(op for products in every for op in products.met)
    for group in groups.values():
        pairs = [(group[0], one) for one in group[1:] if group[0].at.size and one.at.size]
        for first, second in pairs:
            breach = _twice(op, first, second, names) or _over(op, first, second, every, names)
            if breach is not None:
                return [breach]
        if pairs:
            placed(_joined(group), every[0], names, found, tiles=True)
    return found.breaches


def place_groups(products: Products, names: Names) -> Iterator[Breach]:
    """Compare the places of the results of one block's warps, or warpgroups, with one another.

    One operand may have the same elements in all rows (a stride of 0): there nothing is known.
    """
    every = list(by_object(products))
    for stores in every:
        target = names.tensor(stores.at)
        if target is None:
            continue
        whole = _named(stores.some((stores.at - target.base) % target.bytes == 0))
        parts = [whole.some(whole.groups == group) for group in np.unique(whole.groups)]
        first, *others = parts or [whole]
        if len(np.unique(np.stack([first.rows, first.columns]), axis=1).T) < first.at.size:
            continue
        op = next(iter(products.met))
        pairs = [("groups", first, second) for second in others]
        if not ordering(op):  # another block may take each tile before the next comes
            kept = {pair for other in every if other is not stores for pair in other.pairs()}
            turns = map(_in_turns, parts)
            pairs += [("turns", *one) for one in turns if not kept.issuperset(one[0].pairs())]
        for what, one, other in pairs:
            breach = _twice(op, one, other, names) if what == "groups" else None
            breach = breach or _over(op, one, other, [products], names)
            if breach is not None:
                facts = tuple(fact for fact in breach.facts if fact[0] != "modes")
                yield replace(breach, facts=(*facts, (what, True)))
                return


def _in_turns(stores: Stores) -> tuple[Stores, Stores]:
    """What comes to each place first, and what comes there later; nothing if some places are stored once.

    Tiles that overlap in part may do so by a pitch that is made up.
    """
    first = np.zeros(stores.at.size, bool)
    _, found, times = np.unique(stores.at, return_index=True, return_counts=True)
    first[found] = times.min() > 1
    return stores.some(first), stores.some(~first)


def _named(stores: Stores) -> Stores:
    """The bytes of which row and column are known."""
    known = np.ones(stores.at.size, bool)
    for part in (stores.rows, stores.columns):
        known &= (part >= GLOBAL) & (part < PRODUCT)
    return stores.some(known)


def _joined(group: list[Stores]) -> Stores:
    ops = list(dict.fromkeys(op for one in group for op in one.ops))
    which = [np.array([ops.index(op) for op in one.ops])[one.which] for one in group]
    at, rows, columns, groups = (
        np.concatenate(parts)
        for parts in zip(*((one.at, one.rows, one.columns, one.groups) for one in group), strict=True)
    )
    return Stores(at, rows, columns, np.concatenate(which), ops, groups)


def _twice(op: Operation, first: Stores, second: Stores, names: Names) -> Breach | None:
    """A row of A, from one k on, times a column of B that two blocks store by one statement at two places."""
    ids = [
        np.unique(np.concatenate(parts), return_inverse=True)[1]
        for parts in ((first.rows, second.rows), (first.columns, second.columns))
    ]
    keys = ids[0] * (int(ids[1].max()) + 1) + ids[1]
    _, ours, theirs = np.intersect1d(keys[: first.at.size], keys[first.at.size :], return_indices=True)
    if not ours.size:
        return None
    both = _coordinates(names, first.at[ours], second.at[theirs])
    if both is None:
        return None
    here, there = both
    own = (here != here[:1]).any(0)  # the modes of a tile: along others copies of it may be meant
    for i in np.flatnonzero((here != there).any(1) & ~(here != there)[:, ~own].any(1))[:1].tolist():
        store = first.ops[int(first.which[ours[i]])]
        if store is second.ops[int(second.which[theirs[i]])]:
            mode = int(np.flatnonzero(here[i] != there[i])[0])
            every = np.concatenate([first.at[ours], second.at[theirs]])
            modes = _mode(names, every, mode), _mode_of(here[:, mode], first, ours, names)
            facts = (("at", tuple(map(int, here[i]))), ("again", tuple(map(int, there[i]))), ("modes", modes))
            return Breach("place", op, "", facts, store)
    return None


def _mode(names: Names, at: Array, place: int) -> Mode | None:
    tensor = names.tensor(at)
    number = int(at[0]) // GLOBAL_STEP
    return None if tensor is None else (number, names.known[number].index(tensor), place)


def _mode_of(along: Array, stores: Stores, which: Array, names: Names) -> Mode | None:
    """That of the rows or columns that go along a mode of C; None for several modes."""
    for part in (stores.rows[which], stores.columns[which]):
        tensor = names.tensor(part)
        coordinates = None if tensor is None else tensor.coordinates(part)
        if coordinates is None or not of_one(part, along):
            continue
        varying = np.flatnonzero((coordinates != coordinates[:1]).any(0))
        return _mode(names, part, int(varying[0])) if len(varying) == 1 else None
    return None


def _over(op: Operation, first: Stores, second: Stores, every: list[Products], names: Names) -> Breach | None:
    """A place to which two blocks, or turns, store sums of two rows of A, or columns of B, by one statement.

    Not in a tensor that the kernel reads, or adds to: it may hold sums over several tiles.
    """
    _, ours, theirs = np.intersect1d(first.at, second.at, return_indices=True)
    target = names.tensor(first.at[ours]) if ours.size else None
    blocks = [block for products in every for block in products.replay.blocks]
    read = target is None or any(int(first.at[0]) // GLOBAL_STEP in block.touched for block in blocks)
    if target is None or read or any("reduce" in store.name for store in (*first.ops, *second.ops)):
        return None
    which = np.array([first.ops.index(op) if op in first.ops else -1 for op in second.ops])[second.which]
    by_one = first.which[ours] == which[theirs]
    ours, theirs = ours[by_one], theirs[by_one]
    tiles = (np.isin(one, first.which[ours]).sum() for one in (first.which, which))
    if not ours.size or min(tiles) > ours.size:
        return None  # tiles that overlap in part: by a pitch that is made up
    for letter, one, other in (("A", first.rows, second.rows), ("B", first.columns, second.columns)):
        both = names.along_one_mode(np.concatenate([one[ours], other[theirs]]))
        if both is None:
            continue
        for i in np.flatnonzero(both[: ours.size] != both[ours.size :])[:1].tolist():
            places = target.coordinates(first.at[ours[i : i + 1]])
            if places is not None:
                facts = (
                    ("at", tuple(map(int, places[0]))),
                    ("over", (int(both[i]), int(both[ours.size + i]))),
                )
                return Breach("place", op, letter, facts, first.ops[int(first.which[ours[i]])])
    return None


def _coordinates(names: Names, one: Array, other: Array) -> tuple[Array, Array] | None:
    """The coordinates of both, if all are of one tensor."""
    tensor = names.tensor(np.concatenate([one.ravel(), other.ravel()]))
    found = [] if tensor is None else [tensor.coordinates(x) for x in (one, other)]
    first, second = found or (None, None)
    return None if first is None or second is None else (first, second)
