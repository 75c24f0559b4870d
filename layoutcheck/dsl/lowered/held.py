"""What tensors of integers hold in a call of the program: offsets of sequences, lists of blocks, indices.

A load of it has these elements' values, and what is made of them rests on no assumption. A tensor that the
module's kernels write is left out: what it holds changes while they run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered.record import Mask, Number

_TOLD = 12  # elements that are told of a tensor
_MOST_BITS = 40  # of a number that is an index or a count
_MOST_SPAN = 1 << 20  # elements between the first and the last


@dataclass(frozen=True, slots=True)
class Contents:
    """The elements of a tensor, of `bits` each, the last leaf of `shape` fastest; strides in elements."""

    bits: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    elements: tuple[int, ...]

    def __str__(self) -> str:
        held = [str(one) for one in self.elements]
        if len(held) > _TOLD:
            held[_TOLD - 1 : -1] = ["..."]
        return f"({','.join(map(str, self.shape))}) holds {', '.join(held)}"

    def memory(self) -> Memory | None:
        """Its elements where they lie; None if they do not fit, or are too far from one another.

        Nor for pointers: what they point to is no object of the evaluation.
        """
        at = np.zeros((1,), np.int64)
        for extent, step in zip(self.shape, self.stride, strict=True):
            at = (at[:, None] + np.arange(extent, dtype=np.int64) * step).ravel()
        if at.size != len(self.elements) or not at.size or at.min() < 0 or at.max() >= _MOST_SPAN:
            return None
        most = 1 << min(self.bits - 1, _MOST_BITS)
        if min(self.elements) < -most or max(self.elements) >= most:  # unsigned, or a pointer
            return None
        numbers, there = np.zeros(int(at.max()) + 1, np.int64), np.zeros(int(at.max()) + 1, np.bool_)
        numbers[at], there[at] = self.elements, True
        return Memory(self.bits // 8, numbers, there)


@dataclass(frozen=True, slots=True)
class Memory:
    """Elements of `size` bytes from the beginning of an object on; `there` says which of them are known."""

    size: int
    numbers: IntArray = field(repr=False)
    there: Mask = field(repr=False)

    def at(self, offset: Number, size: int, active: Mask | None) -> Number | None:
        """What lies `offset` bytes behind the beginning; None if not all that is loaded is known.

        A thread that is not active gets the first element.
        """
        if size != self.size:
            return None
        if isinstance(offset, int):
            index, odd = divmod(offset, size)
            inside = not odd and 0 <= index < self.there.size and bool(self.there[index])
            return int(self.numbers[index]) if inside else None
        asked = offset if active is None else offset[active]
        if (asked % size).any() or (asked < 0).any() or (asked >= self.there.size * size).any():
            return None
        if not self.there[asked // size].all():
            return None
        places = offset // size
        return self.numbers[places if active is None else np.where(active, places, 0)]


def memories(contents: Sequence[Contents | None]) -> dict[int, Memory]:
    """The memory of each argument of a host's function whose contents are known, by its object."""
    found = {i + 1: held.memory() for i, held in enumerate(contents) if held is not None}
    return {base: memory for base, memory in found.items() if memory is not None}
