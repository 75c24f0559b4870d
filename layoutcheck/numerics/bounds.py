"""How wrong a correct computation may be, and the proof.

One block of a tensor core returns d' = round(sum of cut terms), its terms d, p_1, ..., p_n cut below the
anchor. Write 2^e for the smallest normal number of the accumulator, call it *low*, and raise inputs to
their format's smallest normal number where they are subnormal: a hardware exponent is never below that one.
`top` is the largest such product.

1. Alignment. The anchor 2^A is at most max(low, top, |d|). A term with exponent A has too few bits to be
   cut, so at most n terms are, each by less than g = 2^(A - F); a product by at most rho g, where rho is the
   largest remainder of a product of two integer significands at a power of two, as a share of that power
   (126/128 for e4m3, 3/4 for e2m1). Together: less than align max(low, top, |d|), align = (1 + (n - 1) rho)
   2^-F.
2. Rounding of a sum x loses at most unit max(low, |x|), with unit = 2^-p to nearest and 2^(1-p) towards zero.
   Below `low` the steps stop shrinking: that is the maximum. Towards zero less is lost: x is a multiple of
   g, so cutting it to a coarser step loses at most that step less g, and to a finer one nothing. With 1
   that is at most (1 + (n - 1) rho) g + max(0, unit max(low, |x|) - g), which grows with g; put grain
   max(low, top, |d|) for g, where grain = 2^-F towards zero and 0 to nearest.
3. Let s be the exact partial sum, E the error so far, |d| <= |s| + E. After the block

       M = max(low, top, |s| + E),   loss = align M,
       E' = E + loss + max(0, unit max(low, |s'| + E + loss) - grain M).

That is the *running* bound, for an order of k that is known. For every order: a partial sum of some of the
products lies between the sum of the negative ones and that of the positive ones, so |s| <= reach = (S +
|D|) / 2 with S the sum of all |p| and D the result. With W = max(low, top, reach) the recurrence gives
E' <= (1 + eps) E + eps W, where eps = align - grain + unit (1 + align) and grain <= unit, so after q blocks

       E <= ((1 + eps)^q - 1) W.

Split-K adds at most as many parts as there are instructions, and each addition in f32 loses 2^-24 max(low,
...): a factor (1 + 2^-24) an instruction covers every split. Where each instruction starts from zero and is
then added, the first addition of each part is to zero and exact: all parts together make one addition fewer
than there are instructions, however they are split. It is the block-FMA analysis of Blanchard, Higham,
Lopez, Mary & Pranesh (SIAM J. Sci. Comput. 42, C124, 2020) with an adder that cuts, subnormals, and reach
instead of S. Bounds in sqrt(K) do not apply: they need errors of mean zero, and cutting has a bias.

Where a sum may exceed the accumulator's largest number the bound is infinite: the result may be an infinity.
Attacked by `kernels.numerics.attack`; docs/evidence/numerics_bounds.json has the counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.formats import FORMATS, Floats, Format
from layoutcheck.numerics.parameters import BlockFma

F32_UNIT = FORMATS["f32"].unit_roundoff
_STEPS = 1024  # a running bound has at most this many: longer chains are walked in strides


@dataclass(frozen=True, slots=True)
class Rates:
    """What one block loses, as in the proof above: a tensor core's, or a scalar FMA's (one product a block).

    An instruction has `blocks` blocks of `length` products. `adds` is the rounding of the addition that
    follows them (FP8 through `mma.sync`), 0 where there is none; `joins` that of an addition of parts of K.
    """

    align: float
    unit: float
    low: float
    largest: float
    length: int
    grain: float = 0.0
    joins: float = F32_UNIT
    blocks: int = 1
    adds: float = 0.0

    @property
    def eps(self) -> float:
        """The relative loss of one block."""
        return self.align - self.grain + self.unit * (1 + self.align)

    @property
    def k(self) -> int:
        """Products an instruction."""
        return self.length * self.blocks

    def grown(self, blocks: Any) -> Any:
        """(1 + eps)^blocks - 1."""
        return np.expm1(blocks * np.log1p(self.eps))


def rates(u: Unit) -> Rates:
    """The rates of `u`, from its rule."""
    rule, plain = u.rule, u.accumulator_unit
    if plain is not None:  # nothing is aligned
        return Rates(
            0.0, plain, low(rule.accumulator), rule.accumulator.largest, length=1, blocks=u.k, joins=plain
        )
    fits = u.instruction.a.fraction_bits + u.instruction.b.fraction_bits <= rule.fraction_bits
    adds = rule.accumulator.unit_roundoff if u.add_c_last else 0.0
    products = rule.block - 1 if fits else rule.block
    cut = 1 + products * remainder(u.instruction.a, u.instruction.b)
    return block_rates(rule, cut, rule.block, len(u.groups), adds)


@cache
def remainder(a: Format, b: Format) -> float:
    """The proof's rho: what a cut leaves of a product at most, as a share of the place of the cut."""
    if max(a.fraction_bits, b.fraction_bits) > 3:
        return 1.0
    products = np.multiply.outer(np.arange(2 << a.fraction_bits), np.arange(2 << b.fraction_bits))
    places = 1 << np.arange(a.fraction_bits + b.fraction_bits + 3)
    return float((products[..., None] % places / places).max())


