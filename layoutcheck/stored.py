"""Dataclasses from what `asdict` and JSON made of them: there tuples and sets are lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

Read = Callable[[Any], Any]
_JSON = {str: str, int: int, bool: bool, float: (int, float), dict: dict}


@cache
def reader(kind: Any) -> Read:
    """A function that makes a value of this type of its JSON.

    It raises KeyError, TypeError or ValueError for that of another dataclass, and where the types differ.
    Types other than JSON's own, dataclasses, tuples, sets and one of these or None are left as they are.
    """
    origin, inside = get_origin(kind), get_args(kind)
    if (plain := _JSON.get(origin or kind)) is not None:
        return _only(plain)
    if is_dataclass(kind):
        return _of_fields(kind)
    if origin in (Union, UnionType):
        some = [one for one in inside if one is not NoneType]
        read = reader(some[0]) if len(some) == 1 else _as_it_is
        return read if read is _as_it_is else lambda stored: None if stored is None else read(stored)
    if origin is tuple and inside[-1] is not Ellipsis:
        parts = [reader(one) for one in inside]
        return lambda stored: tuple(read(one) for read, one in zip(parts, _items(stored), strict=True))
    if origin in (tuple, set):
        each = reader(inside[0])
        return lambda stored: origin(map(each, _items(stored)))
    return _as_it_is


def _only(kind: Any) -> Read:
    def read(stored: Any) -> Any:
        if not isinstance(stored, kind):
            raise TypeError(f"{str(stored)[:40]!r} is not {kind}")
        return stored

    return read


_items, _object = _only((list, tuple, set)), _only(dict)


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
        if set(_object(stored)) != names:
            raise KeyError(f"not the fields of {kind.__name__}")
        return kind(**stored | {name: each(stored[name]) for name, each in readers().items()})

    return read
