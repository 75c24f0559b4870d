"""What each tensor core's arithmetic is, and which shapes an architecture has.

Who measured which of these numbers is in `evidence`. Sources: an H200, measured for this table
(docs/evidence/numerics.json); hardware outputs published by Khattak & Mikaitis (KM: arXiv 2512.07004, BSD-2
data), reproduced bit for bit by this model (docs/evidence/numerics_published.json); Fasi, Higham, Mikaitis
& Pranesh 2021 (FHMP); MMA-Sim (MS: arXiv 2511.10909, mmasim 2.1.1 on PyPI). Shapes: the PTX ISA 9.0.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.algebra.inttuple import must_be
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import parse_arch
from layoutcheck.numerics.formats import FORMATS, Format


@dataclass(frozen=True, slots=True)
class BlockFma:
    """One block FMA: d = round(c + sum of `block` products), with one alignment and one rounding.

    Products are exact and not normalised (significand in [1, 4)); every term, c included, is cut towards
    zero at `fraction_bits` below the largest exponent, which is never taken below `anchor_floor`; the cut
    terms are added exactly, and the sum is rounded once, by `rounding`, to `precision` bits of
    `accumulator`. `addend` is the format of c where it is another than the accumulator's: its subnormals have
    its smallest exponent. `normalise_products` and `align` other than "RZ" describe units that do not exist;
    tests use them as negative controls.
    """

    accumulator: Format
    block: int
    fraction_bits: int
    rounding: str
    precision: int
    anchor_floor: int
    addend: Format | None = None
    normalise_products: bool = False
    align: str = "RZ"


@dataclass(frozen=True, slots=True)
class Known:
    """A block's length and kept bits; the significand bits of an f32 result where they are not 24."""

    block: int
    fraction_bits: int
    precision: int | None = None


# (architecture family, instruction kind, input class). "f16" stands for bf16 too, "fp8" for all formats of 8
# bits and fewer; "scaled" is a block-scaled kind with k = 32, "packed" one with k = 64, which adds groups of
# 16 products exactly first.
TABLE: dict[tuple[int, str, str], Known] = {
    (70, "mma", "f16"): Known(4, 23),
    (75, "mma", "f16"): Known(8, 24),
    (80, "mma", "f16"): Known(8, 24),
    (80, "mma", "tf32"): Known(4, 24),
    (89, "mma", "f16"): Known(8, 24),
    (89, "mma", "tf32"): Known(4, 24),
    (89, "mma", "fp8"): Known(16, 13, precision=14),
    (90, "mma", "f16"): Known(16, 25),
    (90, "mma", "tf32"): Known(8, 25),
    (90, "mma", "fp8"): Known(16, 25),
    (90, "wgmma", "f16"): Known(16, 25),
    (90, "wgmma", "tf32"): Known(8, 25),
    (90, "wgmma", "fp8"): Known(32, 13, precision=14),
    (100, "mma", "f16"): Known(16, 25),
    (100, "mma", "tf32"): Known(8, 25),
    (100, "mma", "fp8"): Known(16, 25),
    (100, "tcgen05", "f16"): Known(16, 25),
    (100, "tcgen05", "tf32"): Known(8, 25),
    (100, "tcgen05", "fp8"): Known(32, 25),
    (100, "tcgen05", "scaled"): Known(32, 25),
    (100, "tcgen05", "packed"): Known(4, 35),
    (120, "mma", "f16"): Known(16, 25),
    (120, "mma", "tf32"): Known(8, 25),
    (120, "mma", "fp8"): Known(32, 25),
    (120, "mma", "scaled"): Known(32, 25),
    (120, "mma", "packed"): Known(4, 35),
}

# The alignment exponent is never below the accumulator's smallest normal exponent less this many.
FLOOR_BELOW_NORMAL = {70: 5, 75: 6, 80: 6, 89: 6, 90: 7, 100: 7, 120: 7}
_PACKED_FLOOR_BELOW = 13  # mmasim: -139 under f32

_MODELLED = (70, 72, 75, 80, 86, 87, 89, 90, 100, 103, 120, 121)
_FAMILY = {number: max(one for one in FLOOR_BELOW_NORMAL if one <= number) for number in _MODELLED}
NARROW = ("f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN")
_FP8 = NARROW[:2]


