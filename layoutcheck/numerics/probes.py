"""Probes: dot products whose result depends on one property of the arithmetic, and what their answers mean.

`probes(unit)` adapts each to the unit's formats and leaves out what they cannot hold; `predict` says what the
model expects; `identify` turns answers, the hardware's or the model's, back into parameters.

The instrument of most of them is cancellation: +B, -B and a small s in one dot product. The big terms set the
alignment, so s survives exactly when its bit is kept; they cancel, so the result is s or 0 and no rounding of
the result gets in the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from layoutcheck.errors import InputError
from layoutcheck.numerics.battery import BATTERY, REPAIRED, Case
from layoutcheck.numerics.block import Operand
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.formats import Format, Raw
from layoutcheck.numerics.parameters import BlockFma

_DEEPEST = 30  # fraction bits up to which probes look for a cut
_UNKEPT = 26  # a bit that no known unit keeps
# Floors that have been proposed, counted below the smallest normal exponent; 40 is none at all.
_FLOORS = (0, 5, 6, 7, 40)


@dataclass(frozen=True, slots=True)
class Probe:
    """Encodings for one dot product, with what it separates; `printed` is a published answer."""

    name: str
    title: str
    a: Raw
    b: Raw
    c: int
    printed: int | None = None
    vacuous: str | None = None


def probes(unit: Unit, battery: bool = True) -> tuple[Probe, ...]:
    """The probes that fit `unit`: the published ones with `battery` (f16 inputs), then the separating."""
    if unit.accumulator_unit is not None:
        raise InputError(
            f"{unit.name} aligns nothing: there is no block to probe", expected="f16, tf32, fp8, ..."
        )
    published: list[Probe] = []
    if battery and unit.instruction.a.name == "f16":
        cases = [case for case in (*BATTERY, *REPAIRED) if case.accumulator == unit.rule.accumulator.name]
        published = [_from_case(unit, case) for case in cases]
    separating = (_probe(unit, *recipe) for recipe in _separating(unit))
    return (*published, *(probe for probe in separating if probe is not None))


def predict(unit: Unit, chosen: Sequence[Probe]) -> Raw:
    """The encodings `unit` returns for the probes."""
    a, b, c = stacked(unit, chosen)
    return unit.fma(a, b, c)


def stacked(unit: Unit, chosen: Sequence[Probe]) -> tuple[Raw, Raw, Raw]:
    """The probes as arrays a (probes, k), b (probes, k), c (probes,)."""
    if not chosen:
        raise InputError("no probes", expected="at least one")
    c = np.array([probe.c for probe in chosen], unit.rule.accumulator.raw_dtype)
    return np.stack([probe.a for probe in chosen]), np.stack([probe.b for probe in chosen]), c


def candidates(unit: Unit) -> Iterator[Unit]:
    """Every parameter set that `identify` considers: blocks, kept bits, roundings, widths of the result."""
    full = unit.rule.accumulator.precision
    precisions = (full, 14) if full == 24 else (full,)
    blocks = [block for block in (4, 8, 16, 32, 64) if unit.k % block == 0]
    chains = [replace(unit.with_rule(block=block), add_c_last=False) for block in blocks]
    if unit.add_c_last:
        chains.append(unit)
    for chain, bits, rounding, precision in product(chains, range(10, _DEEPEST), ("RZ", "RNE"), precisions):
        yield chain.with_rule(fraction_bits=bits, rounding=rounding, precision=precision)


def identify(unit: Unit, chosen: Sequence[Probe], answers: Raw) -> tuple[Unit, ...]:
    """The parameter sets, of `candidates` with each of three floors, that give exactly these answers."""
    wanted = unit.rule.accumulator.check(answers, "answers")
    if wanted.shape != (len(chosen),):
        raise InputError(f"{len(chosen)} probes have {len(chosen)} answers, not {wanted.shape}")
    a, b, c = stacked(unit, chosen)
    acc = unit.rule.accumulator
    left = Operand.of(unit.instruction.a.decode(a).T, unit.instruction.a)
    right = Operand.of(unit.instruction.b.decode(b).T, unit.instruction.b)
    addend, result = acc.decode(c), acc.decode(wanted)
    floor = np.array([probe.name.startswith("floor.") for probe in chosen])

    def agrees(candidate: Unit, at: NDArray[np.bool_]) -> bool:
        answers = candidate.step(left[:, at], right[:, at], addend[at])
        return np.array_equal(answers, result[at], equal_nan=True)

    first = ~floor & (np.arange(len(chosen)) % 8 == 0)  # most candidates fail the first few
    kept = [found for found in candidates(unit) if agrees(found, first) and agrees(found, ~floor)]
    lowest = acc.min_exponent
    floored = (found.with_rule(anchor_floor=lowest - below) for found in kept for below in _FLOORS)
    return tuple(found for found in floored if agrees(found, np.ones_like(floor)))


def conclusions(chosen: Sequence[Probe], answers: Raw, accumulator: Format) -> dict[str, str]:
    """What the published battery's answers say in words, for the cases that are among `chosen`."""
    got = dict(zip((probe.name for probe in chosen), accumulator.decode(answers).tolist(), strict=True))

    add5 = tuple(f"fix.add5.{i}" for i in range(5))
    smaller, larger = got.get("mono.1+", 0.0), got.get("mono.2+", 0.0)
    carry = [got.get(f"carry.{i}") for i in range(1, 5)]
    step = 2.0**-23
    told = (
        ("subnormals", ("sub.1",), got.get("sub.1") == 2.0**-22, "kept", "flushed to zero"),
        ("order of additions", add5, len({got.get(name, 0.0) for name in add5}) == 1,
         "none: every place of the largest term gives one result", "seen"),
        ("rounding of the sum", ("rnd.tie_odd", "rnd.tie_odd-"), got.get("rnd.tie_odd") == 1 + step,
         "towards zero (a tie on an odd last bit stays)", "to nearest"),
        ("normalisation", ("norm.add",), got.get("norm.add") == 1 + step,
         "once, at the end", "between additions too"),
        ("carry bits", ("carry.1", "carry.5"), carry == [4 + 2.0**-21] * 4 and got.get("carry.5") == 8,
         "at least three", "fewer than three"),
        ("monotone", ("mono.1+", "mono.2+"), larger >= smaller,
         "not refuted here", "no: a larger c gives a smaller sum (mono.1+, mono.2+)"),
        ("rounding to f16", ("rnd.f16",), got.get("rnd.f16") == 2.0**-24,
         "to nearest, by the instruction itself", "towards zero"),
    )  # fmt: skip
    return {key: one if yes else other for key, names, yes, one, other in told if got.keys() >= set(names)}


