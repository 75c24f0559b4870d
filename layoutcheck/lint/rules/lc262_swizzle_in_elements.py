"""LC262 swizzle-in-elements: a pointer's swizzle counts bytes, but these numbers count elements."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layoutcheck.lint import resolve
from layoutcheck.lint.rule import Hit, make_rule
from layoutcheck.lint.scopes import Call, Scope
from layoutcheck.lint.source import Source
from layoutcheck.syntax import argument_of

_COPIES = ("copy", "copy_atom_call", "autovec_copy")  # basic_copy goes element by element
_WIDE_BITS = 128

# Where a pointer's swizzle is given: the function, the argument's position, its keyword.
_SINKS = {"allocate_tensor": (3, "swizzle"), "get_tensor": (1, "swizzle"), "recast_ptr": (1, "swizzle_")}
_DTYPE = {"allocate_tensor": (0, "element_type"), "get_tensor": (2, "dtype"), "recast_ptr": (2, "dtype")}
_BYTES = {
    "BFloat16": 2,
    "Float16": 2,
    "Int16": 2,
    "Uint16": 2,
    "Float32": 4,
    "TFloat32": 4,
    "Int32": 4,
    "Float64": 8,
}


@make_rule("slow", "make_swizzle")
def rule(source: Source) -> Iterator[Hit]:
    """Literal swizzles given to a pointer, whose base is right for elements and not for bytes."""
    for name, (position, keyword) in _SINKS.items():
        for call in source.called(name):
            made, index = resolve.follow(call.scope, call.argument(position, keyword))
            if (
                index is not None
                or not isinstance(made, ast.Call)
                or resolve.last(source, made) != "make_swizzle"
            ):
                continue
            numbers = [resolve.integer(call.scope, each) for each in made.args[:3]]
            if len(numbers) < 3 or any(number is None for number in numbers):
                continue
            bits, base, shift = (number or 0 for number in numbers)
            size = _element_bytes(source, call, name)
            meant = base + size.bit_length() - 1
            if bits < 1 or size < 2 or meant != 4:
                continue  # only what is exactly one 16-byte vector of elements
            if not _copied(source, call):
                continue
            yield Hit(
                made,
                f"S<{bits},{base},{shift}> on a pointer counts bytes; for {size}-byte elements it is S<{bits},{meant},{shift}>",
                f"This swizzle keeps {1 << base} bytes together, {(1 << base) // size} elements; read as elements, its base would keep one 16-byte vector together. It splits a 128-bit access.",
                {
                    "bits": bits,
                    "base": base,
                    "shift": shift,
                    "element_bytes": size,
                    "in_bytes": [bits, meant, shift],
                },
            )


def _copied(source: Source, made: Call) -> bool:
    """Whether a copy that may be of 128 bits has what this call makes for an operand."""
    return any(
        part is made.node
        for copy in source.called(*_COPIES)
        if copy.scope is made.scope and _may_be_wide(source, copy)
        for operand in copy.node.args
        for part in _parts(copy.scope, operand)
    )


def _parts(scope: Scope, operand: ast.expr) -> Iterator[ast.AST]:
    for one in resolve.slice_back(scope, operand):
        yield from ast.walk(one)


def _may_be_wide(source: Source, copy: Call) -> bool:
    """Whether the copy's atom is not written out as one of fewer bits."""
    atom = resolve.atom_of(source, copy.scope, copy.node.args[0] if copy.node.args else None)
    given = argument_of(atom, "num_bits_per_copy") if atom else None
    bits = resolve.integer(copy.scope, given)
    return bits is None or bits >= _WIDE_BITS


def _element_bytes(source: Source, call: Call, name: str) -> int:
    """Bytes of the element, where the type is written out; 0 where it is not."""
    position, keyword = _DTYPE[name]
    dtype, _ = resolve.follow(call.scope, call.argument(position, keyword))
    return 0 if dtype is None else _BYTES.get(resolve.last(source, dtype), 0)
