"""From which tensors operands come: both of a product, or of two products, from one; another is left (LC608).

Tensors are told by the numbers of their global objects, which are those of the arguments of the compiled
function, from 1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.provenance.deeds import Deed
from layoutcheck.provenance.judged import Breach, Judged, Names
from layoutcheck.provenance.products import Execution, Products
from layoutcheck.provenance.refs import FLAGS, GLOBAL, PAIR, PRODUCT, Array
from layoutcheck.provenance.sides import Side
from layoutcheck.sources.mlir import Operation


def of_one_tensor(op: Operation, executions: list[Execution], found: Judged) -> None:
    """Note an instruction whose A and B are elements of one tensor, or tell that one of them becomes so."""
    pairs = [(_object(one.a), _object(one.b)) for one in executions]
    same = [a == b and a > 0 for a, b in pairs]
    if all(same) and len({a for a, _ in pairs}) == 1:
        found.one_tensor[op] = pairs[0][0]
    if len(set(pairs)) == 1:
        found.sources[op] = pairs[0]
    first: dict[int, tuple[int, int]] = {}
    for one, pair in zip(executions, pairs, strict=True):
        key = int(one.names[0])
        if 0 in pair:
            if any(pair):
                found.halves.setdefault(key, {}).setdefault(pair, op)
            continue
        before = first.setdefault(key, pair)
        both = next((p[0] for p in (before, pair) if p[0] == p[1]), 0)
        own = set(before + pair) - {both}
        if both and len(own) == 1 and sum(a != b for a, b in zip(before, pair, strict=True)) == 1:
            letter = "A" if before[0] != pair[0] else "B"
            facts = (("tensor", both), ("own", own.pop()), ("left", ()))
            found.breaches.append(Breach("tensor", op, letter, facts))
            return


def left_over(products: Products, names: Names, found: Judged) -> None:
    """The tensors of which nothing is used, beside those that serve two operands of one product, or of two.

    And sums in which an operand becomes a tensor of another product's.
    """
    found.breaches += _becoming(found)
    found.serving = _serving(found)
    if not found.one_tensor and not found.serving:
        return
    used = _used(products)
    for op, number in (found.serving | found.one_tensor).items():
        size = {one.bytes for one in names.known.get(number, ())}
        found.left[op] = frozenset(
            other for other, tensors in names.known.items()
            if other not in used and any(len(t.modes) > 1 and t.bytes in size for t in tensors)
        )  # fmt: skip


def _serving(found: Judged) -> dict[Operation, int]:
    """The instructions with a computed operand whose other one is of a tensor that another product takes.

    As both products of attention do where K is multiplied in the place of V.
    """
    taken: dict[int, set[tuple[int, int]]] = {}
    for pair in found.sources.values():
        for number in set(pair) - {0}:
            taken.setdefault(number, set()).add(pair)
    return {
        op: max(pair)
        for op, pair in found.sources.items()
        if min(pair) == 0 and len(taken.get(max(pair), ())) > 1
    }


def _becoming(found: Judged) -> Iterator[Breach]:
    """Sums in which the operand beside a computed one is of its own tensor, and of another product's."""
    taken = {number for pair in found.sources.values() if 0 not in pair for number in pair}
    for pairs in found.halves.values():
        for letter, at in (("A", 0), ("B", 1)):
            mine = {pair[at]: op for pair, op in pairs.items() if pair[at]}
            own = min(mine.keys() - taken, default=0)
            for tensor in sorted(mine.keys() & taken) if own else ():
                facts = (("tensor", tensor), ("own", own), ("left", ()), ("products", 2))
                yield Breach("tensor", mine[tensor], letter, facts)


def _object(side: Side) -> int:
    """The tensor that all elements of an operand are of; 0 where that is not one."""
    labels = side.labels[side.labels != 0]
    if side.computed or not labels.size or int(labels.min()) < GLOBAL or int(labels.max()) >= PAIR:
        return 0
    first, last = int(labels.min()) // GLOBAL_STEP, int(labels.max()) // GLOBAL_STEP
    return first if first == last else 0


def _used(products: Products) -> set[int]:
    """The tensors that anything is taken from, but for copies to shared memory, or stored to."""
    found: set[int] = set()
    sides = (side.labels for one in products.executions for side in (one.a, one.b))
    for labels in (*products.replay.labels, *sides):
        found |= _objects(labels)
    found |= _objects(products.replay.pairs.parts)
    for block in products.replay.blocks:
        found |= block.touched
        for deed in block.deeds.values():
            found |= _stored_to(products, deed)
    return found


def _objects(labels: Array) -> set[int]:
    at = labels & ~FLAGS
    at = at[(at >= GLOBAL) & (at < PAIR) & (at & PRODUCT == 0)]
    return set(np.unique(at // GLOBAL_STEP).tolist())


def _stored_to(products: Products, deed: Deed) -> set[int]:
    if deed.kind == "tma_store":
        maps = (products.replay.maps.get(int(at)) for at in np.unique(np.asarray(deed.second, np.int64)))
        return {one.base // GLOBAL_STEP for one in maps if one is not None}
    if deed.kind in ("store", "bulk") and spaces.space_of(0, deed.at) == "gmem":
        return _objects(np.unique(np.asarray(deed.at, np.int64)))
    return set()
