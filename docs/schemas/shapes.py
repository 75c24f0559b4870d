"""JSON Schemas of shapes, which are written with Python's own types.

A shape is a type (`int`, `str | None`, `tuple[int, ...]`, `dict[str, int]`, `Any`), a dataclass (the object
that `asdict` makes of it) or NamedTuple, a dict of shapes (an object), a list of one shape (an array), or one
of the classes below. An object has all of its keys and no others; the name of a key that may be missing ends
with `?`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

Schema = dict[str, Any]
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null", None: "null"}


class Ref(NamedTuple):
    """A definition of the schema of reports."""

    name: str


class Said(NamedTuple):
    """A shape with its description, and with JSON Schema's own words for what its values are limited to."""

    shape: Any
    text: str
    limits: Mapping[str, Any] = MappingProxyType({})


class Plus(NamedTuple):
    """The object of a dataclass, with more keys."""

    kind: type
    more: dict[str, Any]


class Either:
    """One of several shapes."""

    def __init__(self, *shapes: Any) -> None:
        self.shapes = shapes


class OrNull(Either):
    """A shape, or null."""

    def __init__(self, shape: Any) -> None:
        super().__init__(shape, None)


def schema_of(shape: Any, defs: dict[str, Schema]) -> Schema:
    """The JSON Schema of a shape; dataclasses go into `defs` by name."""
    if isinstance(shape, Said):
        return {**schema_of(shape.shape, defs), **shape.limits, "description": shape.text}
    if isinstance(shape, Ref):
        return {"$ref": f"#/$defs/{shape.name}"}
    if isinstance(shape, Plus):
        return _object({**shape.more, **_fields(shape.kind)}, defs)
    if isinstance(shape, Either):
        return _any_of([schema_of(one, defs) for one in shape.shapes])
    if isinstance(shape, dict):
        return _object(shape, defs)
    if isinstance(shape, list):
        return {"type": "array", "items": schema_of(shape[0], defs)}
    if isinstance(shape, type) and (is_dataclass(shape) or hasattr(shape, "_fields")):
        return _named(shape, defs)
    return _of_type(shape, defs)


def _of_type(kind: Any, defs: dict[str, Schema]) -> Schema:
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any or kind is object:
        return {}
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if origin in (Union, UnionType):
        return _any_of([schema_of(one, defs) for one in inside])
    if origin is Literal:
        return {"enum": list(inside)}
    if origin is dict or kind is dict:
        return {"type": "object", "additionalProperties": schema_of(inside[1], defs) if inside else {}}
    if origin is tuple and inside[-1] is not Ellipsis:
        each = [schema_of(one, defs) for one in inside]
        return {"type": "array", "prefixItems": each, "items": False, "minItems": len(each)}
    if origin in (tuple, list):
        return {"type": "array", "items": schema_of(inside[0], defs)}
    raise TypeError(f"{kind} is no shape")


def _object(shape: dict[str, Any], defs: dict[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": {name.rstrip("?"): schema_of(one, defs) for name, one in shape.items()},
        "required": [name for name in shape if not name.endswith("?")],
        "additionalProperties": False,
    }


def _named(kind: Any, defs: dict[str, Schema]) -> Schema:
    """The definition of a dataclass or a NamedTuple, described by the first paragraph of its docstring."""
    name = kind.__name__
    if name not in defs:
        text = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
        defs[name] = {}  # so that a type may hold its own
        defs[name] = {"description": text, **_object(_fields(kind), defs)}
    return {"$ref": f"#/$defs/{name}"}


def _fields(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    names = [one.name for one in fields(kind)] if is_dataclass(kind) else kind._fields
    return {name: hints[name] for name in names}


def _any_of(forms: list[Schema]) -> Schema:
    plain = [form["type"] for form in forms if set(form) == {"type"}]
    return {"type": plain} if len(plain) == len(forms) else {"anyOf": forms}