def block_rates(rule: BlockFma, cut: float, length: int, blocks: int = 1, adds: float = 0.0) -> Rates:
    """The rates of a block FMA whose cuts lose `cut` units of the cut; the rest as in `Rates`."""
    nearest = rule.rounding == "RNE"
    return Rates(
        align=cut * 2.0**-rule.fraction_bits,
        unit=2.0 ** -(rule.precision if nearest else rule.precision - 1),
        low=low(rule.accumulator),
        largest=rule.accumulator.largest,
        length=length,
        grain=0.0 if nearest else 2.0**-rule.fraction_bits,
        blocks=blocks,
        adds=adds,
    )


def scalar_rates(format_: Format) -> Rates:
    """The rates of fused multiply-adds in `format_`: nothing is aligned, each rounds once."""
    return Rates(0.0, format_.unit_roundoff, low(format_), format_.largest, length=1)


def low(format_: Format) -> float:
    """The smallest normal number."""
    return float(2.0**format_.min_exponent)


def round_loss(size: Any, unit: float, least: float) -> Any:
    """What rounding a number of that size loses at most; `least` is the format's `low`."""
    return unit * np.maximum(size, least) if unit else 0.0


def raised(values: Floats, least: float) -> Floats:
    """|values|, those between 0 and `least` as `least`: the size that the hardware's exponents speak of."""
    size = np.abs(values)
    return np.where(size > 0, np.maximum(size, least), 0.0)


@dataclass(frozen=True, slots=True)
class Sums:
    """A product's |D|, S and largest term: arrays, one entry an output, or one number for all."""

    result: Any
    size: Any
    top: Any

    @property
    def reach(self) -> Any:
        """What no partial sum, in whatever order, exceeds."""
        return (self.size + self.result) / 2


