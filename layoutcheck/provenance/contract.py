"""The contract of a product, with no annotation: its operands fit together, and C is where it belongs.

1. Elements of one row of an operand share m (or n), those of one k share k (`Side.scrambled`).
2. The k that A brings is the k that B brings, up to one distance for the whole sum (`depth`).
3. C begins with 0, or with what something has written; so do A and B in registers (`Products.unset`).
4. C is stored at the m of its row of A and at the n of its row of B, up to one distance (`place`), by one
   warp or warpgroup (`tiles`), with all the k that were summed for it (`dropped`).

Coordinates are those of the global tensors. Each is compared only where one mode of a tensor varies along it:
what several modes share, or what has no tensor, is not judged.

Accumulators that are cleared, or that do not count (ACCUMULATE), begin another sum. What was summed before is
lost if nothing stored it, and if no other product took it for an operand (`dropped`). It may be meant where
the sum that is stored has its k as well: one pass for a maximum, another for the result. Nothing is said of a
block where something is computed with such sums, or rests on them: a branch, an atomic, a printf.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from layoutcheck.dsl.lowered.evaluate import tag
from layoutcheck.dsl.lowered.record import Mask
from layoutcheck.provenance.depth import NO_TENSOR, SEVERAL, Depths, coordinate
from layoutcheck.provenance.epilogue import uncompared
from layoutcheck.provenance.judged import Breach, Judged, Names
from layoutcheck.provenance.origins import left_over, of_one_tensor
from layoutcheck.provenance.place import OTHERS, place_results
from layoutcheck.provenance.products import Execution, Products
from layoutcheck.provenance.refs import FLAGS, GLOBAL, JOINED, PRODUCT, Array
from layoutcheck.provenance.replay import Stored
from layoutcheck.provenance.sides import COMPUTED, Side
from layoutcheck.provenance.tensors import Tensor
from layoutcheck.provenance.tiles import place_groups
from layoutcheck.sources.mlir import Operation

Facts: TypeAlias = "tuple[tuple[str, object], ...]"
_WIDEST = 8  # bytes of an element


def judge(products: Products, names: Names, tiles: bool = False) -> Judged:
    """Hold every execution against the contract; `tiles`: a block's results are those of several tiles."""
    found = Judged(met=bool(products.met))
    found.reasons.update(products.unknown)
    by_op: dict[Operation, list[Execution]] = {}
    for one in products.executions:
        by_op.setdefault(one.op, []).append(one)
    depths = Depths(names, found, products.replay.brought)
    for op, every in by_op.items():
        executions = summed(every)
        for letter in "AB":
            one_row = broadcast([one.a if letter == "A" else one.b for one in executions], names)
            if one_row is not None:
                found.broadcast[op, letter] = one_row
        why = _scrambled(op, executions, products, names, found) or depths.take(op, executions)
        of_one_tensor(op, executions, found)
        joined = any(one.a.joined or one.b.joined for one in executions)
        if joined and not why and not joined_alike(products, names, executions):
            why = COMPUTED
        if why:
            found.reasons.setdefault(op, why)
        elif op not in found.reasons:
            found.followed[op] = None
    depths.finish()
    found.breaches += [*_mixed(products, names)] or [*_gone_on(products, names)]
    found.breaches += [Breach("unset", op, "C", (("thread", 0),)) for op in products.unset]
    found.breaches += _of_tensor_memory(products)
    place_results(products, names, found, tiles)
    found.beside = uncompared(products, names)
    if not tiles:
        found.breaches += dropped(products, names)
        found.idle = idle(products, names)
        found.breaches += place_groups(products, names) if OTHERS in found.unplaced else ()
    left_over(products, names, found)
    return found


def _of_tensor_memory(products: Products) -> Iterator[Breach]:
    """Warps that do not reach their lanes; stores of what no product, and nothing else, has written."""
    replay = products.replay
    for memory in replay.tensor:
        for op, (thread, lane) in memory.foreign.items():
            yield Breach("lanes", op, "", (("thread", thread), ("lane", lane)))
    known = not (products.unknown or replay.lost or any(block.problem for block in replay.blocks))
    for block, memory in zip(replay.blocks, replay.tensor, strict=True) if known and products.met else ():
        for op, (load, thread, count) in memory.bare.items():
            facts = (("thread", thread), ("bytes", count), ("block", block.watched.launch.index))
            yield Breach("bare", load, "", facts, op)


