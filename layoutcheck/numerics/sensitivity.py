"""What a given atol and rtol lets through, and what it refuses: findings LC402 to LC404, on a sample."""

from __future__ import annotations

import numpy as np

from layoutcheck.findings import Finding
from layoutcheck.numerics.accuracy import Accuracy
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.bounds import round_loss
from layoutcheck.numerics.formats import Floats, Format, IntegerFormat, ulp
from layoutcheck.numerics.sample import Pair

BLOCK = 64  # k that a kernel with a wrong loop skips


def exact_integer_limit(u: Unit, output: Format | None = None) -> int:
    """Integer data are summed exactly while sum |a b| stays within this: there the tolerance is 0.

    Below it no term is cut, 2^A < 2^(F + 1), no sum is rounded, and `output` holds every integer.
    """
    accumulator = u.rule.accumulator
    bits = min(u.rule.fraction_bits + 1, u.rule.precision, (output or accumulator).precision)
    return min(int(2**bits), int(accumulator.largest))


def _needed(one: Accuracy, other: Accuracy | None, exact: Floats, out: Format) -> Floats:
    """The largest difference that correct results can show: a multiple of the output's step there."""
    most = np.zeros(exact.shape)
    for side in (one, other):
        if side is not None:
            inner = np.broadcast_to(side.inner, exact.shape) if side.exact is None else side.inner
            inner = inner[: exact.shape[0], : exact.shape[1]]
            most = most + inner + round_loss(np.abs(exact) + inner, side.unit, side.low)
    if other is None:
        return most
    grid = ulp(np.maximum(np.abs(exact) - most, 0.0), out)
    return np.floor(most / grid) * grid


def judge(
    given: dict[str, float], one: Accuracy, other: Accuracy | None, pair: Pair, out: Format
) -> tuple[dict[str, float], tuple[Finding, ...]]:
    """Numbers and findings about the tolerance `given`."""
    limit = given["atol"] + given["rtol"] * np.abs(pair.expected)
    step, needed = ulp(pair.exact, out), _needed(one, other, pair.exact, out)
    user = {
        **given,
        "below_one_step": float(np.mean(limit < step)),
        "below_bound": float(np.mean(limit < needed)),
        "model_outside": float(np.mean(np.abs(pair.actual - pair.expected) > limit)),
    }
    if user["below_one_step"] == 1.0 and needed.any():
        message = (
            f"every output is at least {float(np.abs(pair.exact).min()):.4g} in size, where one step of "
            f"{out} is {float(step.min()):.4g} or more; the tolerance is at most {float(limit.max()):.4g}. "
            "Two correct kernels that add in another order differ by a step now and then, and fail."
        )
        title = f"a bit-equality test: below one {out} step at every output"
        return user, (Finding("LC402", "wrong", title, message, evidence={"step": float(step.min())}),)
    if user["below_bound"] == 0:
        return user, ()
    severity = "wrong" if user["model_outside"] > 0 else "note"
    message = (
        f"{user['below_bound']:.1%} of the outputs of correct kernels may differ by more than the "
        f"tolerance; on the sample {user['model_outside']:.1%} do."
    )
    evidence = {"below_bound": user["below_bound"], "model_outside": user["model_outside"]}
    return user, (Finding("LC404", severity, "below the derived bound", message, evidence=evidence),)


def blindness(given: dict[str, float], pair: Pair, a: Floats, b: Floats, out: Format) -> dict[str, float]:
    """What passes: the share of outputs where a skipped k (a skipped block) does, and of k that none sees."""
    m, n = pair.exact.shape
    limit = given["atol"] + given["rtol"] * np.abs(pair.expected) + ulp(pair.exact, out) / 2
    k = a.shape[1]

    def passes(length: int) -> tuple[float, float]:
        starts = np.unique(np.linspace(0, k - length, min(64, k - length + 1)).astype(int))
        unseen = [
            np.abs(a[:m, at : at + length] @ b[at : at + length, :n]) <= limit for at in starts.tolist()
        ]
        return float(np.mean(unseen)), float(np.mean([bool(one.all()) for one in unseen]))

    one_k, every_k = passes(1)
    block, every_block = passes(min(BLOCK, k))
    return {
        "one_k": one_k,
        "one_k_at_every_output": every_k,
        f"block_of_{min(BLOCK, k)}": block,
        f"block_of_{min(BLOCK, k)}_at_every_output": every_block,
        "hidden_by_output": float(np.mean(ulp(pair.exact, out) / 2 >= np.abs(pair.exact) / k)),
    }


def blind_finding(blind: dict[str, float], u: Unit | None, out: Format) -> tuple[Finding, ...]:
    """LC403, where most outputs pass with one k skipped."""
    if blind["one_k"] < 0.5:
        return ()
    hidden = blind["hidden_by_output"] >= 0.5
    cause = f"one {out} step already hides it" if hidden else "the tolerance is wider than it"
    if isinstance(out, IntegerFormat):
        cause = "nothing shows where it is 0"
    limit = "" if u is None else f", exact up to a sum of {exact_integer_limit(u, out)}"
    message = (
        f"a typical product is small, and {cause}, in {blind['one_k']:.0%} of the outputs: a kernel that "
        f"skips one k passes. Test the indexing with small integers{limit}."
    )
    evidence = {"hidden_by_output": blind["hidden_by_output"], "one_k": blind["one_k"]}
    return (Finding("LC403", "note", "cannot see a missing product", message, evidence=evidence),)
