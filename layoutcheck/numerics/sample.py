"""The bit-exact model on a sample of outputs: how wrong a correct kernel is, and how two of them differ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutcheck.numerics.data import Data
from layoutcheck.numerics.formats import Floats, Format
from layoutcheck.numerics.paths import Path, Step, held_format, run

_SAMPLE = 32  # outputs a side that the model is run on
_PRODUCTS = 1 << 22  # of the sample, at most


def error_over_size(output: Floats, exact: Floats, size: Floats) -> Floats:
    """|output - exact| / S, the measure that the bound is in; 0 where S is 0."""
    return np.divide(np.abs(output - exact), size, out=np.zeros_like(size), where=size > 0)


def rms_error(output: Floats, exact: Floats) -> float:
    """Root mean square of the error over that of the exact values: no single small output decides it."""
    scale = float(np.sqrt(np.mean(np.square(exact))))
    return float(np.sqrt(np.mean(np.square(output - exact)))) / scale if scale else 0.0


@dataclass(frozen=True, slots=True)
class Pair:
    """The sample: exact results, what the path gave, what it is compared with."""

    exact: Floats
    actual: Floats
    expected: Floats


def sample(drawn: Data, k: int, stored: Format, seed: int) -> tuple[Floats, Floats]:
    """Drawn matrices a (side, K) and b (K, side): few outputs where K is long."""
    side = max(2, min(_SAMPLE, math.isqrt(_PRODUCTS // k)))
    a, b = drawn.draw((1, side, side, k), stored, stored, seed)
    return a[0], b[0]


def measure(
    chosen: Path, rival: Path | None, against: str, a: Floats, b: Floats, arch: str
) -> tuple[dict[str, float], Pair]:
    """The model on the sample: what the path gives, and the other side."""
    side_m, side_n = min(len(a), _SAMPLE), min(b.shape[1], _SAMPLE)
    side_n = max(1, min(side_n, _PRODUCTS // (side_m * a.shape[1]) or 1))
    left, right = a[:side_m], b[:, :side_n]
    if held_format(chosen, arch).bits == 64:  # float64 would measure itself
        left, right = left.astype(np.longdouble), right.astype(np.longdouble)
    exact: Any = left @ right
    size: Any = np.abs(left) @ np.abs(right)
    given = left[None].astype(np.float64), right[None].astype(np.float64)
    actual = run(chosen, *given, arch)[0]
    if against == "exact":
        expected = exact.astype(np.float64)
    else:
        expected = run(rival or _split(chosen, a.shape[1]), *given, arch)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = float(np.nanmean(np.where(size > 0, (actual - exact) / size, 0.0)))
    measured = {
        "max_error_over_S": float(error_over_size(actual, exact, size).max()),
        "mean_error_over_S": mean,
        "rms_error": rms_error(actual, exact),
        "outputs_that_differ": float(np.mean(actual != expected)),
        "largest_difference": float(np.abs(actual - expected).max()),
    }
    return measured, Pair(exact.astype(np.float64), actual, expected)


def _split(chosen: Path, k: int) -> Path:
    """The same steps with K in two halves: another correct kernel."""

    def halved(step: Step) -> Step:
        return Step("dot", step.argument, split=2) if step.kind == "dot" and step.piece(k) is None else step

    steps = tuple(map(halved, chosen.steps))
    return Path(f"{chosen.name}, split in two", steps)