def _mixed(products: Products, names: Names) -> Iterator[Breach]:
    """Sums that go on with another row than they began with: registers of C that change places."""
    for op, (letter, row, held, first, bits) in products.mixed.items():
        tensor = names.tensor(np.array([held, first]))
        if tensor is not None:
            taken, given = (tuple(map(int, coordinate(tensor, at))) for at in (first, held))
            facts = (("row", row), ("k", 0), ("held", given), ("taken", taken), ("group", 0), ("bits", bits),
                     ("sum", True))  # fmt: skip
            yield Breach("scrambled", op, letter, facts)


def _gone_on(products: Products, names: Names) -> Iterator[Breach]:
    """Sums that go on with the rows of another tile: accumulators that were not begun anew."""
    first: tuple[Execution, str, Facts] | None = None
    moving = set[str]()
    for one in () if products.running else products.executions:
        before = products.row_of[one.block][one.sums][:, :, 0], products.column_of[one.block][one.sums][:, 0]
        for letter, side, begun in (("A", one.a, before[0]), ("B", one.b, before[1])):
            facts = _other_tile(one, side, begun, names)
            if facts is not None and (first is not None or _stored_apart(products, one)):
                first = first or (one, letter, facts)
                moving.add(letter)
    if first is not None:
        one, letter, facts = first
        alone = len(moving) == 1  # if both operands move, it is no running sum
        yield Breach("scrambled", one.op, letter, facts if alone else facts[:-1])


def _stored_apart(products: Products, one: Execution) -> bool:
    """Whether a statement stores a sum at two places: else it may be meant as one over several tiles."""
    by_op: dict[Operation, list[Stored]] = {}
    for stored in products.replay.stored:
        if stored.block == one.block:
            by_op.setdefault(stored.op, []).append(stored)
    for every in by_op.values():
        at, labels = (np.concatenate(parts) for parts in zip(*((x.at, x.labels) for x in every), strict=True))
        own = np.isin(labels, one.sums)
        _, first, which = np.unique(labels[own], return_index=True, return_inverse=True)
        if (abs(at[own] - at[own][first][which]) >= _WIDEST).any():
            return True
    return False


def _other_tile(one: Execution, side: Side, first: Array, names: Names) -> Facts | None:
    """The facts of the first row of an operand that lies a whole tile beyond the row its sum began with."""
    plain = not side.reason and side.scrambled is None and not side.computed
    if not plain or (side.rows == first).all() or min(side.rows.min(), first.min()) < GLOBAL:
        return None
    tensor = names.tensor(np.concatenate([side.rows.ravel(), first.ravel()]))
    now, then = (None, None) if tensor is None else map(tensor.coordinates, (side.rows, first))
    if now is None or then is None:
        return None
    modes = np.flatnonzero((now != now[:, :1]).any((0, 1)))
    if len(modes) != 1:
        return None
    own, begun = (x[..., int(modes[0])] for x in (now, then))
    apart = own - begun
    if np.ptp(apart) or abs(int(apart.flat[0])) <= int(np.ptp(own, axis=1).max()):
        return None
    return (
        ("row", 0), ("k", 0), ("held", tuple(map(int, now[0, 0]))), ("taken", tuple(map(int, then[0, 0]))),
        ("group", int(one.groups[0])), ("bits", one.bits), ("sum", True), ("tile", True),
        ("step", int(apart.flat[0])),
    )  # fmt: skip


def broadcast(sides: list[Side], names: Names) -> bool | None:
    """Whether all rows of an operand are one row: another order changes nothing. None: no elements."""
    labels = np.concatenate([one.labels.reshape(-1, *one.labels.shape[-2:]) for one in sides])
    if not labels.any():
        return None
    return bool((labels == labels[:, :1]).all()) and names.along_one_mode(labels[labels != 0]) is not None


def summed(executions: list[Execution]) -> list[Execution]:
    """Those that add something: not those of which an operand is masked altogether, if others are left."""
    return [one for one in executions if not (one.a.masked or one.b.masked)] or executions


