"""What is known of each tensor core's arithmetic: block length, kept bits, roundings, each with its source.

Sources: measured on an H200 for this table (docs/evidence/numerics.json); hardware outputs published by
Khattak & Mikaitis (KM: arXiv 2512.07004, BSD-2 data), reproduced bit for bit by this model
(docs/evidence/numerics_published.json); literature: Fasi, Higham, Mikaitis & Pranesh 2021 (FHMP), MMA-Sim
(MS: arXiv 2511.10909).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from layoutcheck.errors import InputError
from layoutcheck.numerics.formats import FORMATS, Format

MEASURED_HERE, MEASURED_ELSEWHERE, LITERATURE = "measured here", "measured by others", "literature"

# No alignment exponent is ever below the accumulator's smallest normal exponent minus 7: -133 for f32, -21
# for f16. Found on the H200, where -134, -132, -22 and -20 all miss vectors; assumed for the others.
FLOOR_BELOW_NORMAL = 7


@dataclass(frozen=True, slots=True)
class BlockFma:
    """One block FMA: d = round(c + sum of `block` products), with one alignment and one rounding.

    Products are exact and not normalised (significand in [1, 4)); every term, c included, is cut towards
    zero at `fraction_bits` below the largest exponent, which is never taken below `anchor_floor`; the cut
    terms are added exactly, and the sum is rounded once, by `rounding`, to `precision` bits of `accumulator`.
    `normalise_products` and `align` other than "RZ" describe units that do not exist; tests use them as
    negative controls.
    """

    accumulator: Format
    block: int
    fraction_bits: int
    rounding: str
    precision: int
    anchor_floor: int
    normalise_products: bool = False
    align: str = "RZ"


@dataclass(frozen=True, slots=True)
class Known:
    """Parameters with where they come from."""

    block: int
    fraction_bits: int
    status: str
    source: str
    precision: int | None = None  # significand bits of an f32 result, where fewer than 24


# (architecture family, instruction kind, input class) -> what is known. f16 stands for bf16 too.
_H200 = "H200, 2026-11"
TABLE: dict[tuple[int, str, str], Known] = {
    (70, "mma", "f16"): Known(4, 23, MEASURED_ELSEWHERE, "V100: FHMP, MS, KM data"),
    (75, "mma", "f16"): Known(8, 24, LITERATURE, "T4: FHMP, MS"),
    (80, "mma", "f16"): Known(8, 24, MEASURED_ELSEWHERE, "A100, A2: KM data"),
    (80, "mma", "tf32"): Known(4, 24, MEASURED_ELSEWHERE, "A100, A2: KM data"),
    (89, "mma", "f16"): Known(8, 24, MEASURED_ELSEWHERE, "RTX Ada 1000, L40S: KM data"),
    (89, "mma", "tf32"): Known(4, 24, MEASURED_ELSEWHERE, "RTX Ada 1000, L40S: KM data"),
    (89, "mma", "fp8"): Known(16, 13, MEASURED_ELSEWHERE, "RTX Ada 1000, L40S: KM data", precision=14),
    (90, "mma", "f16"): Known(16, 25, MEASURED_HERE, _H200),
    (90, "mma", "tf32"): Known(8, 25, MEASURED_HERE, _H200),
    (90, "mma", "fp8"): Known(16, 25, MEASURED_HERE, f"{_H200}; SASS: two HMMA from zero, then an add"),
    (90, "wgmma", "f16"): Known(16, 25, MEASURED_HERE, _H200),
    (90, "wgmma", "tf32"): Known(8, 25, LITERATURE, "MS"),
    (90, "wgmma", "fp8"): Known(32, 13, MEASURED_HERE, _H200, precision=14),
    (100, "mma", "f16"): Known(16, 25, MEASURED_ELSEWHERE, "B200: KM data"),
    (100, "mma", "tf32"): Known(8, 25, MEASURED_ELSEWHERE, "B200: KM data"),
    (100, "mma", "fp8"): Known(16, 25, MEASURED_ELSEWHERE, "B200: KM data; two HMMA from zero, then an add"),
    (100, "tcgen05", "f16"): Known(16, 25, LITERATURE, "MS, KM"),
    (100, "tcgen05", "tf32"): Known(8, 25, LITERATURE, "MS, KM"),
    (100, "tcgen05", "fp8"): Known(32, 25, LITERATURE, "MS, KM"),
}

_FAMILY = {70: 70, 72: 70, 75: 75, 80: 80, 86: 80, 87: 80, 89: 89, 90: 90, 100: 100, 103: 100}


def family(arch: str) -> int:
    """The architecture of the table that `arch` ("sm_90a", "sm86", "90") computes like, or InputError."""
    text = arch.strip().lower() if isinstance(arch, str) else ""
    digits = text.removeprefix("sm").removeprefix("_").rstrip("af")
    if not re.fullmatch(r"[0-9]{1,4}", digits) or int(digits) not in _FAMILY:
        known = ", ".join(f"sm_{number}" for number in _FAMILY)
        raise InputError(f"no tensor core is modelled for '{str(arch)[:40]}'", expected=f"one of {known}")
    return _FAMILY[int(digits)]


def input_class(format_: Format) -> str:
    """The row of TABLE that inputs of this format share."""
    return "f16" if format_.name in ("f16", "bf16") else "tf32" if format_.name == "tf32" else "fp8"


def known(arch: str, kind: str, inputs: Format) -> Known:
    """The row for this instruction; InputError where nothing is known, naming what is."""
    number = family(arch)
    row = TABLE.get((number, kind, input_class(inputs)))
    if row is None:
        there = sorted({f"{k} {c}" for a, k, c in TABLE if a == number})
        raise InputError(
            f"sm_{number} has no modelled {kind} for {inputs}", expected=f"one of: {', '.join(there)}"
        )
    return row


def block_fma(row: Known, accumulator: Format, k: int) -> BlockFma:
    """The block FMA of an instruction of depth `k`: the block is never longer than the instruction."""
    f32 = accumulator is FORMATS["f32"]
    return BlockFma(
        accumulator=accumulator,
        block=min(row.block, k),
        fraction_bits=row.fraction_bits,
        rounding="RZ" if f32 else "RNE",
        precision=(row.precision or accumulator.precision) if f32 else accumulator.precision,
        anchor_floor=accumulator.min_exponent - FLOOR_BELOW_NORMAL,
    )
