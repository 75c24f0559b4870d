"""Floating-point formats as raw encodings: decode to exact values, round exact values, encode.

Every value of every format here is a float64, and so is every sum a tensor core forms before it rounds:
float64 is the exact carrier throughout, and the only roundings are those written out in `round_to`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype

Floats = NDArray[np.float64]
Raw = NDArray[Any]

ZERO_EXPONENT = -8000  # exponent given to a zero: twice it still fits int16, and it never wins a maximum


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: `bits` of container, `fraction_bits` stored, exponent range of its normal numbers.

    `container_shift` low bits of the container are ignored (tf32: 13). `infinities` is False for e4m3,
    whose only special is NaN (all ones) and whose top binade holds numbers; FP6 and FP4 have no special at
    all (`nans` is False) and saturate. Encodings of 6 and 4 bits are the low bits of a byte.
    """

    name: str
    bits: int
    exponent_bits: int
    fraction_bits: int
    infinities: bool = True
    container_shift: int = 0
    nans: bool = True

    def __str__(self) -> str:
        return self.name

    @property
    def precision(self) -> int:
        """Significand bits, the hidden one included."""
        return self.fraction_bits + 1

    @property
    def bias(self) -> int:
        """Exponent bias."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def min_exponent(self) -> int:
        """Exponent of the smallest normal number; subnormals share it, with a significand below 1."""
        return 1 - self.bias

    @property
    def max_exponent(self) -> int:
        """Exponent of the largest number."""
        return self.bias + (0 if self.infinities else 1)

    @property
    def largest(self) -> float:
        """The largest finite value."""
        all_ones = self.nans and not self.infinities  # the top binade's last number is NaN
        top = 2 - 2.0 ** (1 - self.fraction_bits) if all_ones else 2 - 2.0**-self.fraction_bits
        return float(top * 2.0**self.max_exponent)

    @property
    def smallest(self) -> float:
        """The smallest positive value, a subnormal."""
        return float(2.0 ** (self.min_exponent - self.fraction_bits))

    @property
    def unit_roundoff(self) -> float:
        """Largest relative error of one rounding to nearest: 2^-precision."""
        return float(2.0**-self.precision)

    @property
    def raw_dtype(self) -> np.dtype[Any]:
        """The unsigned integer type of the encodings."""
        return np.dtype(f"u{-(-self.bits // 8)}")

    @property
    def nan(self) -> int:
        """The NaN that tensor cores return: every bit but the sign set."""
        return (1 << (self.bits - 1)) - 1

    def check(self, raw: ArrayLike, what: str) -> Raw:
        """`raw` as an array of this format's encodings; InputError where it is not one."""
        array = _array(raw, None, what)
        if array.dtype.kind == "i" and array.size and array.min() >= 0:
            array = array.astype(np.uint64)
        if array.dtype.kind != "u" and array.size:
            raise InputError(
                f"{what}: raw {self} encodings are unsigned integers, not {array.dtype}",
                expected=f"an array of {self.raw_dtype} (encode(values, '{self}') makes one)",
            )
        if array.size and array.dtype.itemsize * 8 > self.bits and int(array.max()) >> self.bits:
            raise InputError(f"{what}: {int(array.max()):#x} is not a {self.bits}-bit {self} encoding")
        return array.astype(self.raw_dtype, copy=False)

    def decode(self, raw: ArrayLike) -> Floats:
        """The values, exactly; NaN and infinities included. The sign of a zero is kept."""
        if self.bits == 64:
            return self.check(raw, "decode").view(np.float64)
        return _decoded_table(self)[self.check(raw, "decode")] if self.bits <= 16 else self._decode(raw)

    def _decode(self, raw: ArrayLike) -> Floats:
        code = self.check(raw, "decode").astype(np.int64)
        fraction = (code >> self.container_shift) & ((1 << self.fraction_bits) - 1)
        stored = (code >> (self.container_shift + self.fraction_bits)) & ((1 << self.exponent_bits) - 1)
        significand = fraction + np.where(stored > 0, 1 << self.fraction_bits, 0)
        value = np.ldexp(
            significand.astype(np.float64), np.maximum(stored, 1) - self.bias - self.fraction_bits
        )
        all_ones = stored == (1 << self.exponent_bits) - 1
        if self.infinities:
            value = np.where(all_ones, np.where(fraction == 0, np.inf, np.nan), value)
        elif self.nans:
            value = np.where(all_ones & (fraction == (1 << self.fraction_bits) - 1), np.nan, value)
        return np.where(code >> (self.bits - 1) == 1, -value, value)

    def encode(self, values: ArrayLike, rounding: str = "RNE") -> Raw:
        """The encodings of `values` rounded to this format ("RNE" or "RZ"); NaN becomes `self.nan`.

        RNE overflows to infinity (e4m3: to NaN), RZ to infinity too, as tensor cores do (facts: MMA-Sim).
        """
        value = round_to(_array(values, np.float64, "encode"), self, rounding)
        if self.bits == 64:
            return np.where(np.isnan(value), np.uint64(self.nan), np.asarray(value).view(np.uint64))
        if not self.nans:
            value = np.where(np.isnan(value), self.largest, value)
        special = ~np.isfinite(value)
        magnitude = np.abs(np.where(special, 0.0, value))
        exponent = np.maximum(np.frexp(magnitude)[1] - 1, self.min_exponent)
        significand = np.ldexp(magnitude, self.fraction_bits - exponent).astype(np.int64)
        stored = np.where(significand >> self.fraction_bits, exponent + self.bias, 0).astype(np.int64)
        code = (stored << self.fraction_bits) + (significand & ((1 << self.fraction_bits) - 1))
        code <<= self.container_shift
        if special.any():
            infinity = ((1 << self.exponent_bits) - 1) << (self.fraction_bits + self.container_shift)
            code = np.where(np.isinf(value), infinity if self.infinities else self.nan, code)
            code = np.where(np.isnan(value), self.nan, code)
        sign = np.signbit(value) & ~np.isnan(value)
        return (code + (sign.astype(np.int64) << (self.bits - 1))).astype(self.raw_dtype)