def of_product(one: Execution, broken: Side, names: Names) -> tuple[tuple[str, object], ...]:
    """What an element of a product is, and what it is taken for: m of that product's A, n of its B."""
    if broken.scrambled is None or broken.off is None or broken.joined:
        return ()
    row, column, usual_row, usual_column = broken.off
    held, taken = [], []
    for at, usual in ((row, usual_row), (column, usual_column)):
        if at == usual:
            continue
        both = names.along_one_mode(np.array([at, usual]))
        if both is None:
            return ()
        held.append(int(both[0]))
        taken.append(int(both[1]))
    letters = [
        letter
        for letter, same in zip("mn", (row == usual_row, column == usual_column), strict=True)
        if not same
    ]
    g, m, k = broken.scrambled
    return (
        ("row", m), ("k", k), ("held", tuple(held)), ("taken", tuple(taken)), ("product", tuple(letters)),
        ("group", int(one.groups[g])), ("bits", one.bits),
    )  # fmt: skip


def _scrambled(
    op: Operation, executions: list[Execution], products: Products, names: Names, found: Judged
) -> str:
    """Tell the first element that is not of its row and k; why a side is not known, else."""
    why = ""
    for letter in "AB":
        sides = [(one, one.a if letter == "A" else one.b) for one in executions]
        why = why or next((s.reason for _, s in sides if s.reason), "")
        one, broken = next(((e, s) for e, s in sides if s.scrambled and not s.reason), (None, None))
        if broken is None or broken.scrambled is None or one is None:
            continue
        if broken.computed:
            facts = () if len(products.replay.blocks) > 1 else of_product(one, broken, names)
            if facts:
                found.breaches.append(Breach("scrambled", op, letter, facts))
            why = why or f"elements of another product in another order, in {letter}"
            continue
        g, m, k = broken.scrambled
        labels = broken.labels[g]
        there = labels != 0
        i, j = int(np.argmax(there.any(1))), int(np.argmax(there.any(0)))
        expected = labels[m, j] + labels[i, k] - labels[i, j]
        tensor = names.tensor(labels[there])
        if tensor is None:
            why = why or NO_TENSOR
            continue
        places = tensor.coordinates(labels[there])
        if places is None or (places != places[:1]).any(0).sum() < 2:
            why = why or SEVERAL  # a flat buffer may be laid out by the host
            continue
        both = tensor.coordinates(np.array([labels[m, k], expected]))
        facts = (
            ("row", m), ("k", k), ("held", tuple(map(int, coordinate(tensor, labels[m, k])))),
            ("taken", () if both is None else tuple(map(int, both[1]))), ("group", int(one.groups[g])),
            ("bits", one.bits),
        )  # fmt: skip
        found.breaches.append(Breach("scrambled", op, letter, facts))
        why = why or f"the elements of {letter} are scrambled"
    return why


def joined_alike(products: Products, names: Names, executions: list[Execution]) -> bool:
    """Whether all that was multiplied into the operands of an instruction is at their elements' places.

    In a backward pass dS is P times dP: the element (m, n) of one product times that of another. What comes
    out is the element (m, n) of both, if the row of the one has the coordinate of the row of the other, up to
    one distance for all of them, and so has the column.
    """
    parts: list[list[Array]] = [[], [], [], []]
    for block in {one.block for one in executions}:
        met = products.replay.resolved(block, products.replay.blocks[block].met)
        used = _used([one for one in executions if one.block == block])
        mine = met[:, np.isin(met[0] & ~JOINED, used)]
        if not mine.size or (mine & FLAGS).any() or not (mine & PRODUCT).all():
            return False
        a, b = mine & ~PRODUCT
        names_of = products.row_of[block], products.column_of[block]
        for part, found in zip(parts, [of[at] for of in names_of for at in (a, b)], strict=True):
            part.append(found)
    rows, others, columns, across = (np.concatenate(part) for part in parts)
    return _alike(rows, others, names) and _alike(columns, across, names)


def _used(executions: list[Execution]) -> Array:
    labels = [side.labels[(side.labels & JOINED) != 0] for one in executions for side in (one.a, one.b)]
    return np.unique(np.concatenate(labels)) & ~JOINED


def _alike(a: Array, b: Array, names: Names) -> bool:
    """Whether both have the same coordinates along one mode of their tensors, up to one distance."""
    one, other = names.along_one_mode(a), names.along_one_mode(b)
    return one is not None and other is not None and not np.ptp(one - other)


