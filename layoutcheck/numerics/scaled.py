"""Block-scaled instructions: MXFP8, MXFP6, MXFP4 and NVFP4, where each run of k has a scale.

Unmeasured: the arithmetic is that of the literature (MMA-Sim, arXiv 2511.10909, and mmasim 2.1.1). With k =
32 each product takes both scales with it, exactly, and the block FMA goes on as usual: 25 bits below the
largest exponent, one cut to f32. With k = 64 (`mxf4`, `mxf4nvf4`) the products of 16 k are added exactly
first; the four sums, times their scales, and c are cut 35 bits below the largest exponent of a scale
product or c.

Bounds are those of `bounds`, with these terms. k = 32: a scaled element counts as its raised size times
its raised scale. k = 64: the terms are the four sums of 16. Such a sum is a multiple of 2^-8 of its anchor,
so the term that sets the anchor is not cut, and at most four of the five are; but the anchor is that of the
scales alone, so `top` is the largest product of two raised scales, not the largest term.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from layoutcheck.errors import InputError
from layoutcheck.numerics import bounds
from layoutcheck.numerics.block import Operand, block_fma
from layoutcheck.numerics.block_unit import AnyUnit
from layoutcheck.numerics.evidence import LITERATURE
from layoutcheck.numerics.formats import FORMATS, ZERO_EXPONENT, Floats, Raw, exponents
from layoutcheck.numerics.names import Instruction, instruction
from layoutcheck.numerics.parameters import block_fma as block_rule
from layoutcheck.numerics.parameters import family, known

_GROUP = 16  # products that a packed kind adds exactly
SHAPES = {100: ("tcgen05", (128,)), 120: ("mma", (16,))}


@dataclass(frozen=True, slots=True)
class ScaledUnit(AnyUnit):
    """A block-scaled instruction on an architecture."""

    @property
    def scales(self) -> int:
        """Scales of a row: one for each `scale_block` of k."""
        return self.k // self.instruction.scale_block

    def describe(self) -> dict[str, Any]:
        """The parameters, their status and source."""
        names = ("block", "fraction_bits", "rounding", "anchor_floor")
        return self._described(names, (LITERATURE, "MS (mmasim 2.1.1)"))

    def fma(self, a: ArrayLike, b: ArrayLike, c: ArrayLike, scale_a: ArrayLike, scale_b: ArrayLike) -> Raw:
        """d = sum of scale_a a scale_b b, + c, for raw encodings.

        a and b (V, k), c (V,), scale_a and scale_b (V, `scales`). InputError where a shape does not fit.
        """
        left, right = self._inputs(a, b)
        addend = FORMATS["f32"].decode(FORMATS["f32"].check(c, "c"))
        one, other = (decode_scale(x, self.instruction.scales) for x in (scale_a, scale_b))
        for what, array, width in (("a", left, self.k), ("b", right, self.k), ("scale_a", one, self.scales),
                                   ("scale_b", other, self.scales)):  # fmt: skip
            if array.shape != (len(addend), width):
                raise InputError(f"{what} has shape {array.shape}", expected=f"({len(addend)}, {width})")
        terms = self._packed if self.instruction.scaling != "mxf8f6f4" else self._single
        result = block_fma(*terms(left, right, one, other), addend, self.rule)
        broken = np.isnan(one).any(1) | np.isnan(other).any(1)
        return FORMATS["f32"].encode(np.where(broken, np.nan, result))

    def allowed(self, a: Floats, b: Floats, scale_a: Floats, scale_b: Floats) -> tuple[Floats, Floats]:
        """The exact A B with its scales, and how far a chain of this instruction, in any order, may be off.

        Values a (M, K), b (K, N), scale_a (M, K / block), scale_b (K / block, N); both results (M, N); or
        stacks of these. The proof is at the top. InputError for shapes that do not fit.
        """
        size, k = self.instruction.scale_block, a.shape[-1]
        shapes = (a.shape, b.shape, scale_a.shape, scale_b.shape)
        fit = a.ndim == b.ndim >= 2 and k > 0 and k % size == 0 and b.shape[:-1] == (*a.shape[:-2], k)
        if not fit or shapes[2:] != ((*a.shape[:-1], k // size), (*b.shape[:-2], k // size, b.shape[-1])):
            raise InputError(f"shapes {shapes}", expected=f"(M, K), (K, N) and a scale for each {size} k")
        left, right = a * np.repeat(scale_a, size, -1), b * np.repeat(scale_b, size, -2)
        exact, packed = left @ right, self.instruction.scaling != "mxf8f6f4"
        least = 2.0**-6 if self.instruction.scales == "ue4m3" else 0.0  # no ue8m0 is subnormal
        one, other = bounds.raised(scale_a, least), bounds.raised(scale_b, least)
        if packed:
            summed = np.abs(left) @ np.abs(right)
            top = one.max(-1)[..., :, None] * other.max(-2)[..., None, :]
        else:
            tall = bounds.raised(a, bounds.low(self.instruction.a)) * np.repeat(one, size, -1)
            wide = bounds.raised(b, bounds.low(self.instruction.b)) * np.repeat(other, size, -2)
            summed, top = tall @ wide, tall.max(-1)[..., :, None] * wide.max(-2)[..., None, :]
        each = 1.0 if packed else bounds.remainder(self.instruction.a, self.instruction.b)
        rate = bounds.block_rates(self.rule, 1 + (self.rule.block - 1) * each, self.k)
        found = bounds.any_order(rate, k, bounds.Sums(np.abs(exact), summed, top))
        return exact, found + bounds.evaluation(k, summed)

    def _single(self, a: Floats, b: Floats, one: Floats, other: Floats) -> tuple[Operand, Operand]:
        """Each product with its scales."""
        return (
            _scaled(Operand.of(a.T, self.instruction.a), one, self.instruction),
            _scaled(Operand.of(b.T, self.instruction.b), other, self.instruction),
        )

    def _packed(self, a: Floats, b: Floats, one: Floats, other: Floats) -> tuple[Operand, Operand]:
        """Sums of 16 products as terms, whose exponent is their scales'."""
        products = (a * b).reshape(len(a), -1, _GROUP)
        each = self.instruction.scale_block // _GROUP
        one, other = (np.repeat(np.nan_to_num(x), each, 1) for x in (one, other))
        kind = self.instruction.scales
        exponent = _scale_exponents(one, kind) + _scale_exponents(other, kind)
        absent = (products == 0).all(2) | (one == 0) | (other == 0)
        exponent = np.where(absent, ZERO_EXPONENT, exponent).astype(np.int16)
        terms = products.sum(2) * one * other
        units = np.ones_like(terms)
        return Operand(terms.T, exponent.T, None), Operand(units.T, np.zeros_like(exponent.T), None)


