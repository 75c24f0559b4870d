"""A published battery of tensor-core probes, its printed results, and the vectors it should have used.

The battery ran f16 inputs through WMMA 16x16x16 on an RTX 4060 (sm_89), the first four products of k in use,
and printed the bits of each result. Five of its 26 cases cannot see anything: they ask f16 for 2^-25, half
the smallest f16, which rounds to zero before the tensor core; another cannot tell truncation from rounding
to nearest, because the tie it makes is on an even last bit. `REPAIRED` does what those meant.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """One probe: the four products a[i] b[i] and c as exact values (f16 rounds them, to nearest, first).

    `printed` is the result's encoding as the battery printed it (sign, exponent and fraction bits), or None.
    `vacuous` says why the case shows nothing, where it does not.
    """

    name: str
    title: str
    accumulator: str
    a: tuple[float, ...]
    b: tuple[float, ...]
    c: float
    printed: str | None = None
    vacuous: str | None = None


def _p(exponent: int) -> float:
    return float(2.0**exponent)


_ONE_LESS = 1 - _p(-11)
_ONES = (1.0, 1.0, 1.0, 1.0)
_ONE32 = "0 01111111 00000000000000000000000"
_ONE_UP = "0 01111111 00000000000000000000001"
_FOUR_UP = "0 10000001 00000000000000000000001"
_LOST = "2^-25 is half the smallest f16: it rounds to zero before the tensor core"


def _add5(position: int | None) -> tuple[tuple[float, ...], float]:
    """b and c: 1 at `position` of b (None: in c), 2^-25 everywhere else."""
    small = _p(-25)
    b = tuple(1.0 if i == position else small for i in range(4))
    return b, 1.0 if position is None else small


def _carry(turn: int) -> tuple[float, ...]:
    b = [1.0, 1.0, 1.0, _p(-23)]
    for i in range(1, turn):
        b[(i + 2) % 4], b[i - 1] = b[i - 1], b[(i + 2) % 4]
    return tuple(b)


BATTERY: tuple[Case, ...] = (
    Case("sub.1", "an f16 subnormal input", "f32", (_p(-24), 0, 0, 0), (4, 0, 0, 0), 0,
         "0 01101001 00000000000000000000000"),
    Case("sub.2", "an f32 subnormal addend", "f32", (0,) * 4, (0,) * 4, _p(-149),
         "0 00000000 00000000000000000000001"),
    Case("sub.3", "a subnormal product", "f16", (_p(-14), 0, 0, 0), (0.5, 0, 0, 0), 0, "0 00000 1000000000"),
    Case("sub.4", "a subnormal difference", "f16", (_p(-14), 0, 0, 0), (1, 0, 0, 0), -_p(-15),
         "0 00000 1000000000"),
    Case("exact.1", "products are exact", "f32", (_ONE_LESS,) * 4, (_ONE_LESS,) * 4, 0,
         "0 10000000 11111111100000000000100"),
    Case("exact.2", "f16 results come from wider sums", "f16", (_ONE_LESS, _ONE_LESS, 0, 0),
         (_ONE_LESS, _p(-11), 0, 0), 0, "0 01110 1111111111"),
    *(
        Case(f"add5.{i}", "four terms below the last bit", "f32", _ONES, *_add5(position), _ONE32, _LOST)
        for i, position in enumerate((None, 0, 1, 2, 3))
    ),
    Case("rnd.1", "rounding of a positive sum", "f32", _ONES, (2, _p(-23) + _p(-24), 0, 0), 0,
         "0 10000000 00000000000000000000000"),
    Case("rnd.2", "rounding of a negative sum", "f32", _ONES, (-2, -_p(-23) - _p(-24), 0, 0), 0,
         "1 10000000 00000000000000000000000"),
    Case("rnd.f16", "rounding to f16", "f16", (_p(-24), _p(-24), 0, 0), (0.5, 0.25, 0, 0), 0,
         "0 00000 0000000001"),
    Case("align.1", "bits kept below the last", "f32", (1, 0, 0, 0), (1, 0, 0, 0), _p(-24) - 1,
         "0 01100111 00000000000000000000000"),
    Case("norm.add", "no normalisation between additions", "f32", _ONES, (_p(-24),) * 4, 1 - _p(-24),
         _ONE_UP),
    Case("norm.sub", "normalisation after a subtraction", "f32", _ONES, (1, -_p(-24), 0, 0), _p(-24) - 1,
         "0 00000000 00000000000000000000000"),
    *(
        Case(f"carry.{turn}", "two carry bits", "f32", _ONES, _carry(turn), 1 + _p(-22) + _p(-23), _FOUR_UP)
        for turn in (1, 2, 3, 4)
    ),
    Case("carry.5", "three carry bits", "f32", _ONES, (1, 1.5, 1.75, 1.875), 1.875,
         "0 10000010 00000000000000000000000"),
    Case("mono.1", "monotonicity, the smaller sum", "f32", _ONES, (_p(-24),) * 4, 1 - _p(-24), _ONE_UP),
    Case("mono.2", "monotonicity, the larger sum", "f32", _ONES, (_p(-24),) * 4, 1,
         "0 01111111 00000000000000000000010"),
    Case("mono.1+", "monotonicity, the smaller sum, halves", "f32", (0.5,) * 4,
         (_p(-24), _p(-24), _p(-24), _p(-23) + _p(-24)), 1 - _p(-24), _ONE_UP),
    Case("mono.2+", "monotonicity, the larger sum, halves", "f32", (0.5,) * 4,
         (_p(-24), _p(-24), _p(-24), _p(-23) + _p(-24)), 1, _ONE32),
)  # fmt: skip


def _repaired_add5(index: int, position: int | None) -> Case:
    small = (_p(-12), _p(-13))
    a = tuple(1.0 if i == position else small[0] for i in range(4))
    b = tuple(1.0 if i == position else small[1] for i in range(4))
    c = 1.0 if position is None else _p(-25)
    return Case(f"fix.add5.{index}", "four terms of 2^-25, as products f16 can hold", "f32", a, b, c)


REPAIRED: tuple[Case, ...] = (
    *(_repaired_add5(i, position) for i, position in enumerate((None, 0, 1, 2, 3))),
    Case("rnd.tie_odd", "a tie on an odd last bit: truncation keeps it", "f32", (_p(-12), 0, 0, 0),
         (_p(-12), 0, 0, 0), 1 + _p(-23)),
    Case("rnd.tie_odd-", "the same, negative", "f32", (-_p(-12), 0, 0, 0), (_p(-12), 0, 0, 0), -1 - _p(-23)),
)  # fmt: skip
