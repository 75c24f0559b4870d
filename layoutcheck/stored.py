"""Dataclasses from what `asdict` and JSON made of them: there tuples and sets are lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

Read = Callable[[Any], Any]


@cache
def reader(kind: Any) -> Read:
    """A function that makes a value of this type of its JSON.

    It raises KeyError, TypeError or ValueError for that of another dataclass. Types other than dataclasses,
    tuples, sets and one of these or None are left as they are.
    """
    origin, inside = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _of_fields(kind)
    if origin in (Union, UnionType):
        some = [one for one in inside if one is not NoneType]
        read = reader(some[0]) if len(some) == 1 else _as_it_is
        return read if read is _as_it_is else lambda stored: None if stored is None else read(stored)
    if origin is tuple and inside[-1] is not Ellipsis:
        parts = [reader(one) for one in inside]
        return lambda stored: tuple(read(one) for read, one in zip(parts, stored, strict=True))
    if origin in (tuple, set):
        each = reader(inside[0])
        return origin if each is _as_it_is else lambda stored: origin(map(each, stored))
    return _as_it_is


def _as_it_is(stored: Any) -> Any:
    return stored


def _of_fields(kind: Any) -> Read:
    """The types of the fields are looked up with the first object: some may be of modules not yet loaded."""
    names = {one.name for one in fields(kind)}

    @cache
    def readers() -> dict[str, Read]:
        found = {name: reader(hint) for name, hint in get_type_hints(kind).items() if name in names}
        return {name: read for name, read in found.items() if read is not _as_it_is}

    def read(stored: dict[str, Any]) -> Any:
        if set(stored) != names:
            raise KeyError(f"not the fields of {kind.__name__}")
        return kind(**stored | {name: each(stored[name]) for name, each in readers().items()})

    return read