@dataclass(frozen=True, slots=True)
class IntegerFormat(Format):
    """Integers of that many bits, two's complement where `signed`: a format with one step, 1.

    Real numbers are rounded to nearest even and clamped, as `cvt.rni.sat` does.
    """

    signed: bool = True

    @staticmethod
    def of(name: str) -> IntegerFormat:
        """The type s8, u4, ..."""
        bits, signed = int(name[1:]), name[0] == "s"
        return IntegerFormat(name, bits, 0, bits - signed - 1, infinities=False, nans=False, signed=signed)

    @property
    def min_exponent(self) -> int:
        """The exponent of the largest: all others have its step."""
        return self.fraction_bits

    @property
    def max_exponent(self) -> int:
        """The exponent of the largest."""
        return self.fraction_bits

    @property
    def largest(self) -> float:
        """The largest integer."""
        return 2.0**self.precision - 1

    @property
    def least(self) -> float:
        """The smallest integer."""
        return -(2.0**self.precision) if self.signed else 0.0

    def decode(self, raw: ArrayLike) -> Floats:
        """The integers, as float64."""
        code = self.check(raw, "decode").astype(np.int64)
        signed: Floats = np.where(self.signed & (code >> (self.bits - 1) == 1), code - (1 << self.bits), code)
        return signed.astype(np.float64)

    def encode(self, values: ArrayLike, rounding: str = "RNE") -> Raw:
        """The encodings of `values` rounded and clamped; NaN becomes 0."""
        value = np.nan_to_num(round_to(_array(values, np.float64, "encode"), self, rounding), nan=0.0)
        return (value.astype(np.int64) & ((1 << self.bits) - 1)).astype(self.raw_dtype)


def _array(values: ArrayLike, kind: Any, what: str) -> NDArray[Any]:
    try:
        return np.asarray(values, kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what}: {error}", expected="an array of numbers") from None


@cache
def _decoded_table(fmt: Format) -> Floats:
    table = fmt._decode(np.arange(1 << fmt.bits, dtype=fmt.raw_dtype))
    table.setflags(write=False)
    return table