def _scaled(operand: Operand, scale: Floats, named: Instruction) -> Operand:
    factor = np.repeat(np.nan_to_num(scale), named.scale_block, 1).T
    exponent = operand.exponents + _scale_exponents(factor, named.scales)
    exponent = np.where(operand.exponents == ZERO_EXPONENT, ZERO_EXPONENT, exponent).astype(np.int16)
    specials = None if operand.specials is None else operand.specials * factor
    return Operand(operand.values * factor, exponent, specials)


def _scale_exponents(scale: Floats, kind: str) -> np.ndarray:
    """The scales' exponents: a subnormal ue4m3 has the smallest normal one; ue8m0 are powers of two."""
    if kind == "ue4m3":
        return exponents(scale, FORMATS["f8E4M3FN"]).astype(np.int32)
    return np.frexp(scale)[1] - 1


def decode_scale(raw: ArrayLike, kind: str) -> Floats:
    """Values of "ue8m0" (2^(code - 127), 255 is NaN) or "ue4m3" (e4m3 without its sign) encodings."""
    code = FORMATS["f8E4M3FN"].check(raw, "scale").astype(np.int64)
    if kind == "ue4m3":
        return FORMATS["f8E4M3FN"].decode((code & 0x7F).astype(np.uint8))
    return np.where(code == 255, np.nan, np.ldexp(1.0, np.minimum(code, 254) - 127))


def scaled_unit(name: str, arch: str = "sm_100") -> ScaledUnit:
    """The block-scaled instruction of that name: tcgen05.m128n64k32.mxf8f6f4.block32.f32.e4m3.ue8m0, say.

    InputError for a name that is none and for architectures and shapes without it.
    """
    named = instruction(name)
    if named.scaling is None:
        raise InputError(f"{named.name} has no scales", expected="layoutcheck.numerics.unit")
    number = family(arch)
    row = known(arch, named.kind, "scaled" if named.scaling == "mxf8f6f4" else "packed")
    kind, rows = SHAPES[number]
    columns = named.n == 8 if kind == "mma" else 8 <= named.n <= 256 and named.n % 8 == 0
    if named.kind != kind or named.m not in rows or not columns or named.accumulator.name != "f32":
        raise InputError(f"{arch} has no {named.name}", expected=f"{kind} with m in {rows}, f32 results")
    k = named.k if named.scaling == "mxf8f6f4" else named.k // _GROUP
    return ScaledUnit(named, arch, block_rule(row, named.accumulator, k, number))