def architecture(arch: str) -> int:
    """The number of `arch` ("sm_90a", "sm86", "90"); InputError where no tensor core is modelled for it."""
    must_be(str, "text, such as sm_90a", arch=arch)
    number = parse_arch(arch).number
    if number not in _FAMILY:
        known = ", ".join(f"sm_{number}" for number in _FAMILY)
        raise InputError(f"no tensor core is modelled for '{arch[:40]}'", expected=f"one of {known}")
    return number


def family(arch: str) -> int:
    """The architecture of the table that `arch` computes like; InputError as `architecture`."""
    return _FAMILY[architecture(arch)]


def input_class(format_: Format) -> str:
    """The row of TABLE that inputs of this format share."""
    return "f16" if format_.name in ("f16", "bf16") else "tf32" if format_.name == "tf32" else "fp8"


def known(arch: str, kind: str, row: str) -> Known:
    """The row for this instruction; InputError where nothing is known, naming what is."""
    number = family(arch)
    found = TABLE.get((number, kind, row))
    if found is None:
        there = sorted({f"{k} {c}" for a, k, c in TABLE if a == number})
        raise InputError(
            f"sm_{number} has no modelled {kind} for {row}", expected=f"one of: {', '.join(there)}"
        )
    return found


def shapes(arch: str, kind: str, a: Format, accumulator: Format) -> tuple[tuple[int, int, int], ...]:
    """(m, n, k) that the architecture has for this kind and types; n = 0 stands for multiples of 8.

    FP8 through `mma.sync` came with sm_89, FP6 and FP4 with sm_100 (`tcgen05`) and sm_120 (`mma.sync`).
    """
    number, name, wide = family(arch), a.name, accumulator.name == "f32"
    if accumulator.name in ("f64", "s32"):
        return _plain_shapes(arch, kind, a)
    if kind == "wgmma":
        deep = name in ("f16", *_FP8) or (wide and name in ("bf16", "tf32"))
        return ((64, 0, 256 // (32 if name == "tf32" else a.bits)),) if number == 90 and deep else ()
    if kind == "tcgen05":
        deep = name in ("f16", *NARROW) or (wide and name in ("bf16", "tf32"))
        k = 32 if name in NARROW else 8 if name == "tf32" else 16
        return ((64, 0, k), (128, 0, k), (256, 0, k)) if number == 100 and deep else ()
    if name == "f16":
        if number == 70:
            return ((8, 8, 4),)
        volta = ((8, 8, 4),) if number == 75 else ()
        return ((16, 8, 8), *volta) if number == 75 else ((16, 8, 8), (16, 8, 16))
    if name == "bf16" and number >= 80 and wide:
        return ((16, 8, 8), (16, 8, 16))
    if name == "tf32" and number >= 80 and wide:
        return ((16, 8, 4), (16, 8, 8))
    if name in _FP8 and number >= 89:
        return ((16, 8, 16), (16, 8, 32))
    if name in NARROW and number == 120:
        return ((16, 8, 32),)
    return ()


def _plain_shapes(arch: str, kind: str, a: Format) -> tuple[tuple[int, int, int], ...]:
    """Of f64 and integer instructions: what ptxas 13.0 assembles for sm_75 to sm_121a."""
    number = family(arch)
    if kind == "wgmma" and number == 90 and a.bits == 8:
        return ((64, 0, 32),)
    if kind == "tcgen05" and architecture(arch) == 100 and a.bits == 8:
        return ((64, 0, 32), (128, 0, 32), (256, 0, 32))
    if kind != "mma" or number < (80 if a.bits == 64 else 75):
        return ()
    if a.bits == 64:
        return ((8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)) if number >= 90 else ((8, 8, 4),)
    k = 128 // a.bits
    return ((8, 8, k), (16, 8, k), (16, 8, 2 * k)) if number >= 80 else ((8, 8, k),)


def block_fma(row: Known, accumulator: Format, k: int, number: int) -> BlockFma:
    """The block FMA of an instruction of depth `k` on family `number`; no block is longer than that."""
    f32 = accumulator is FORMATS["f32"]
    below = _PACKED_FLOOR_BELOW if row.fraction_bits == 35 else FLOOR_BELOW_NORMAL[number]
    return BlockFma(
        accumulator=accumulator,
        block=min(row.block, k),
        fraction_bits=row.fraction_bits,
        rounding="RZ" if f32 else "RNE",
        precision=(row.precision or accumulator.precision) if f32 else accumulator.precision,
        anchor_floor=accumulator.min_exponent - below,
    )
