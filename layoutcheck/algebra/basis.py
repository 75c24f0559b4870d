"""Basis strides: `v@i` steps `v` along mode `i` of a coordinate instead of `v` in memory.

A layout with basis strides maps coordinates to coordinates (the tensors TMA copies take, and identity
tensors used for predication). `1@0` is one step along mode 0; `2@1@0` is two steps along mode 0's mode 1
(the path is printed innermost first, as CuTe does).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from layoutcheck.algebra.integers import Dynamic, Int, mul
from layoutcheck.errors import InputError


@dataclass(frozen=True, slots=True)
class Basis:
    """A stride `value@path`: `value` steps along the mode at `path` (outermost index first) of a coordinate.

    `Basis(1, (0, 1))` prints as `1@1@0`, innermost index first, as in the DSL.
    """

    value: Int
    path: tuple[int, ...]

    def __post_init__(self) -> None:
        if type(self.value) is not int and not isinstance(self.value, Dynamic):
            raise InputError(f"a basis stride is an integer, not of type {type(self.value).__name__}")
        if type(self.path) is not tuple or any(type(mode) is not int for mode in self.path):
            raise InputError("the path of a basis stride is a tuple of ints", expected="Basis(1, (0, 1))")
        if not self.path or min(self.path) < 0:
            raise InputError(f"a basis stride steps along a mode 0, 1, .., not along {self.path}")

    def __str__(self) -> str:
        return "@".join([str(self.value), *map(str, reversed(self.path))])

    __repr__ = __str__

    def scaled(self, k: Int) -> Basis:
        """The basis stride with `value * k`."""
        return Basis(mul(self.value, k), self.path)


def basis_of(shape: Any, path: tuple[int, ...] = ()) -> Any:
    """The unit basis strides congruent to `shape`, its identity layout's; of a lone integer simply 1."""
    if type(shape) is tuple:
        return tuple(basis_of(s, (*path, i)) for i, s in enumerate(shape))
    return Basis(1, path) if path else 1
