"""Through which swizzle a view sees shared memory: as its type says, or that of a view that it is made of."""

from __future__ import annotations

import re

from layoutcheck.algebra.notation import parse_swizzle
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from layoutcheck.sources.mlir import Block, Operation, Value

SHARED = re.compile(r"!cute\.(?:ptr|memref)<[^\"]*\bsmem\b")
NONE = Swizzle(0, 4, 3)
_POINTER = re.compile(r'!cute\.(?:ptr|memref)<[^"]*\bsmem\b[^"]*?(?P<swizzle>S<[0-9,-]+>)')
_LAYOUT = re.compile(r'!cute\.memref<(?P<element>\w+), smem\b[^"]*"(?P<swizzle>S<[0-9,-]+>) o ')
_KERNELS = ("cuda.kernel", "gpu.func", "func.func")
_MOST_STEPS = 200


def seen_through(value: Value) -> Swizzle | None:
    """The swizzle of byte addresses; S<0,4,3> for none, None where that cannot be told.

    A pointer's swizzle stands in the types of all that is made of it. A layout's does not: a partition by a
    thread's number applies it to the thread's offset, and what is left is a plain layout. The pointer to the
    first element of such a tensor is a plain one.
    """
    found = _POINTER.match(value.type)
    try:
        if found is not None:
            return effective(parse_swizzle(found["swizzle"]))
        for _ in range(_MOST_STEPS):
            found = _LAYOUT.match(value.type)
            if found is not None:
                return _in_bytes(parse_swizzle(found["swizzle"]), dtype(found["element"]).bits)
            loop, number = value.carried
            if loop is not None:
                value = loop.operands[3 + number]
                continue
            if isinstance(value.owner, Block):
                return NONE if value.owner.parent.parent.name in _KERNELS else None
            made = value.definition
            if made is None:
                return None
            outer = made_of(made)
            if outer is None or (made.name == "cute.get_iter" and _LAYOUT.match(outer.type)):
                return NONE
            value = outer
    except InputError:
        return None
    return None


def made_of(made: Operation) -> Value | None:
    """The view, or pointer, of shared memory that an operation makes another one of."""
    return next((one for one in made.operands if SHARED.match(one.type)), None)


def _in_bytes(swizzle: Swizzle, bits: int) -> Swizzle | None:
    """A swizzle of elements of so many bits; None where they are no power of two."""
    base = swizzle.base + bits.bit_length() - 4
    return None if bits & (bits - 1) or base < 0 else effective(Swizzle(swizzle.bits, base, swizzle.shift))


def effective(swizzle: Swizzle | None) -> Swizzle:
    """The swizzle; `NONE` for all that move nothing."""
    return swizzle if swizzle is not None and swizzle.bits else NONE
