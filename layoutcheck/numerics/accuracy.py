"""How wrong a path may be: the bounds of its product (`bounds`) carried through its roundings and additions.

A computed result r of an exact D satisfies |r - D| <= allowed = inner + unit max(low, |D| + inner): `inner`
is what happened before the last rounding, `unit` and `low` are the last rounding's (0 where nothing is
rounded last). Two results of the same D are within the sum of their allowed errors.

Inputs that the product's unit cannot hold are converted first. One conversion moves x by at most u max(low,
|x|), u = 2^-p to nearest; for tf32 it is 2^-10, which covers the raw f32 that hardware cuts as well as
`cvt.rna`. With kappa = (1 + u_a)(1 + u_b) - 1 the products move by at most kappa S together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from layoutcheck.errors import InputError
from layoutcheck.numerics import bounds
from layoutcheck.numerics.bounds import Rates, Sums
from layoutcheck.numerics.data import Data
from layoutcheck.numerics.formats import FORMATS, Floats, Format, IntegerFormat, fmt, holds, round_to
from layoutcheck.numerics.paths import Path, Step
from layoutcheck.numerics.units import unit

ORDERS = ("any", "ascending")
LONG_UNIT = float(np.finfo(np.longdouble).eps) / 2


@dataclass(frozen=True, slots=True)
class Accuracy:
    """|result - exact| <= inner + unit max(low, |exact| + inner), an output each or one for all outputs.

    `exact` is the exact result where it is known (arrays), `size` the |exact| that the bound was derived for.
    """

    size: Any
    inner: Any
    unit: float = 0.0
    low: float = 0.0
    exact: Floats | None = None

    @property
    def allowed(self) -> Any:
        """The largest error that a correct path has, at each output; inf where it may overflow."""
        return self.inner + bounds.round_loss(self.size + self.inner, self.unit, self.low)


@dataclass(frozen=True, slots=True)
class Conversion:
    """What the inputs lose on their way into a unit: relative errors; the smallest normal numbers there."""

    a: float
    b: float
    low_a: float
    low_b: float

    @property
    def kappa(self) -> float:
        """What a product loses, relative to its `raised` size."""
        return (1 + self.a) * (1 + self.b) - 1


class Source(Protocol):
    """Where the sums come from: arrays, or a distribution."""

    @property
    def blocks(self) -> int:
        """How many products there are."""

    @property
    def exact(self) -> Floats | None:
        """D of each block, where it is known."""

    def conversion(self, a: tuple[Format, ...], b: tuple[Format, ...]) -> Conversion:
        """What the inputs lose in these formats, one after the other."""

    def product(self, block: int, rate: Rates, step: Step, lost: Conversion) -> Any:
        """The bound of block `block`'s product, conversions included."""

    def result(self, block: int, summed: bool) -> Any:
        """|D| of that block, or of the sum of all blocks up to it."""


def accuracy(chosen: Path, source: Source, arch: str) -> Accuracy:
    """The accuracy of each block's outputs, stacked if they are arrays; of `Drawn` data, the last one's."""
    found = [_block(chosen, source, arch, block, before=None) for block in range(source.blocks)]
    if chosen.steps[-1].kind == "add":
        found = []
        for block in range(source.blocks):
            found.append(_block(chosen, source, arch, block, found[-1] if found else None))
    if source.exact is None:
        return found[-1]
    last = found[-1]
    inner = np.stack([np.broadcast_to(one.inner, last.size.shape) for one in found])
    return Accuracy(np.stack([one.size for one in found]), inner, last.unit, last.low, source.exact)


def _block(chosen: Path, source: Source, arch: str, block: int, before: Accuracy | None) -> Accuracy:
    formats_a: list[Format] = []
    held: Format | None = None  # a format that holds the value as it is, exactly
    size = source.result(block, summed=False)
    now = Accuracy(size, 0.0)
    for step in chosen.steps:
        if step.kind == "round" and held is None:
            formats_a.append(fmt(step.argument))
        elif step.kind == "round" and held is not None:
            target = fmt(step.argument)
            if not holds(target, held):
                now, held = rounded(size, now.allowed, target), target
        elif step.kind == "add":
            summed = source.result(block, summed=True)
            earlier = 0.0 if before is None else before.allowed
            now = rounded(summed, now.allowed + earlier, fmt(step.argument))
        else:
            now, held = _product(step, source, arch, block, formats_a)
    return now


