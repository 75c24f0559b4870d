"""What an expression of CuTe's is, where it is written out: pointers, tensors, atoms, tiled copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Unknown(Exception):
    """Not written out; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """Where a tensor starts: `dtype` None is the atom's, `space` as the DSL prints it."""

    space: str
    dtype: str | None
    align_bytes: int
    swizzle: str | None = None


@dataclass(frozen=True, slots=True)
class Tensor:
    """A pointer and a layout (the algebra's, or a composed one)."""

    pointer: Pointer
    layout: Any


@dataclass(frozen=True, slots=True)
class Atom:
    """A copy atom under the name that `layoutcheck.check` takes."""

    name: str
    dtype: str
    bits: int | None
    cache: str = ""


@dataclass(frozen=True, slots=True)
class Tiled:
    """`make_tiled_copy_tv(atom, thr, val)`, whole or as one thread's slice."""

    atom: Atom
    thr: Any
    val: Any


@dataclass(frozen=True, slots=True)
class Part:
    """One side of a tiled copy's partition."""

    tiled: Tiled
    side: str
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Argument:
    """A kernel's tensor parameter, of which nothing is known."""

    name: str
