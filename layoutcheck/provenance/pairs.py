"""`Pairs`: elements of memory that were multiplied by others: quantised weights and their scales.

Of an operand whose elements each met another one, the element is the one that is another for every row and
every k; what rows or groups of k share is a scale, or a zero point.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from layoutcheck.provenance.refs import FLAGS, GLOBAL, PAIR, PRODUCT, Array, joined


@dataclass(slots=True)
class Pairs:
    """The two labels of each label that has PAIR, by its number."""

    parts: Array = field(default_factory=lambda: np.zeros((2, 0), np.int64))
    known: dict[tuple[int, int], int] = field(default_factory=dict)

    def met(self, a: Array, b: Array, times: NDArray[np.bool_]) -> Array:
        """The labels of elements that two others, of these labels, met in; multiplied, or subtracted."""
        both = _memory(a) & _memory(b) & (a != b)
        found = np.where(times, joined(a, b, sums=False, times=True), joined(a, b, sums=False))
        if both.any():
            every, which = np.unique(np.stack([a[both], b[both]]), axis=1, return_inverse=True)
            found[both] = self._numbered(every)[which.reshape(-1)]
        return found

    def _numbered(self, every: Array) -> Array:
        numbers = [self.known.setdefault((one, other), len(self.known)) for one, other in every.T.tolist()]
        if len(self.known) > self.parts.shape[1]:
            new = np.array(list(self.known)[self.parts.shape[1] :], np.int64).T
            self.parts = np.concatenate([self.parts, new], 1)
        return PAIR | np.array(numbers, np.int64)

    def element(self, labels: Array) -> Array | None:
        """(groups, rows, k) labels with the element in the place of each pair; None where that is not one.

        What it met must be shared: fewer different ones, of which each is the sum of a part of its row and
        one of its k.
        """
        if not _paired(labels).any():
            return labels
        leaves = self._leaves(labels)
        counts = [len(np.unique(one)) for one in leaves]
        first = int(np.argmax(counts))
        rest = [one for i, one in enumerate(leaves) if i != first]
        shared = all(count < counts[first] for i, count in enumerate(counts) if i != first)
        return leaves[first] if shared and not any(_scattered(one) for one in rest) else None

    def _leaves(self, labels: Array) -> list[Array]:
        paired = _paired(labels)
        if not paired.any():
            return [labels]
        number = np.where(paired, labels & (PAIR - 1), 0)
        one, other = (part[number] for part in self.parts)
        return [*self._leaves(np.where(paired, one, labels)), *self._leaves(np.where(paired, other, 0))]


def _memory(at: Array) -> NDArray[np.bool_]:
    return (at >= GLOBAL) & (at < PRODUCT)


def _paired(at: Array) -> NDArray[np.bool_]:
    return ((at & PAIR) != 0) & (at & (PRODUCT | FLAGS) == 0)


def _scattered(labels: Array) -> bool:
    there = labels != 0
    off = labels - labels[:, :, :1] - labels[:, :1, :] + labels[:, :1, :1]
    return bool(off[there].any()) if there.all() else False
