"""Inputs of a product: drawn at a scale, and what is certain of their sums before they are drawn.

*uniform* values lie in [0, scale), integers in [0, scale]: every sum of k products is at most k times the
largest. *normal* values have mean 0 and standard deviation `scale`. A sum of k products x y of such values
exceeds X with probability at most exp(-t X) (1 - t^2)^(-k/2) for every t in (0, 1) (Chernoff; scale 1), and
that is 2^-80 at the X used here: fewer than one matrix of 10^9 outputs and 10^4 steps in 10^10. Rounding
moves a value by a factor of at most 1 + u, which multiplies all of it by (1 + u)^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from layoutcheck.digits import decimal
from layoutcheck.errors import InputError
from layoutcheck.numerics.formats import Floats, Format, IntegerFormat, round_to

KINDS = ("uniform", "normal")
_LOG_RARE = 80 * math.log(2)
_T = np.concatenate([np.geomspace(1e-6, 0.5, 160), 1 - np.geomspace(0.49, 1e-4, 60)])


@dataclass(frozen=True, slots=True)
class Data:
    """A distribution of the elements of A and of B, each with its scale."""

    kind: str
    scale_a: float = 1.0
    scale_b: float = 1.0

    def __str__(self) -> str:
        a, b = f"{self.scale_a:g}", f"{self.scale_b:g}"
        scale = a if a == b else f"{a} (A) and {b} (B)"
        return f"uniform in [0, {scale})" if self.kind == "uniform" else f"normal, standard deviation {scale}"

    def reach(self, k: Floats, a: Format, b: Format) -> Floats:
        """What no sum of k products exceeds, for each k: always (uniform), or but for 2^-80 (normal)."""
        scale = self._unit(a, b)
        if self.kind == "uniform":
            return k * scale
        slopes = (_LOG_RARE - np.multiply.outer(k / 2, np.log1p(-(_T**2)))) / _T
        return scale * slopes.min(-1)

    def size(self, k: int, a: Format, b: Format) -> float:
        """What S = sum |x y| does not exceed, as `reach`; normal: |A| |B|, by Cauchy and Schwarz."""
        scale = self._unit(a, b)
        if self.kind == "uniform":
            return k * scale
        # |A|^2 is chi-square, k degrees: P(|A|^2 > k + 2 sqrt(k x) + 2 x) <= e^-x (Laurent & Massart 2000).
        return scale * (k + 2 * math.sqrt(k * _LOG_RARE) + 2 * _LOG_RARE)

    def top(self, a: Format, b: Format) -> float:
        """What no product exceeds, as `reach`: P(|x| > z) <= 2 exp(-z^2 / 2)."""
        return self._unit(a, b) * (1.0 if self.kind == "uniform" else 2 * (_LOG_RARE + math.log(2)))

    def _unit(self, a: Format, b: Format) -> float:
        if isinstance(a, IntegerFormat) or isinstance(b, IntegerFormat):
            return self._most(self.scale_a, a) * self._most(self.scale_b, b)
        return self.scale_a * self.scale_b * (1 + a.unit_roundoff) * (1 + b.unit_roundoff)

    def _most(self, scale: float, format_: Format) -> float:
        """The largest integer drawn; InputError where the distribution has none, or it does not fit."""
        if self.kind != "uniform" or not 1 <= scale <= format_.largest:
            expected = f"uniform data, and a scale from 1 to {format_.largest:g}"
            raise InputError(f"no {format_} numbers are {self.kind} with scale {scale:g}", expected=expected)
        return float(np.rint(scale))

    def draw(
        self, shape: tuple[int, int, int, int], a: Format, b: Format, seed: int
    ) -> tuple[Floats, Floats]:
        """A (blocks, M, K) and B (blocks, K, N), rounded to their formats; `shape` is (blocks, M, N, K)."""
        blocks, m, n, k = shape
        rng = generator(seed, *shape)
        sample = rng.standard_normal if self.kind == "normal" else rng.random
        left, right = self.scale_a * sample((blocks, m, k)), self.scale_b * sample((blocks, k, n))
        return round_to(left, a), round_to(right, b)


def generator(seed: int, *shape: int) -> np.random.Generator:
    """Random numbers of a seed, other ones for each shape. Raises InputError for a negative seed."""
    if seed < 0:
        raise InputError(f"seed = {seed} is negative", expected="0 or more")
    return np.random.default_rng([seed, *shape])


def data(kind: str, scale: str | float = 1.0) -> Data:
    """The distribution of that name; `scale` is a positive number, or two with a comma: A's and B's."""
    if kind not in KINDS:
        raise InputError(f"no data called '{kind[:40]}'", expected=" or ".join(KINDS))
    parts = str(scale).split(",")
    try:
        scales = [decimal(part) for part in parts]
    except ValueError:
        scales = []
    if len(scales) not in (1, 2) or not all(1e-30 <= one <= 1e30 for one in scales):
        expected = "a number from 1e-30 to 1e30, or two (A's and B's), such as 1,0.02"
        raise InputError("no scale", text=str(scale)[:80], expected=expected)
    return Data(kind, scales[0], scales[-1])
