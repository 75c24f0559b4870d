"""Where C is stored, held against the rows of A and the columns of B that its elements are sums of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.provenance.judged import Breach, Judged, Names
from layoutcheck.provenance.products import Products
from layoutcheck.provenance.refs import GLOBAL, PRODUCT, Array
from layoutcheck.provenance.replay import Stored
from layoutcheck.sources.mlir import Operation

NO_TENSOR = "they are stored in no tensor that the kernel's arguments tell"
NO_NAME = "their products are not followed"
SEVERAL = "rows or columns lie along several modes of a tensor"
NO_RESULT = "no result was seen to reach them"
SUMS = "some are made of several results, and which of them is not compared"
ORDER = "tiles of C are in another order than those of A or B: if that is meant"
OTHERS = "C has other rows or columns than A and B have"
_FEW = 1 / 8  # of the elements of a tile: where more stray, the order may be meant


@dataclass(slots=True)
class Stores:
    """Bytes of results that one block stores in one global object; which of `ops` stored each.

    `groups` are the warps or warpgroups that multiplied.
    """

    at: Array
    rows: Array
    columns: Array
    which: Array
    ops: list[Operation]
    groups: Array

    def some(self, mask: Array) -> Stores:
        """These of them."""
        return Stores(self.at[mask], self.rows[mask], self.columns[mask], self.which[mask], self.ops,
                      self.groups[mask])  # fmt: skip

    def pairs(self) -> set[tuple[int, int]]:
        """The row of A and the column of B of each result."""
        return set(zip(self.rows.tolist(), self.columns.tolist(), strict=True))


def place_results(products: Products, names: Names, found: Judged, tiles: bool) -> None:
    """Compare the places of all results; `tiles`: of several tiles. `found.unplaced` is what cannot be."""
    for stores in by_object(products):
        several = products.replay.summed.get(int(stores.at[0]) // GLOBAL_STEP, 0)
        found.stored += stores.at.size + several
        if several:
            found.unplaced[SUMS] = None
        why = placed(stores, products, names, found, tiles)
        if why:
            found.unplaced[why] = None
    if products.replay.bare and not any(one.kind == "place" for one in found.breaches):
        breach = _bare(products, names)
        found.breaches += [breach] if breach is not None else []


def _bare(products: Products, names: Names) -> Breach | None:
    """The first element beside results that a copy stores from shared memory which nothing wrote."""
    first = products.replay.bare[0]
    target = names.tensor(first.at)
    places = None if target is None else target.coordinates(first.at)
    if target is None or places is None or not products.met:
        return None
    count = sum(one.at.size for one in products.replay.bare) // target.bytes
    facts = (("at", tuple(int(c) for c in places[0])), ("bare", count))
    return Breach("place", next(iter(products.met)), "", facts, first.op)


def by_object(products: Products) -> Iterator[Stores]:
    """The bytes of results, by block and global object."""
    groups: dict[tuple[int, int], list[Stored]] = {}
    for one in products.replay.stored:
        groups.setdefault((int(one.at[0]) // GLOBAL_STEP, one.block), []).append(one)
    for members in groups.values():
        ops = list(dict.fromkeys(one.op for one in members))
        number = {op: i for i, op in enumerate(ops)}
        which = np.concatenate([np.full(one.at.size, number[one.op]) for one in members])
        at = np.concatenate([x.at for x in members])
        rows = np.concatenate([products.row_of[x.block][x.labels] for x in members])
        columns = np.concatenate([products.column_of[x.block][x.labels] for x in members])
        warps = np.concatenate([products.group_of[x.block][x.labels] for x in members])
        yield Stores(at, rows, columns, which, ops, warps)


def placed(stores: Stores, products: Products, names: Names, found: Judged, tiles: bool = False) -> str:
    """Compare the places of elements, in one tile also of a few that stray; why that cannot be done, else "".

    Of several tiles the order may be meant: only that of rows and columns that have one place each.
    """
    target = names.tensor(stores.at)
    if target is None:
        return NO_TENSOR
    whole = (stores.at - target.base) % target.bytes == 0
    at, which, rows, columns = (x[whole] for x in (stores.at, stores.which, stores.rows, stores.columns))
    named = (rows >= GLOBAL) & (rows < PRODUCT) & (columns >= GLOBAL) & (columns < PRODUCT)
    if not named.any():
        return NO_NAME
    at, which = at[named], which[named]
    places = target.coordinates(at)
    row, column = (names.along_one_mode(part[named]) for part in (rows, columns))
    if places is None or row is None or column is None:
        return SEVERAL
    varying = np.flatnonzero((places != places[:1]).any(0)).tolist()
    if len(varying) != 2:
        return SEVERAL
    tried: list[list[tuple[str, int, Array]]] = []
    for modes in (varying, varying[::-1]):
        pairs = [(letter, mode, one) for letter, mode, one in zip("AB", modes, (row, column), strict=True)]
        if not all(_alike(places[:, mode], x) for _, mode, x in pairs):
            continue
        off: list[tuple[str, int, Array]] = [one for one in pairs if np.ptp(places[:, one[1]] - one[2])]
        if not off:
            found.placed += int(named.sum()) * target.bytes
            whole_tile = np.prod([len(np.unique(places[:, mode])) for mode in modes])
            missing = int(whole_tile) - len(np.unique(at))
            found.stored += missing * target.bytes
            return NO_NAME if not named.all() else NO_RESULT if missing else ""
        if tiles and all(of_one(one, places[:, mode]) for _, mode, one in off):
            return ORDER
        tried.append(off)
    wrong = min(tried, key=lambda off: sum(_apart(places, one) for one in off))[0] if tried else None
    if wrong is None and not tiles:
        wrong = _strays(places, varying, row, column)
    if wrong is None:
        return OTHERS
    found.breaches.append(_breach(wrong, places, which, stores.ops, products))
    return ""


def _strays(places: Array, modes: list[int], row: Array, column: Array) -> tuple[str, int, Array] | None:
    """Where all but few elements have one distance along both modes, the operand of which the others do not.

    Coordinates are lost then: a register is stored in the place of another.
    """
    for first, second in (modes, modes[::-1]):
        apart = [("A", first, row), ("B", second, column)]
        off = [places[:, mode] - given != _usual(places[:, mode] - given) for _, mode, given in apart]
        if float((off[0] | off[1]).mean()) <= _FEW:
            return next(one for one, strays in zip(apart, off, strict=True) if strays.any())
    return None


def _apart(places: Array, one: tuple[str, int, Array]) -> int:
    """How many elements have another distance than most along a mode."""
    apart = places[:, one[1]] - one[2]
    return int((apart != _usual(apart)).sum())


def _usual(apart: Array) -> int:
    return int(np.bincount(apart - apart.min()).argmax()) + int(apart.min())


def of_one(given: Array, places: Array) -> bool:
    """Whether each row or column has one place along a mode."""
    return len(np.unique(np.stack([given, places]), axis=1).T) == len(np.unique(given))


def _alike(places: Array, given: Array) -> bool:
    """Whether both go through the same coordinates, up to one distance."""
    a, b = np.unique(places), np.unique(given)
    return len(a) == len(b) and bool((a - a[0] == b - b[0]).all())


def _breach(
    one: tuple[str, int, Array], places: Array, which: Array, ops: list[Operation], products: Products
) -> Breach:
    letter, mode, given = one
    apart = places[:, mode] - given
    usual = _usual(apart)
    right, bad = int(np.flatnonzero(apart == usual)[0]), int(np.flatnonzero(apart != usual)[0])
    facts = (
        ("at", tuple(int(c) for c in places[bad])), ("mode", mode), ("coordinate", int(given[bad])),
        ("first", (int(places[right, mode]), int(given[right]))),
        ("differ", int((apart != usual).sum())), ("of", len(apart)),
    )  # fmt: skip
    return Breach("place", next(iter(products.met)), letter, facts, ops[int(which[bad])])
