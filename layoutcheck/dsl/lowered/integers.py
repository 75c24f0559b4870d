"""Integer operations of MLIR's `arith`, `index` and `llvm` dialects on values of all threads at once.

Each takes numbers (an int, or an int64 array with one entry a thread) and the width of the result in bits,
and wraps as the machine does. Division by zero, which the dialects leave undefined, gives 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered.record import Number
from layoutcheck.dsl.lowered.values import select, unsigned, wrap

Binary = Callable[[Any, Any, int], Number]


def _shl(a: Any, b: Any, bits: int) -> Number:
    if isinstance(b, int):
        return wrap(a << b, bits) if 0 <= b < bits else 0
    return wrap(np.where((b >= 0) & (b < bits), np.asarray(a, np.int64) << (b & (bits - 1)), 0), bits)


def _shru(a: Any, b: Any, bits: int) -> Number:
    if isinstance(b, int):
        if not 0 <= b < bits:
            return 0
        return a if b == 0 else _signed(unsigned(a, bits) >> _like(unsigned(a, bits), b))
    whole = unsigned(np.asarray(a, np.int64), bits)
    inside = (b >= 0) & (b < bits)
    return wrap(_signed(np.where(inside, whole >> _like(whole, b & (bits - 1)), _like(whole, 0))), bits)


def _shrs(a: Any, b: Any, bits: int) -> Number:
    if isinstance(b, int):
        return a >> min(max(b, 0), bits - 1)  # type: ignore[no-any-return]
    shifted: IntArray = np.asarray(a, np.int64) >> np.clip(b, 0, bits - 1)
    return shifted


def _divided(towards: str, *, signs: bool = True, rest: bool = False) -> Binary:
    """Division that rounds "down", "up" or towards "zero", with or without `signs`; or what is left over."""

    def run(a: Any, b: Any, bits: int) -> Number:
        a, b = (a, b) if signs else (unsigned(a, bits), unsigned(b, bits))
        ints = isinstance(a, int) and isinstance(b, int)
        if ints and not b:
            return 0
        if not ints:  # one may be an int, and the other uint64
            kind = np.asarray(b if isinstance(a, int) else a).dtype
            a, b = np.asarray(a, kind), np.asarray(b, kind)
        by = b if ints else np.where(b == 0, np.ones_like(b), b)
        down = a // by
        inexact = down * by != a
        more = {"down": False, "up": inexact, "zero": inexact & ((a < 0) != (by < 0))}[towards]
        found = a - (down + more) * by if rest else down + more
        return wrap(_signed(found if ints else np.where(b == 0, np.zeros_like(found), found)), bits)

    return run


def _least(a: Any, b: Any, _bits: int) -> Number:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else np.minimum(a, b)


def _most(a: Any, b: Any, _bits: int) -> Number:
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else np.maximum(a, b)


def _minu(a: Any, b: Any, bits: int) -> Number:
    found: Number = select(compare(6, a, b, bits), a, b)
    return found


def _maxu(a: Any, b: Any, bits: int) -> Number:
    found: Number = select(compare(8, a, b, bits), a, b)
    return found


def high_signed(a: Any, b: Any, bits: int) -> Number:
    """The upper half of the product of two signed numbers of at most 32 bits, or of two ints."""
    if bits > 32 and not (isinstance(a, int) and isinstance(b, int)):
        return wrap(_wide(a, b, bits, signed=True), bits)
    return wrap((a * b) >> bits, bits)


def high_unsigned(a: Any, b: Any, bits: int) -> Number:
    """The same of unsigned ones."""
    a, b = unsigned(a, bits), unsigned(b, bits)
    if isinstance(a, int) and isinstance(b, int):
        return wrap((a * b) >> bits, bits)
    if bits > 32:
        return wrap(_wide(a, b, bits, signed=False), bits)
    product = np.asarray(a).astype(np.uint64) * np.asarray(b).astype(np.uint64)
    return wrap((product >> np.uint64(bits)).view(np.int64), bits)


_COMPARE: tuple[Callable[[Any, Any], Any], ...] = (
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
)


def compare(predicate: int, a: Any, b: Any, bits: int) -> Number:
    """`arith.cmpi`: eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge."""
    if predicate >= 6:
        a, b, predicate = unsigned(a, bits), unsigned(b, bits), predicate - 4
        if bits >= 64 and not (isinstance(a, int) and isinstance(b, int)):
            a, b = np.asarray(a, np.uint64), np.asarray(b, np.uint64)
    found = _COMPARE[predicate](a, b)
    return int(found) if isinstance(found, (bool, np.bool_)) else found.astype(np.int64)


BINARY: dict[str, Binary] = {
    **dict.fromkeys(("arith.addi", "llvm.add", "index.add"), lambda a, b, bits: wrap(a + b, bits)),
    **dict.fromkeys(("arith.subi", "llvm.sub", "index.sub"), lambda a, b, bits: wrap(a - b, bits)),
    **dict.fromkeys(("arith.muli", "llvm.mul", "index.mul"), lambda a, b, bits: wrap(a * b, bits)),
    **dict.fromkeys(("arith.andi", "llvm.and", "index.and"), lambda a, b, _: a & b),
    **dict.fromkeys(("arith.ori", "llvm.or", "index.or"), lambda a, b, _: a | b),
    **dict.fromkeys(("arith.xori", "llvm.xor", "index.xor"), lambda a, b, _: a ^ b),
    **dict.fromkeys(("arith.shli", "llvm.shl", "index.shl"), _shl),
    **dict.fromkeys(("arith.shrui", "llvm.lshr", "index.shru"), _shru),
    **dict.fromkeys(("arith.shrsi", "llvm.ashr", "index.shrs"), _shrs),
    **dict.fromkeys(("arith.divsi", "llvm.sdiv", "index.divs"), _divided("zero")),
    **dict.fromkeys(("arith.divui", "llvm.udiv", "index.divu"), _divided("down", signs=False)),
    **dict.fromkeys(("arith.remsi", "llvm.srem", "index.rems"), _divided("zero", rest=True)),
    **dict.fromkeys(("arith.remui", "llvm.urem", "index.remu"), _divided("down", signs=False, rest=True)),
    **dict.fromkeys(("arith.floordivsi", "index.floordivs"), _divided("down")),
    **dict.fromkeys(("arith.ceildivsi", "index.ceildivs"), _divided("up")),
    **dict.fromkeys(("arith.ceildivui", "index.ceildivu"), _divided("up", signs=False)),
    **dict.fromkeys(("arith.minsi", "llvm.intr.smin", "index.mins"), _least),
    **dict.fromkeys(("arith.maxsi", "llvm.intr.smax", "index.maxs"), _most),
    **dict.fromkeys(("arith.minui", "llvm.intr.umin", "index.minu"), _minu),
    **dict.fromkeys(("arith.maxui", "llvm.intr.umax", "index.maxu"), _maxu),
}


def _like(whole: Any, b: Any) -> Any:
    """A shift count in the type of what it shifts."""
    return np.asarray(b).astype(whole.dtype) if isinstance(whole, np.ndarray) else b


def _signed(value: Any) -> Number:
    if isinstance(value, int):
        return wrap(value, 64)
    found: IntArray = value.view(np.int64) if value.dtype == np.uint64 else value
    return found


def _wide(a: Any, b: Any, bits: int, signed: bool) -> Any:
    pairs = np.broadcast_arrays(np.asarray(a), np.asarray(b))
    values = [wrap((int(x) * int(y)) >> bits, 64) for x, y in zip(pairs[0].flat, pairs[1].flat, strict=True)]
    return np.array(values, np.int64).reshape(pairs[0].shape)
