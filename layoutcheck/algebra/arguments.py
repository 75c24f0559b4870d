"""What the operations take, checked at the room's door: a near miss becomes the value it means, or one error.

Lists count as tuples, and what Python takes for an index (numpy's integers) as an int; text, floats and bools
are refused. Inside the room nothing is checked twice: its modules call each other's functions as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from inspect import Parameter, signature
from types import NoneType
from typing import Any, NamedTuple, NoReturn, ParamSpec, TypeVar

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import Unlike, as_index, as_tree, flatten, shown
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import ComposedLayout, Swizzle
from layoutcheck.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")


def refuse(value: Any) -> NoReturn:
    """Raise Unlike, which says what the value is."""
    raise Unlike(shown(value))


def one_of(*kinds: type, otherwise: Callable[[Any], Any] = refuse) -> Callable[[Any], Any]:
    """What reads values of these types as they are, and others as `otherwise` does."""
    return lambda value: value if isinstance(value, kinds) else otherwise(value)


_layout = one_of(Layout)
_any_layout = one_of(Layout, ComposedLayout)


def _shape(value: Any) -> Any:
    return Layout(as_tree(value, (Dynamic,))).shape


def _tiler(value: Any) -> Any:
    read = as_tree(value, (Dynamic, NoneType, Layout, ComposedLayout))
    for leaf in flatten(read):
        if type(leaf) is int and leaf < 1:
            raise Unlike(shown(leaf))
    return read


_tree = partial(as_tree, leaves=(Dynamic, Basis, NoneType, Layout))


def _path(value: Any) -> tuple[int, ...]:
    return tuple(map(as_index, value)) if isinstance(value, (tuple, list, range)) else (as_index(value),)


def _layouts(value: Any) -> tuple[Layout, ...]:
    return tuple(map(_layout, value)) if isinstance(value, (tuple, list)) else refuse(value)


class Kind(NamedTuple):
    """How a value of an annotation is read, and what is said to be expected where it cannot be."""

    read: Callable[[Any], Any]
    what: str


_KINDS = {
    "Layout": Kind(_layout, "a Layout"),
    "AnyLayout": Kind(_any_layout, "a Layout or a ComposedLayout"),
    "Layout | ComposedLayout": Kind(_any_layout, "a Layout or a ComposedLayout"),
    "Composed": Kind(one_of(Layout, ComposedLayout, Swizzle), "a Layout, a ComposedLayout or a Swizzle"),
    "Sized": Kind(
        one_of(Layout, ComposedLayout, otherwise=_shape), "a Layout, or a shape: an int or a tuple of shapes"
    ),
    "Shape": Kind(_shape, "an int or a tuple of shapes"),
    "Stride": Kind(partial(as_tree, leaves=(Dynamic, Basis)), "an int, a Basis or a tuple of strides"),
    "Coord": Kind(
        partial(as_tree, leaves=(Dynamic, NoneType), arrays=True), "an int, None or a tuple of coordinates"
    ),
    "Tiler": Kind(_tiler, "a Layout, a positive int, None or a tuple of tilers"),
    "Tree": Kind(one_of(ComposedLayout, otherwise=_tree), "a Layout, an int, None or a tuple of these"),
    "Path": Kind(_path, "an int or a tuple of ints"),
    "int": Kind(as_index, "an int"),
    "Int": Kind(one_of(Dynamic, otherwise=as_index), "an int or a Dynamic"),
    "int | None": Kind(one_of(NoneType, otherwise=as_index), "an int or None"),
    "str": Kind(one_of(str), "text"),
    "tuple[Layout, ...]": Kind(_layouts, "a tuple of layouts"),
}
_FREE = {"bool"}  # anything is true or false


def checked(function: Callable[P, R], more: Mapping[str, Kind] | None = None) -> Callable[P, R]:
    """The function with its arguments read by their annotations. It raises InputError for the others.

    `more` are kinds of the caller's own.
    """
    kinds = {**_KINDS, **(more or {})}
    readers = {}
    names = []  # of positional ones
    rest = None
    for one in signature(function).parameters.values():
        if one.annotation in _FREE:
            continue
        kind = kinds[one.annotation]
        if one.kind is Parameter.VAR_POSITIONAL:
            rest = one.name, kind
        else:
            readers[one.name] = kind, one.default
            names += [one.name] if one.kind is not Parameter.KEYWORD_ONLY else []

    @wraps(function)
    def call(*given: P.args, **options: P.kwargs) -> R:
        read = [
            _read(names[i], value, *readers[names[i]]) if i < len(names) else _rest(rest, value)
            for i, value in enumerate(given)
        ]
        named = {
            name: _read(name, value, *readers[name]) if name in readers else value
            for name, value in options.items()
        }
        return function(*read, **named)  # type: ignore[arg-type]

    return call


def _rest(rest: tuple[str, Kind] | None, value: Any) -> Any:
    return value if rest is None else _read(rest[0], value, rest[1], Parameter.empty)


def _read(name: str, value: Any, kind: Kind, default: Any) -> Any:
    if value is default:
        return value
    try:
        return kind.read(value)
    except Unlike as other:
        raise InputError(f"'{name}' is {other}", expected=_expected(value, kind.what)) from None
    except InputError as error:
        raise InputError(f"'{name}': {error.message}", expected=error.expected) from None


def _expected(value: Any, what: str) -> str:
    return f"{what}; parse_layout and parse_tree read text" if isinstance(value, str) else what
