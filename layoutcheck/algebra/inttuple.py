"""Integer tuples: an `Int` or a (nested) tuple of them. Shapes, strides and coordinates are such trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from layoutcheck.algebra.integers import Dynamic, Int, mul


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


def leaves(t: Any) -> Iterator[Any]:
    """The leaves of `t`, left to right."""
    return iter(flatten(t))


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