def summary(found: Sequence[Unit]) -> dict[str, list[str]]:
    """For each parameter the values that some surviving set has: one value means it is identified."""
    values: dict[str, list[str]] = {}
    for candidate in found:
        rule: BlockFma = candidate.rule
        for key, value in (
            ("chain", "halves from zero, c last" if candidate.add_c_last else "c first"),
            ("block", len(candidate.groups[0])),
            ("fraction_bits", rule.fraction_bits),
            ("rounding", rule.rounding),
            ("precision", rule.precision),
            ("anchor_floor", rule.anchor_floor),
        ):
            if str(value) not in values.setdefault(key, []):
                values[key].append(str(value))
    return values


def _from_case(unit: Unit, case: Case) -> Probe:
    pad = (0.0,) * (unit.k - 4)
    a, b = unit.instruction.a.encode((*case.a, *pad)), unit.instruction.b.encode((*case.b, *pad))
    c = int(unit.rule.accumulator.encode(case.c))
    printed = None if case.printed is None else int(case.printed.replace(" ", ""), 2)
    return Probe(case.name, case.title, a, b, c, printed, case.vacuous)


Terms = dict[int, float]  # k index -> product
_Recipe = tuple[str, str, Terms, float]


def _separating(unit: Unit) -> Iterator[_Recipe]:
    """Name, title, products and c of every probe; small bits count from the top of the big terms."""
    acc = unit.rule.accumulator
    top = 2.0 ** (14 if unit.instruction.a.bits == 8 else 4)  # a product far from every format's edges
    third = 4 if unit.add_c_last else 2  # an index in the same block as 0 and 1
    unkept = top * 2.0 ** -(_UNKEPT if unit.rule.fraction_bits > 20 else 18)
    for bit in range(10, _DEEPEST):
        small = top * 2.0**-bit
        yield f"kept.{bit}", f"bit {bit} below the largest term, c", {0: -top, 1: small}, top
        terms = {0: top, 1: -top, third: small}
        yield f"kept.{bit}p", f"bit {bit} below the largest term, a product", terms, 0.0
        terms = {0: 2.25 * top, 1: -2.25 * top, third: small}
        yield f"normalised.{bit}", f"products in [1, 4): bit {bit} below one of 2.25", terms, 0.0
    for position in range(2, unit.k):
        terms = {0: top, 1: -top, position: unkept}
        yield f"block.{position}", f"k = 0 and k = {position} in one block", terms, 0.0
    for precision in sorted({acc.precision, unit.rule.precision}):
        for sign, odd in product((1, -1), (0, 1)):
            yield from _ties(precision, sign, odd, sign * top)
    for bit in range(acc.precision, acc.precision + 20):
        # The sum is a tie of the format far below which one bit is set: rounded once, that bit decides.
        terms = {0: 2.0**-acc.precision, 1: 2.0**-bit, 2: 1.0}
        yield f"once.{bit}", f"a tie and a bit at 2^-{bit}: rounded once", terms, 0.0
    yield "c.last", "c joins the first block, or is added at the end", {0: -top, 1: top * 2.0**-25}, top
    yield from _near_zero(acc)
    power = _largest_power(unit)
    yield "overflow", "beyond the largest finite value", {0: power, 1: power}, acc.largest
    yield "negative zero", "a sum of zero", {0: 0.0}, -0.0


