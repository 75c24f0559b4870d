"""CuTe's C++ types, as compilers print them in template arguments, read as layouts, tensors and copy atoms.

    cute::Layout<cute::tuple<cute::C<128>, cute::_64>, cute::tuple<cute::_64, cute::_1>>   (128,64):(64,1)

What is known only at run time (`int`, `long`) is `?`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from layoutcheck.brackets import closing, split
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype

_TOKEN = re.compile(r"\s*([\w:]+(?:\s+(?:int|long|char|short|unsigned))*|[<>,*&()]|-?[0-9]+)")
_NAME = re.compile(r"(?:cute|cutlass|std|__nv_\w+|detail|SM[0-9]+|GMMA|UMMA)::")
_STATIC = re.compile(r"_([0-9]+)|(-?[0-9]+)U?L*$")
_RUN_TIME = {
    "int", "long", "int32_t", "int64_t", "uint32_t", "uint64_t", "size_t", "unsigned", "long long",
    "long int", "long long int", "unsigned int", "long unsigned int", "unsigned long",
}  # fmt: skip
_LAYOUT = re.compile(r"\b(?:cute::)?(?:ComposedLayout|Layout)\s*<")
_DTYPES = {
    "half_t": "f16", "__half": "f16", "bfloat16_t": "bf16", "__nv_bfloat16": "bf16", "float": "f32", "double": "f64",
    "tfloat32_t": "tf32", "float_e4m3_t": "f8E4M3FN", "float_e5m2_t": "f8E5M2", "int8_t": "i8", "uint8_t": "u8",
    "signed char": "i8", "unsigned char": "u8", "int": "i32", "int32_t": "i32", "uint32_t": "u32", "short": "i16",
    "int16_t": "i16", "uint16_t": "u16", "int64_t": "i64", "uint64_t": "u64", "uint128_t": "i128", "uint4_t": "u4",
    "int4_t": "i4", "float_e2m1_t": "f4E2M1FN", "uint_byte_t": "u8",
}  # fmt: skip

_WITH = re.compile(r"\[(?=with )with ")
_PAIR = re.compile(r"(?:^|[,;] )(\w+) ?= ?")
_LONGEST = 60000  # characters of one list of template arguments
_DEEPEST = 64  # template arguments within one another


class Type(NamedTuple):
    """A C++ type: its name without namespaces, and its template arguments."""

    name: str
    args: tuple[Type, ...] = ()


def placed(text: str) -> Iterator[tuple[int, str]]:
    """Each layout that stands in a text as a type, in CuTe's notation, behind the place where it begins; of a composed one its inner one as well."""
    for match in _LAYOUT.finditer(text):
        parsed = parse(text, match.start())
        notation = notation_of(parsed) if parsed else None
        if notation is not None:
            yield match.start(), notation


def given(text: str, start: int) -> list[tuple[str, str]]:
    """The pairs of the first list `[with Name=type, ...]` behind a place, as far as the text has it."""
    found = _WITH.search(text, start)
    if found is None:
        return []
    last = min(len(text), found.start() + _LONGEST)
    with suppress(InputError):  # cut short
        last = closing(text, found.start(), last) - 1
    parts = _PAIR.split(text[found.end() : last])
    return [(name, type_.strip()) for name, type_ in zip(parts[1::2], parts[2::2], strict=True)]


def arguments(call: str) -> list[str]:
    """The template arguments at the end of a call, `f<A, B<C>>`, each as printed; [] where they are cut off."""
    inside, start = "", call.find("<")
    try:
        while start >= 0:
            end = closing(call, start)
            inside, start = call[start + 1 : end - 1], call.find("<", end)
        return split(inside)
    except InputError:
        return []


def packed(given: str) -> str:
    """A template argument, of a parameter pack its arguments as those of a tuple: nvcc's `<A, B>`, gcc's `{A, B}`."""
    given = f"<{given[1:-1]}>" if given.startswith("{") else given
    return f"tuple{given}" if given.startswith("<") else given


def bits_of(name: str) -> int:
    """The width of a C++ element type without its namespace, 0 of an unknown one."""
    return dtype(_DTYPES[name]).bits if name in _DTYPES else 0


def notation_of(type_: Type) -> str | None:
    """A layout or shape in CuTe's notation; None for any other type."""
    if type_.name == "Layout" and type_.args:
        shape = _tuple(type_.args[0])
        stride = _tuple(type_.args[1]) if len(type_.args) > 1 else None
        return f"{shape}:{stride}" if shape and stride else None
    if type_.name == "ComposedLayout" and len(type_.args) == 3:
        inner, offset, outer = type_.args
        layout = notation_of(outer)
        if inner.name != "Swizzle" or layout is None:
            return None
        swizzle = "S<" + ",".join(argument.name for argument in inner.args) + ">"
        return f"{swizzle} o {_tuple(offset) or 0} o {layout}"
    return _tuple(type_) if type_.name == "tuple" or _STATIC.match(type_.name) or type_.name == "C" else None


def _tuple(type_: Type) -> str | None:
    """A nested tuple of static or run-time integers."""
    if type_.name == "tuple":
        parts = [_tuple(argument) for argument in type_.args]
        return None if None in parts else "(" + ",".join(part or "" for part in parts) + ")"
    if type_.name in ("C", "Int", "constant", "integral_constant"):
        return _tuple(type_.args[-1]) if type_.args else None
    static = _STATIC.match(type_.name)
    if static:
        return static[1] or static[2]
    return "?" if type_.name in _RUN_TIME else None


def parse(text: str, start: int = 0) -> Type | None:
    """The type at `start`; None where it is cut short."""
    tokens = _tokens(text, start)
    try:
        return _type(tokens, next(tokens))[0]
    except StopIteration:  # cut short, or nested deeper than any layout
        return None


def _tokens(text: str, at: int) -> Iterator[str]:
    while match := _TOKEN.match(text, at):
        at = match.end()
        for token in re.split(r"(>)", match[1]) if match[1].startswith(">") else [match[1]]:
            if token:
                yield token


def _type(tokens: Iterator[str], token: str, depth: int = 0) -> tuple[Type, str]:
    """The type that begins with `token`, and the token behind it ("" at the end)."""
    if depth > _DEEPEST:
        raise StopIteration
    while token in ("const", "class", "struct", "(") or token.startswith("const "):
        if token == "(":  # (int)128: clang prints the type of a constant
            while token != ")":
                token = next(tokens)
        token = next(tokens)
    name = _NAME.sub("", token)
    following = next(tokens, "")
    arguments: list[Type] = []
    if following == "<":
        following = next(tokens)
        while following != ">":
            if not following:
                raise StopIteration
            argument, following = _type(tokens, following, depth + 1)
            arguments.append(argument)
            if following == ",":
                following = next(tokens)
        following = next(tokens, "")
    while following in ("*", "&", "const"):
        following = next(tokens, "")
    return Type(name, tuple(arguments)), following
