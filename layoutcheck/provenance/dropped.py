"""Sums that nothing stores, although others of the same elements of C are stored without their k.

Accumulators that are cleared, or that do not count (ACCUMULATE), begin another sum. What was summed before is
lost if nothing stored it, and if no other product took it for an operand. It may be meant where the sum that
is stored has its k as well: one pass for a maximum, another for the result. Nothing is said of a block where
something is computed with such sums, or rests on them: a branch, an atomic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from layoutcheck.dsl.lowered.record import Mask
from layoutcheck.provenance.judged import Breach, Names
from layoutcheck.provenance.products import Execution, Products
from layoutcheck.provenance.refs import FLAGS, PRODUCT, Array
from layoutcheck.provenance.sides import Side
from layoutcheck.provenance.tensors import Tensor


@dataclass(slots=True)
class _Sums:
    """The k of the sums of one row of A and one column of B, stored and not; the first that is not."""

    stored: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)
    first: Execution | None = None


def dropped(products: Products, names: Names) -> Iterator[Breach]:
    """The first instruction whose sums are lost, in the first block that has one."""
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
        if (taken & ~used).any() or not any(map(np.any, kept)) or not any(map(np.any, lost)):
            continue
        for sums in _sums(every, kept, lost, names).values():
            left = sums.lost - sums.stored
            if left and sums.stored and sums.first is not None:
                facts = (("lost", (min(left), max(left))), ("stored", (min(sums.stored), max(sums.stored))))
                yield Breach("dropped", sums.first.op, "C", facts)
                return


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
