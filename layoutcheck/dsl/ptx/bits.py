"""Registers of PTX as bits that are known or named, and the instructions that only compute with them.

What is unknown stays exact as long as bits are moved (shifts, permutes, masks); a bit that depends on two
named ones becomes ("mixed", 0).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from layoutcheck.errors import InputError

# One bit: a known 0 or 1, or the name of the bit it is a copy of.
Bit: TypeAlias = "int | tuple[str, int]"
Bits: TypeAlias = "tuple[Bit, ...]"  # least significant first


def of_int(value: int, width: int) -> Bits:
    """The low `width` bits of a number, in two's complement."""
    return tuple((value >> i) & 1 for i in range(width))


def fit(value: Bits, width: int) -> Bits:
    """The value in a register of `width` bits: cut off, or filled with zeros."""
    return value[:width] if len(value) >= width else value + (0,) * (width - len(value))


def extend(value: Bits, width: int, signed: bool) -> Bits:
    """As `fit`; a signed value is filled with its highest bit."""
    if len(value) >= width:
        return value[:width]
    return value + (value[-1] if signed else 0,) * (width - len(value))


def to_int(value: Bits, operand: str) -> int:
    """The unsigned number. Raises InputError, naming the operand, where a bit is not known."""
    out = 0
    for i, bit in enumerate(value):
        if not isinstance(bit, int):
            raise InputError(f"'{operand}' depends on the data that is copied: {bit}")
        out |= bit << i
    return out


def as_signed(value: int, width: int) -> int:
    """The number that `width` bits hold in two's complement."""
    value %= 1 << width
    return value - (1 << width) if value >> (width - 1) else value


def _joined(values: list[Bits], absorbs: int) -> Bits:
    """Bits joined by AND (where 0 absorbs the other bit) or OR (1); the other value is neutral."""

    def one(a: Bit, b: Bit) -> Bit:
        if absorbs in (a, b):
            return absorbs
        if isinstance(a, int):
            return b
        return a if isinstance(b, int) or a == b else ("mixed", 0)

    return tuple(map(one, *values))


def _xor(values: list[Bits], _: list[Bits]) -> Bits:
    def one(a: Bit, b: Bit) -> Bit:
        if isinstance(a, int) and isinstance(b, int):
            return a ^ b
        if a == 0:
            return b
        return a if b == 0 else ("mixed", 0)

    return tuple(map(one, *values))


def _not(values: list[Bits], _: list[Bits]) -> Bits:
    return tuple(1 - bit if isinstance(bit, int) else ("mixed", 0) for bit in values[0])


def _shl(values: list[Bits], raw: list[Bits]) -> Bits:
    by = to_int(raw[1], "shift")
    width = len(values[0])
    return ((0,) * min(by, width) + values[0])[:width]


def _shr(values: list[Bits], raw: list[Bits]) -> Bits:
    by = to_int(raw[1], "shift")
    return fit(values[0][by:], len(values[0]))


def _bfi(values: list[Bits], raw: list[Bits]) -> Bits:
    at, length = to_int(raw[2], "bfi") & 255, to_int(raw[3], "bfi") & 255
    out = list(values[1])
    out[at : at + length] = values[0][: len(out[at : at + length])]
    return tuple(out)


def _bfe(values: list[Bits], raw: list[Bits]) -> Bits:
    at, length = to_int(raw[1], "bfe") & 255, to_int(raw[2], "bfe") & 255
    return fit(values[0][at : at + length], len(values[0]))


def _prmt(values: list[Bits], raw: list[Bits]) -> Bits:
    selector = to_int(raw[2], "prmt")
    pool = values[0] + values[1]
    out: Bits = ()
    for i in range(4):
        pick = (selector >> (4 * i)) & 15
        byte = pool[8 * (pick & 7) : 8 * (pick & 7) + 8]
        out += (byte[7],) * 8 if pick & 8 else byte
    return out


def _selp(values: list[Bits], raw: list[Bits]) -> Bits:
    return values[0] if to_int(raw[2][:1], "selp") else values[1]


# By the instruction's name: the operands cut to its width, and as they came.
BITWISE: dict[str, Callable[[list[Bits], list[Bits]], Bits]] = {
    "and": lambda values, _: _joined(values, 0), "or": lambda values, _: _joined(values, 1),
    "xor": _xor, "not": _not, "shl": _shl, "shr": _shr, "bfi": _bfi, "bfe": _bfe, "prmt": _prmt,
    "selp": _selp,
}  # fmt: skip

ARITHMETIC: dict[str, Callable[[list[int]], int]] = {
    "add": lambda n: n[0] + n[1],
    "sub": lambda n: n[0] - n[1],
    "mul": lambda n: n[0] * n[1],
    "mad": lambda n: n[0] * n[1] + n[2],
    "neg": lambda n: -n[0],
    "setp": lambda n: 0,
}

COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip
