"""`Side`: what one operand of many products holds, told by the addresses of its rows and of its k.

An operand fits a product if all elements of one of its rows share a coordinate m (or n), and all elements of
one k another: then the address of an element is a sum of two parts. Of elements that are products themselves
(the P of attention), one of row and column is the coordinate m, the other k.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from layoutcheck.provenance.refs import FLAGS, JOINED, MASKED, MIXED, PRODUCT, UNKNOWN, Array

CONSTANT = "constants, or elements that no copy brought"
NOT_FOLLOWED = "elements that come from operations that are not followed"
COMPUTED = "elements that are computed from several"
NO_COMMON = "no k that both operands have"
PARTLY = "elements of which only some are there"
# The numbers of elements of products -> names of their rows, and of their columns.
Named: TypeAlias = "Callable[[Array], tuple[Array, Array]]"


@dataclass(slots=True)
class Side:
    """`rows` (groups, rows) and `depth` (groups, k) are addresses that have the coordinates m (or n), and k.

    `reason` says why it is not known. `scrambled` is (group, row, k) of the first element that does not fit.
    `labels` are those of all elements; `joined` says that some were multiplied by those of another product,
    `masked` that all are masked: nothing is summed. `off` names the element of a product that is scrambled:
    its row and column, and those that its neighbours have.
    """

    rows: Array
    depth: Array
    labels: Array
    reason: str = ""
    scrambled: tuple[int, int, int] | None = None
    computed: bool = False
    joined: bool = False
    masked: bool = False
    off: tuple[int, int, int, int] | None = None


def side(labels: Array, named: Named) -> Side:
    """The side of (groups, rows, k) labels; `named` gives the names of rows and columns of products."""
    empty = Side(labels[:, :, 0], labels[:, 0, :], labels)
    if not labels.any():
        empty.reason = CONSTANT
        return empty
    if (labels == UNKNOWN).any():
        empty.reason = NOT_FOLLOWED
        return empty
    masked = labels == MASKED
    if masked.all():
        empty.reason, empty.masked = CONSTANT, True
        return empty
    if (labels & MIXED).any():
        empty.reason = COMPUTED
        return empty
    products = (labels & PRODUCT) != 0
    if products.any():
        return _of_products(labels, products, named)
    if masked.any() or (labels & JOINED).any():
        empty.reason = COMPUTED
        return empty
    if not labels.all():
        return _partly(labels)
    off = labels - labels[:, :, :1] - labels[:, :1, :] + labels[:, :1, :1]
    return Side(labels[:, :, 0], labels[:, 0, :], labels, scrambled=_first(off != 0))


def _first(wrong: Array) -> tuple[int, int, int] | None:
    if not wrong.any():
        return None
    g, m, k = (int(i) for i in np.argwhere(wrong)[0])
    return g, m, k


def _partly(labels: Array) -> Side:
    """Where whole rows or whole k are missing: those beyond a tensor's end."""
    there = labels != 0
    rows, depth = there.any(2), there.any(1)
    found = Side(np.zeros_like(labels[:, :, 0]), np.zeros_like(labels[:, 0, :]), labels)
    if not (there == (rows[:, :, None] & depth[:, None, :])).all():
        found.reason = PARTLY
        return found
    for g in range(len(labels)):
        if not rows[g].any():
            continue
        m, k = int(np.argmax(rows[g])), int(np.argmax(depth[g]))
        found.rows[g], found.depth[g] = labels[g, :, k], labels[g, m, :]
        off = (labels[g] - labels[g, :, k][:, None] - labels[g, m][None, :] + labels[g, m, k]) * there[g]
        if off.any():
            i, j = (int(x) for x in np.argwhere(off)[0])
            found.scrambled = (g, i, j)
            break
    return found


def _of_products(labels: Array, products: Array, named: Named) -> Side:
    """Elements of a product; what is masked has no place of its own."""
    found = Side(
        labels[:, :, 0], labels[:, 0, :], labels, computed=True, joined=bool((labels & JOINED).any())
    )
    if not (products | (labels == MASKED)).all():
        found.reason = PARTLY
        return found
    index = np.where(products, labels & ~(PRODUCT | FLAGS), 0)
    rows, columns = named(index)
    products = products & (rows != 0) & (columns != 0)  # the others are beyond a tensor's end
    if not products.any() or ((rows <= UNKNOWN) | (columns <= UNKNOWN))[products].any():
        found.reason = COMPUTED
        return found
    fewest = labels.size + 1
    for turned, (first, second) in enumerate(((rows, columns), (columns, rows))):
        one, other = _shared(first, products, 2), _shared(second, products, 1)
        off = products & ((first != one[:, :, None]) | (second != other[:, None, :]))
        at = _first(off)
        if at is None:
            found.rows, found.depth, found.scrambled, found.off = one, other, None, None
            return found
        if int(off.sum()) < fewest:
            fewest, (g, m, k) = int(off.sum()), at
            usual = (int(one[g, m]), int(other[g, k]))
            found.scrambled = at
            found.off = (int(rows[at]), int(columns[at]), *(usual[::-1] if turned else usual))
    return found


def _shared(names: Array, there: Array, axis: int) -> Array:
    """The name of the first element that is there along an axis, 0 for none."""
    first = np.expand_dims(there.argmax(axis), axis)
    return np.where(there.any(axis), np.take_along_axis(names, first, axis).squeeze(axis), 0)