def any_order(rate: Rates, k: int, sums: Sums, promote: int | None = None) -> Any:
    """The bound for every order of k and every split: the proof's last line. inf where it may overflow.

    With `promote` each piece starts from zero. The pieces' own sums, S together, then take the place of
    `reach` where they are less.
    """
    length = min(k, promote or k)
    pieces = -(-k // length)
    widest = np.maximum(np.maximum(rate.low, sums.top), sums.reach)
    parts = np.minimum(pieces * widest, sums.size + pieces * rate.low)
    if rate.adds:
        instructions = -(-length // rate.k)
        every = pieces * instructions
        starts = np.minimum(every * widest, sums.size + every * rate.low)
        grown = np.exp((instructions - 1) * np.log1p(rate.adds))
        error = grown * rate.grown(rate.blocks) * starts + (grown - 1) * parts
        splits = pieces
    else:
        error = rate.grown(-(-length // rate.length)) * parts
        splits = pieces if promote is not None else -(-k // rate.k)
    if splits > 1:
        error = added(rate, error, widest, splits)
    return np.where(sums.reach + error > rate.largest, np.inf, error)


def added(rate: Rates, error: Any, size: Any, count: int) -> Any:
    """`error` after `count` additions of parts, whose sums are at most `size` and the error."""
    grown = np.expm1(count * np.log1p(rate.joins))
    return error * (1 + grown) + grown * size


@dataclass(frozen=True, slots=True)
class Step:
    """`count` blocks of a chain: the exact partial sum |s| `before` and `after`, the largest term.

    `size` is S of these terms; within them no partial sum exceeds `within`.
    """

    before: Any
    after: Any
    top: Any
    size: Any
    within: Any
    count: int = 1


def running(rate: Rates, steps: Iterator[Step], start: Any = 0.0) -> Any:
    """The running bound over `steps` from an error `start`; inf where a sum may overflow."""
    error = start
    over: Any = False
    for index, step in enumerate(steps):
        if rate.adds:
            error = error + rate.grown(rate.blocks) * (step.size + step.count * rate.low)
            additions = step.count - (index == 0)  # the first is to zero, and exact
            error = error * (1 + rate.adds) ** additions + (
                np.expm1(additions * np.log1p(rate.adds)) * np.maximum(rate.low, step.within)
            )
        elif step.count > 1:
            widest = np.maximum(np.maximum(rate.low, step.top), step.within)
            error = error + rate.grown(step.count) * (error + widest)
        else:
            most = np.maximum(np.maximum(rate.low, step.top), step.before + error)
            loss = rate.align * most
            rounding = round_loss(step.after + error + loss, rate.unit, rate.low) - rate.grain * most
            error = error + loss + np.maximum(rounding, 0.0)
        most = np.maximum(step.after, step.within)
        if rate.adds:  # the blocks of one instruction start from zero: their own sums may overflow too
            most = np.maximum(most, step.size)
        over = over | (most + error > rate.largest)
    return np.where(over, np.inf, error)


def _stride(rate: Rates, k: int) -> tuple[int, int]:
    """(products, blocks or instructions) of a step: few enough steps, whole instructions."""
    unit = rate.k if rate.adds else rate.length
    count = -(-k // (unit * _STEPS))
    return unit * count, count


def array_steps(rate: Rates, a: Floats, b: Floats, left: Floats, right: Floats) -> Iterator[Step]:
    """The steps of a chain over the values a (M, K) and b (K, N), k ascending; left, right: their sizes."""
    length, count = _stride(rate, a.shape[1])
    total = np.zeros((a.shape[0], b.shape[1]))
    before = total
    for start in range(0, a.shape[1], length):
        ks = slice(start, start + length)
        total = total + a[:, ks] @ b[ks]
        after = np.abs(total)
        size = left[:, ks] @ right[ks] if count > 1 or rate.adds else np.zeros(())
        top = left[:, ks].max(1)[:, None] * right[ks].max(0)[None]
        within = before + size if count > 1 else np.maximum(before, after)
        yield Step(before, after, top, size, within, count)
        before = after


def scalar_steps(rate: Rates, k: int, reach: Callable[[Floats], Floats], top: float) -> Iterator[Step]:
    """The steps of a chain whose sums of j products are at most reach(j), which grows, each at most `top`."""
    length, count = _stride(rate, k)
    ends = np.minimum(np.arange(1, -(-k // length) + 1) * float(length), k)
    after = reach(ends).tolist()
    for x, y in zip([0.0, *after[:-1]], after, strict=True):
        yield Step(x, y, top, length * top, y, count)


def evaluation(k: int, size: Any, unit: float = 2.0**-53) -> Any:
    """How far a float64 sum of k products, S = `size`, may be from the exact one, in any order.

    `unit` is the rounding of a wider type, where one was used.
    """
    return (k + 1) * unit * size + k * 2.0**-1074
