"""Elements of two products that were multiplied by one another: whether both are at the same place.

In a backward pass dS is P times dP: the element (m, n) of one product times that of another. What comes out
is the element (m, n) of both, if the row of the one has the coordinate of the row of the other, up to one
distance for all of them, and so has the column.
"""

from __future__ import annotations

import numpy as np

from layoutcheck.provenance.judged import Names
from layoutcheck.provenance.products import Execution, Products
from layoutcheck.provenance.refs import FLAGS, JOINED, PRODUCT, Array


def joined_alike(products: Products, names: Names, executions: list[Execution]) -> bool:
    """Whether all that was multiplied into the operands of an instruction is at their elements' places."""
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