def _product(
    step: Step, source: Source, arch: str, block: int, before_a: list[Format]
) -> tuple[Accuracy, Format]:
    if step.kind == "fma":
        target = fmt(step.argument)
        rate, a, b = bounds.scalar_rates(target), FORMATS["f32"], FORMATS["f32"]
    else:
        u = unit(step.argument, arch)
        rate, a, b, target = bounds.rates(u), u.instruction.a, u.instruction.b, u.rule.accumulator
    lost = source.conversion((*before_a, a), (b,))
    error = source.product(block, rate, step, lost)
    return Accuracy(source.result(block, summed=False), error), target


def rounded(size: Any, inner: Any, target: Format) -> Accuracy:
    """The accuracy after one more rounding to a format; inf where it may overflow."""
    inner = np.where(size + inner > target.largest, np.inf, inner)
    return Accuracy(size, inner, target.unit_roundoff, bounds.low(target))


def _converted(formats: tuple[Format, ...], exactly: Callable[[Format], bool]) -> tuple[float, float]:
    """Relative loss and largest `low` of conversions to these formats, one after the other."""
    lost, least, held = 0.0, 0.0, None
    for target in formats:
        known = exactly(target) if held is None else holds(target, held)
        if not (known and isinstance(target, IntegerFormat)):
            least = max(least, bounds.low(target))
        if not known:
            one = 2.0**-10 if target.name == "tf32" else target.unit_roundoff
            lost, held = (1 + lost) * (1 + one) - 1, target
    return lost, least


def _same(values: Floats, target: Format, what: str) -> bool:
    """Whether `target` holds the values as they are; InputError where one is beyond its range."""
    most = target.largest * (1 + target.unit_roundoff)
    least = target.least if isinstance(target, IntegerFormat) else -most
    if values.size and not least <= values.min() <= values.max() <= most:
        found = f"{what} holds {values.min():g} to {values.max():g}"
        raise InputError(f"{found}: beyond {target}", expected=f"numbers up to {target.largest:g}")
    same = np.array_equal(round_to(values, target), values)
    if isinstance(target, IntegerFormat) and not same:
        raise InputError(f"{what} holds fractions, and its unit reads {target}", expected="whole numbers")
    return same


@dataclass(frozen=True, slots=True)
class Arrays:
    """A source of arrays a (blocks, M, K) and b (blocks, K, N): values."""

    a: Floats
    b: Floats
    order: str
    exact: Floats  # (blocks, M, N): of each block
    sums: Floats  # of all blocks up to it
    wide: bool = False  # whether `exact` was computed in numpy's longdouble

    @property
    def blocks(self) -> int:
        """How many products there are."""
        return len(self.a)

    def conversion(self, a: tuple[Format, ...], b: tuple[Format, ...]) -> Conversion:
        """As measured: nothing is lost where the formats hold every value. InputError beyond their range."""
        lost_a, low_a = _converted(a, lambda target: _same(self.a, target, "a"))
        lost_b, low_b = _converted(b, lambda target: _same(self.b, target, "b"))
        return Conversion(lost_a, lost_b, low_a, low_b)

    def product(self, block: int, rate: Rates, step: Step, lost: Conversion) -> Any:
        """Of the order asked for."""
        left = bounds.raised(self.a[block], lost.low_a) * (1 + lost.a)
        right = bounds.raised(self.b[block], lost.low_b) * (1 + lost.b)
        k, size, result = left.shape[1], left @ right, self.result(block, summed=False)
        promote = step.piece(k)
        moved = lost.kappa * size + self._evaluated(rate, k, size, result)
        top = left.max(1, initial=0.0)[:, None] * right.max(0, initial=0.0)[None]
        sums = Sums(np.minimum(result + moved, size), size, top)
        if self.order == "any":
            return moved + bounds.any_order(rate, k, sums, promote)
        error: Any = 0.0
        pieces = range(0, k, promote or k)
        for start in pieces:
            ks = slice(start, start + (promote or k))
            # What conversions move is there from the first step on: |partial sum| <= |s| + E as in the proof.
            part = left[:, ks] @ right[ks]
            # The sums s are float64's: what they may be off counts once more in each rounding.
            first = lost.kappa * part + self._evaluated(rate, k, part, result)
            first = first + k * rate.unit * bounds.evaluation(k, part)
            steps = bounds.array_steps(rate, self.a[block][:, ks], self.b[block][ks], left[:, ks], right[ks])
            error = error + bounds.running(rate, steps, first)
        return bounds.added(rate, error, sums.reach, len(pieces)) if len(pieces) > 1 else error

    def _evaluated(self, rate: Rates, k: int, size: Any, result: Any) -> Any:
        """How far `exact` may be from the exact product."""
        if not rate.unit:  # integers: float64 holds their sums, all below 2^53
            return 0.0
        if self.wide:
            return bounds.evaluation(k, size, LONG_UNIT) + 2.0**-53 * result
        return bounds.evaluation(k, size)

    def result(self, block: int, summed: bool) -> Any:
        """|D|."""
        return np.abs(self.sums[block] if summed else self.exact[block])