@dataclass(slots=True)
class _Sums:
    """The k of the sums of one row of A and one column of B, stored and not; the first that is not."""

    stored: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)
    first: Execution | None = None


def dropped(products: Products, names: Names) -> Iterator[Breach]:
    """The first instruction whose sums are lost, in the first block that has one (LC612)."""
    for every, kept, lost in _kept(products):
        for sums in _sums(every, kept, lost, names).values():
            left = sums.lost - sums.stored
            if left and sums.stored and sums.first is not None:
                facts = (("lost", (min(left), max(left))), ("stored", (min(sums.stored), max(sums.stored))))
                yield Breach("dropped", sums.first.op, "C", facts)
                return


def idle(products: Products, names: Names) -> dict[Operation, Breach]:
    """The first instructions of statements that multiply elements of tensors, and whose sums nothing uses.

    In the first block that stores other sums.
    """
    for every, _, lost in _kept(products):
        sites: dict[str, list[tuple[Execution, Mask]]] = {}
        for one, gone in zip(every, lost, strict=True):
            sites.setdefault(tag(one.op), []).append((one, gone))
        unused = (each for each in sites.values() if all(gone.all() for _, gone in each))
        return {
            each[0][0].op: Breach("dropped", each[0][0].op, "C", (("lost", ()), ("stored", ())))
            for each in unused
            if all(_places(side, 0, names) for one, _ in each for side in (one.a, one.b))
        }
    return {}


def _kept(products: Products) -> Iterator[tuple[list[Execution], list[Mask], list[Mask]]]:
    """Of each block that stores some sums and not others: what it multiplies; the stored, the unused ones."""
    replay = products.replay
    if replay.lost or replay.mixed or products.unknown:
        return
    for block, one in enumerate(replay.blocks):
        every = [execution for execution in products.executions if execution.block == block]
        if one.problem or not one.watched.complete or not every:
            continue
        stored, used, taken = (np.zeros(2 * products.own, bool) for _ in range(3))
        for each in replay.stored:
            if each.block == block:
                stored[each.labels] = True
        for side in (side for each in every for side in (each.a, each.b) if side.computed):
            used[_of_products(side.labels)] = True
        taken[_of_products(replay.resolved(block, one.taken))] = True
        used |= stored | replay.left[block]
        kept = [_groups(each, stored) for each in every]
        lost = [~_groups(each, used) for each in every]
        if not (taken & ~used).any() and any(map(np.any, kept)) and any(map(np.any, lost)):
            yield every, kept, lost


def _of_products(labels: Array) -> Array:
    """The numbers of the sums among labels."""
    return labels[(labels & PRODUCT) != 0] & ~(PRODUCT | FLAGS)


def _groups(one: Execution, of: Mask) -> Mask:
    """Which groups have a sum that is one of these."""
    return np.logical_or.reduce(of[one.sums], (1, 2))


def _sums(every: list[Execution], kept: list[Mask], lost: list[Mask], names: Names) -> dict[object, _Sums]:
    """By the tensors of A and B and the coordinates of rows and columns, without k."""
    found: dict[object, _Sums] = {}
    for one, stored, gone in zip(every, kept, lost, strict=True):
        for g in np.flatnonzero(stored | gone):
            a, b = (_places(side, int(g), names) for side in (one.a, one.b))
            if a is None or b is None:
                continue
            sums = found.setdefault((a[0], b[0]), _Sums())
            if stored[g]:
                sums.stored |= a[1]
            else:
                sums.lost |= a[1]
                sums.first = sums.first or one
    return found


def _places(side: Side, group: int, names: Names) -> tuple[tuple[Tensor, bytes], set[int]] | None:
    """The rows of an operand, by their tensor and the coordinates beside k, and its k; None if not known."""
    labels = side.labels[group]
    if side.reason or side.computed or side.scrambled is not None or not labels.all():
        return None
    tensor = names.tensor(labels)
    at = None if tensor is None else tensor.coordinates(labels)
    if tensor is None or at is None:
        return None
    depth = np.flatnonzero((at != at[:, :1]).any((0, 1)))
    if len(depth) != 1:
        return None
    rows = np.delete(at[:, 0], depth[0], axis=1)
    return (tensor, rows.tobytes()), set(at[0, :, depth[0]].tolist())