def _ties(precision: int, sign: int, odd: int, top: float) -> Iterator[_Recipe]:
    """Half a step of a `precision`-bit result, below an even or an odd last bit."""
    step = 2.0 ** (1 - precision)
    name = f"{precision}.{'odd' if odd else 'even'}{'-' if sign < 0 else ''}"
    title = f"half a step of a {precision}-bit result"
    yield f"tie.{name}", title, {0: sign * step / 2}, sign * (1 + odd * step)
    yield f"above.{name}", "a little more than half a step", {0: sign * step * 0.75}, sign * (1 + odd * step)
    # A sum of two equal terms has one bit more than the alignment cut: only the result's rounding is left.
    yield (
        f"carry.{name}",
        f"{title}, above the alignment",
        {0: top, 1: top, 2: (2 * odd + 1) * step * top},
        0.0,
    )


def _near_zero(acc: Format) -> Iterator[_Recipe]:
    """The floor of the alignment: a bit below the smallest step, visible where the result is rounded."""
    step = acc.smallest
    for below in range(1, 24):
        small = step * 2.0**-below
        if acc.bits == 32:
            yield f"floor.{below}", f"two steps less 2^-{below} of one", {0: 2 * step, 1: -small}, 0.0
        else:
            yield f"floor.{below}", f"half a step and 2^-{below} of one", {0: step / 2, 1: small}, 0.0
            yield f"floor.{below}-", f"1.5 steps less 2^-{below} of one", {0: 1.5 * step, 1: -small}, 0.0
            yield f"floor.{below}c", "the same with c of one step", {0: 0.5 * step, 1: small}, step


def _largest_power(unit: Unit) -> float:
    a, b = unit.instruction.a, unit.instruction.b
    return float(2.0 ** min(a.max_exponent + b.max_exponent, unit.rule.accumulator.max_exponent))


def _probe(unit: Unit, name: str, title: str, terms: Terms, c: float) -> Probe | None:
    """The probe in the unit's formats; None where one of them lacks a value it needs."""
    if max(terms) >= unit.k:
        return None
    acc = unit.rule.accumulator
    a, b = np.zeros(unit.k), np.zeros(unit.k)
    for index, value in terms.items():
        a[index], b[index] = _factors(value, unit.instruction.a, unit.instruction.b)
    raw_a, raw_b, raw_c = unit.instruction.a.encode(a), unit.instruction.b.encode(b), acc.encode(c)
    back_a, back_b = unit.instruction.a.decode(raw_a), unit.instruction.b.decode(raw_b)
    if not (np.array_equal(back_a, a) and np.array_equal(back_b, b) and float(acc.decode(raw_c)) == c):
        return None
    return Probe(name, title, raw_a, raw_b, int(raw_c))


def _factors(value: float, a: Format, b: Format) -> tuple[float, float]:
    """x and y with x y = value, x in `a` and y in `b` where the formats have such values."""
    if value == 0:
        return 0.0, 0.0
    fraction, exponent = np.frexp(abs(value))
    if fraction == 0.5625:  # 2.25 = 1.5 * 1.5, so that the product needs normalising
        low = (exponent - 2) // 2
        x, y = 1.5 * 2.0**low, 1.5 * 2.0 ** (exponent - 2 - low)
    else:  # split the exponent evenly, then shift it to where neither format ends
        share = np.clip((exponent - 1) // 2, b.min_exponent - b.fraction_bits, b.max_exponent - 1)
        share = np.clip(share, exponent - a.max_exponent, exponent - 1 - a.min_exponent + a.fraction_bits)
        x, y = np.ldexp(fraction, exponent - share), 2.0**share
    return float(np.copysign(x, value)), float(y)
