"""Integer tuples: an `Int` or a (nested) tuple of them. Shapes, strides and coordinates are such trees."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, TypeAlias

from layoutcheck.algebra.integers import Dynamic, Int, mul
from layoutcheck.errors import InputError

MAX_DEPTH = 32  # nesting no real layout comes near; keeps recursion bounded on hostile input

# What the operations take, by name; `arguments.py` says what each may be, and checks it at the room's door.
AnyLayout: TypeAlias = Any  # a Layout or a ComposedLayout
Composed: TypeAlias = Any  # either of them or a Swizzle
Sized: TypeAlias = Any  # a Layout, a ComposedLayout or a shape
Shape: TypeAlias = Any  # a positive Int or a tuple of shapes
Stride: TypeAlias = Any  # an Int, a Basis or a tuple of strides
Coord: TypeAlias = Any  # an Int, None (the whole mode) or a tuple of coordinates
Tiler: TypeAlias = Any  # a Layout, a positive Int, None (the whole mode) or a tuple of tilers
Tree: TypeAlias = Any  # any of the above
Path: TypeAlias = Any  # a mode, or a tuple of modes


class Unlike(TypeError):
    """A value of another kind than was asked for; the text says what it is."""


def as_index(value: Any) -> int:
    """What Python takes for an index as an int: numpy's integers too, a bool not. Raises Unlike."""
    if isinstance(value, bool) or type(value).__name__ == "bool_" or getattr(value, "shape", ()) != ():
        raise Unlike(shown(value))
    try:
        return operator.index(value)
    except TypeError:
        raise Unlike(shown(value)) from None


def as_tree(value: Any, leaves: tuple[type, ...], *, arrays: bool = False, depth: int = 0) -> Any:
    """`value` as a tree of ints and of these leaves: lists count as tuples, and numpy's integers as ints.

    With `arrays` a leaf may be an array of integers, which stands for each of them. Raises Unlike.
    """
    if isinstance(value, (tuple, list)):
        if depth >= MAX_DEPTH:
            raise InputError(f"nested more than {MAX_DEPTH} deep")
        return tuple(as_tree(one, leaves, arrays=arrays, depth=depth + 1) for one in value)
    if type(value) is int or isinstance(value, leaves):
        return value
    if arrays and getattr(getattr(value, "dtype", None), "kind", "") in ("i", "u"):
        return value if value.shape else operator.index(value)
    return as_index(value)


def pair(value: Any) -> tuple[int, int] | None:
    """Two ints, of a tuple or list of two; None for anything else."""
    try:
        read = as_tree(value, ())
    except (Unlike, InputError):
        return None
    if type(read) is not tuple or len(read) != 2 or any(type(one) is not int for one in read):
        return None
    return read[0], read[1]


def index_of(name: str, value: Any) -> int:
    """A constructor's argument as an int. Raises InputError, which names it."""
    try:
        return as_index(value)
    except Unlike as other:
        raise InputError(f"'{name}' is {other}", expected="an int") from None


def must_be(kinds: type | tuple[type, ...], expected: str, **arguments: Any) -> None:
    """Raises InputError for an argument that is none of these kinds."""
    for name, value in arguments.items():
        if not isinstance(value, kinds):
            raise InputError(f"'{name}' is {shown(value)}", expected=expected)


def shown(value: Any) -> str:
    """A value as an error names it: its kind, and what it is where that is short."""
    if value is None:
        return "None"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    kind = type(value).__name__
    if isinstance(value, (int, float, bytes, tuple, list)):
        text = repr(value)
        return f"the {kind} {text if len(text) <= 40 else text[:37] + '...'}"
    return f"an object of type {kind}"


def flatten(t: Any) -> tuple[Any, ...]:
    """All leaves, left to right: ((2, 3), 4) -> (2, 3, 4)."""
    if type(t) is not tuple:
        return (t,)
    out: list[Any] = []
    for a in t:
        if type(a) is tuple:
            out.extend(flatten(a))
        else:
            out.append(a)
    return tuple(out)


def product(t: Any) -> Int:
    """The product of all leaves: size of a shape."""
    out: Int = 1
    for leaf in flatten(t):
        out = out * leaf if type(out) is int and type(leaf) is int else mul(out, leaf)
    return out


def rank(t: Any) -> int:
    """Number of top-level modes; 1 for a leaf."""
    return len(t) if type(t) is tuple else 1


def depth(t: Any) -> int:
    """Nesting depth: 0 for a leaf, 1 for a flat tuple."""
    return 1 + max((depth(a) for a in t), default=0) if type(t) is tuple else 0


def congruent(a: Any, b: Any) -> bool:
    """Whether the two trees have the same profile (same nesting, leaves anywhere)."""
    if type(a) is tuple and type(b) is tuple:
        return len(a) == len(b) and all(map(congruent, a, b))
    return type(a) is not tuple and type(b) is not tuple


def unflatten(flat: Iterator[Any], profile: Any) -> Any:
    """The tree with the nesting of `profile` whose leaves are drawn from `flat`."""
    if type(profile) is tuple:
        return tuple(unflatten(flat, p) for p in profile)
    return next(flat)


def is_static(t: Any) -> bool:
    """Whether no leaf is a run-time value."""
    return not any(isinstance(leaf, Dynamic) for leaf in flatten(t))


def mode(t: Any, i: int) -> Any:
    """Top-level mode `i`; a leaf is its own mode 0."""
    return t[i] if type(t) is tuple else (t,)[i]


def wrap(t: Any) -> tuple[Any, ...]:
    """`t` as a tuple of modes: a leaf becomes a tuple of one."""
    return t if type(t) is tuple else (t,)
