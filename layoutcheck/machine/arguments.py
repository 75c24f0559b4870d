"""What the functions that count banks and sectors take, checked where a user calls them."""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any, ParamSpec, TypeVar

from layoutcheck.algebra.arguments import Kind, checked, one_of, refuse
from layoutcheck.algebra.swizzle import Swizzle

P = ParamSpec("P")
R = TypeVar("R")


def _addresses(value: Any) -> list[Any]:
    try:
        return (
            refuse(value) if isinstance(value, (str, bytes)) or not hasattr(value, "__len__") else list(value)
        )
    except TypeError:  # an array of no dimension has a length and no elements
        refuse(value)


def _accesses(value: Any) -> list[Any]:
    if not isinstance(value, (tuple, list)) or not all(hasattr(one, "width_bits") for one in value):
        refuse(value)
    return list(value)


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (tuple, list)) or not all(isinstance(one, str) for one in value):
        refuse(value)
    return tuple(value)


_KINDS = {
    "Sequence[int | None]": Kind(_addresses, "32 byte addresses, None for a lane that is off"),
    "Sequence[TileAccess]": Kind(_accesses, "a list of TileAccess"),
    "tuple[str, ...]": Kind(_names, "a tuple of names"),
    "Swizzle | None": Kind(one_of(Swizzle, NoneType), "a Swizzle or None"),
}


def public(function: Callable[P, R]) -> Callable[P, R]:
    """The function with its arguments read by their annotations. It raises InputError for the others."""
    return checked(function, _KINDS)