FORMATS = {
    "f32": Format("f32", 32, 8, 23),
    "tf32": Format("tf32", 32, 8, 10, container_shift=13),
    "bf16": Format("bf16", 16, 8, 7),
    "f16": Format("f16", 16, 5, 10),
    "f8E5M2": Format("f8E5M2", 8, 5, 2),
    "f8E4M3FN": Format("f8E4M3FN", 8, 4, 3, infinities=False),
    "f6E3M2FN": Format("f6E3M2FN", 6, 3, 2, infinities=False, nans=False),
    "f6E2M3FN": Format("f6E2M3FN", 6, 2, 3, infinities=False, nans=False),
    "f4E2M1FN": Format("f4E2M1FN", 4, 2, 1, infinities=False, nans=False),
    "f64": Format("f64", 64, 11, 52),
    **{name: IntegerFormat.of(name) for name in ("s8", "u8", "s4", "u4", "s32")},
}
_INTEGER = re.compile(r"(?:(u|ui|uint)|s|si|i|int)(4|8|32)\Z", re.IGNORECASE)


def fmt(name: str | Format) -> Format:
    """The format of that name, in any spelling of `layoutcheck.machine.dtypes`; InputError otherwise."""
    if isinstance(name, Format):
        return name
    integer = _INTEGER.match(name.strip().removeprefix("cutlass.")) if isinstance(name, str) else None
    canonical = f"{'u' if integer[1] else 's'}{integer[2]}" if integer else dtype(name).name
    if canonical not in FORMATS:
        raise InputError(
            f"no arithmetic is modelled for {canonical}", expected=f"one of {', '.join(FORMATS)}"
        )
    return FORMATS[canonical]


def holds(target: Format, value: Format) -> bool:
    """Whether every number of the format `value` is one of `target`."""
    return (
        target.precision >= value.precision
        and target.largest >= value.largest
        and target.smallest <= value.smallest
        and (
            not isinstance(target, IntegerFormat)
            or (isinstance(value, IntegerFormat) and target.least <= value.least)
        )
    )


def exponents(values: Floats, format_: Format) -> NDArray[np.int16]:
    """Exponents as the hardware sees them: subnormals have the format's minimum, zeros ZERO_EXPONENT.

    Values that are not finite count as zeros (the caller treats them apart). No format that a unit aligns
    reaches float64's subnormals, so float64's own exponent field says it all.
    """
    field = np.ascontiguousarray(values).view(np.int64) >> 52 & 0x7FF
    exponent = np.maximum(field - 1023, format_.min_exponent)
    return np.where((field == 0) | (field == 0x7FF), ZERO_EXPONENT, exponent).astype(np.int16)


def power_of_two(exponent: NDArray[Any]) -> Floats:
    """2^exponent for integers in float64's normal range, by writing the exponent field."""
    return ((exponent.astype(np.int64) + 1023) << 52).view(np.float64)


def round_to(values: Floats, format_: Format, rounding: str = "RNE", precision: int | None = None) -> Floats:
    """`values` rounded to `format_` (or to fewer significand bits, `precision`), as float64.

    "RNE" rounds to nearest, ties to even; "RZ" cuts. A result above the largest finite value is an infinity
    either way (NaN for e4m3 under RNE; FP6 and FP4 saturate, and have no NaN: it becomes the largest
    value). Subnormals are rounded at the format's smallest step.
    """
    if rounding not in ("RNE", "RZ"):
        raise InputError(f"unknown rounding '{rounding}'", expected="RNE or RZ")
    if format_.bits == 64:
        return values
    if isinstance(format_, IntegerFormat):
        whole = np.rint(values) if rounding == "RNE" else np.trunc(values)
        return np.clip(whole, format_.least, format_.largest)
    bits = format_.precision if precision is None else precision
    result: Floats
    exponent = np.maximum(np.frexp(values)[1] - 1, format_.min_exponent)
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.ldexp(values, bits - 1 - exponent)
        result = np.ldexp(np.rint(steps) if rounding == "RNE" else np.trunc(steps), exponent - bits + 1)
    over = np.abs(result) > format_.largest
    if over.any():
        most = np.inf if format_.infinities else np.nan if format_.nans else format_.largest
        result = np.where(over, np.copysign(most, result), result)
    return result


def ulp(values: ArrayLike, format_: Format | str) -> Floats:
    """The step of `format_` at each value: the gap to the next larger magnitude."""
    format_ = fmt(format_)
    magnitude = np.abs(np.asarray(values, np.float64))
    exponent = np.clip(np.frexp(magnitude)[1] - 1, format_.min_exponent, format_.max_exponent)
    return np.ldexp(1.0, exponent - format_.fraction_bits)