@dataclass(frozen=True, slots=True)
class Drawn:
    """A source of which only the distribution is known: k products a block, one number for all outputs."""

    k: int
    data: Data
    a: Format
    b: Format
    blocks: int = 1
    exact: None = None

    def conversion(self, a: tuple[Format, ...], b: tuple[Format, ...]) -> Conversion:
        """Nothing is lost in formats that hold the drawn ones."""
        lost_a, low_a = _converted(a, lambda target: holds(target, self.a))
        lost_b, low_b = _converted(b, lambda target: holds(target, self.b))
        return Conversion(lost_a, lost_b, low_a, low_b)

    def product(self, block: int, rate: Rates, step: Step, lost: Conversion) -> float:
        """In any order: any k products have the same distribution. Splits count as in `any_order`."""
        wider = (1 + lost.a) * (1 + lost.b)
        size = self.data.size(self.k, self.a, self.b) * wider
        # Subnormal elements are raised to `low`; what that adds to the largest term is at most this.
        top = max(self.data.top(self.a, self.b) * wider, lost.low_a * lost.low_b)
        top = max(top, lost.low_a * self._most(self.data.scale_b), lost.low_b * self._most(self.data.scale_a))

        def reach(k: Floats) -> Floats:
            return self.data.reach(k, self.a, self.b) * wider

        promote = step.piece(self.k)
        length = min(self.k, promote or self.k)
        pieces = -(-self.k // length)
        error = pieces * float(bounds.running(rate, bounds.scalar_steps(rate, length, reach, top)))
        splits = pieces if promote is not None else -(-self.k // rate.k)
        if splits > 1:
            error = float(bounds.added(rate, error, self.result(block, summed=False) * wider, splits))
        return error + lost.kappa * size

    def _most(self, scale: float) -> float:
        return scale * float(np.sqrt(self.data.top(self.a, self.b) / (self.data.scale_a * self.data.scale_b)))

    def result(self, block: int, summed: bool) -> float:
        """What |D| does not exceed."""
        k = self.k * (block + 1) if summed else self.k
        return float(self.data.reach(np.array([float(k)]), self.a, self.b)[0])


def of_arrays(chosen: Path, a: Floats, b: Floats, arch: str = "sm_90a", order: str = "any") -> Accuracy:
    """The accuracy of `chosen` on the values a (blocks, M, K) and b (blocks, K, N), each output its own.

    `order` is "any" (of k, and split-K too) or "ascending", which is tighter where it is known to hold.
    Raises InputError for shapes that do not fit and orders that are none.
    """
    if order not in ORDERS:
        raise InputError(f"no order '{order[:40]}'", expected=" or ".join(ORDERS))
    if a.ndim != 3 or b.ndim != 3 or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1] or not a.size:
        raise InputError(f"a path needs (blocks, M, K) and (blocks, K, N), not {a.shape} and {b.shape}")
    units = [unit(step.argument, arch) for step in chosen.steps if step.kind == "dot"]
    wide = any(u.rule.accumulator.bits == 64 for u in units)  # float64 would bound itself
    kind = np.longdouble if wide else np.float64
    exact = (a.astype(kind) @ b.astype(kind)).astype(np.float64)
    sums = np.cumsum(exact, 0)
    found = accuracy(chosen, Arrays(a, b, order, exact, sums, wide), arch)
    if chosen.steps[-1].kind == "add":
        return Accuracy(found.size, found.inner, found.unit, found.low, sums)
    return found
