"""Tolerances that are derived: how wrong a correct kernel may be, and what a given atol and rtol test.

`derive` takes the steps of a kernel (`paths`), what it is compared with, and the data, drawn or given. The
bound of each output (`accuracy`) is the answer; atol and rtol are a summary of it that is never below it,
rounded up to the digits that are printed. `|actual - expected| <= atol + rtol |expected|` is how torch and
numpy read them.

Of a sample, the bit-exact model says what really happens: the errors, how many outputs a tolerance lets
through where it should not (LC404), and what it cannot see (LC403): a kernel that skips one k, or a whole
block of k, still passes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutcheck.errors import InputError
from layoutcheck.findings import Finding, verdict
from layoutcheck.numerics.accuracy import Accuracy, Drawn, of_arrays, of_data
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.bounds import rates, round_loss
from layoutcheck.numerics.data import Data
from layoutcheck.numerics.data import data as distribution
from layoutcheck.numerics.formats import FORMATS, Floats, Format, IntegerFormat, fmt, holds, ulp
from layoutcheck.numerics.names import INTEGERS
from layoutcheck.numerics.paths import Path, Step, held_format, path, run, storage_formats
from layoutcheck.numerics.units import default_unit, unit

_SAMPLE = 32  # outputs a side that the model is run on
_PRODUCTS = 1 << 22  # of the sample, at most
BLOCK = 64  # k that a kernel with a wrong loop skips
MOST_K = 1 << 17  # the model runs on a sample of the whole K, in seconds
AGAINST = ("kernel", "exact")


def exact_integer_limit(u: Unit, output: Format | None = None) -> int:
    """Integer data are summed exactly while sum |a b| stays within this: there the tolerance is 0.

    Below it no term is cut, 2^A < 2^(F + 1), no sum is rounded, and `output` holds every integer.
    """
    accumulator = u.rule.accumulator
    bits = min(u.rule.fraction_bits + 1, u.rule.precision, (output or accumulator).precision)
    return min(int(2**bits), int(accumulator.largest))


def error_over_size(output: Floats, exact: Floats, size: Floats) -> Floats:
    """|output - exact| / S, the measure that the bound is in; 0 where S is 0."""
    return np.divide(np.abs(output - exact), size, out=np.zeros_like(size), where=size > 0)


def rms_error(output: Floats, exact: Floats) -> float:
    """Root mean square of the error over that of the exact values: no single small output decides it."""
    scale = float(np.sqrt(np.mean(np.square(exact))))
    return float(np.sqrt(np.mean(np.square(output - exact)))) / scale if scale else 0.0


def rounded_up(value: float, digits: int = 3) -> float:
    """`value` in that many decimal digits, never less: what is printed is what was meant."""
    if value <= 0 or not math.isfinite(value):
        return max(value, 0.0)
    step = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    for count in (math.floor(value / step), math.floor(value / step) + 1, math.floor(value / step) + 2):
        printed = float(f"{count * step:.{digits - 1}e}")
        if printed >= value:
            return printed
    raise AssertionError(value)


def summary(one: Accuracy, other: Accuracy | None) -> dict[str, float]:
    """atol and rtol that no pair of correct results exceeds; `other` None: the exact result.

    With u_x, u_y the units of the last roundings, |x - y| <= inner_x + inner_y + u_x |D| + u_y |D| + ...
    where |D| <= (|y| + inner_y) / (1 - u_y): rtol takes the part that grows with |y|, atol the rest.
    """
    y_unit, y_low = (0.0, 0.0) if other is None else (other.unit, other.low)
    y_inner: Any = 0.0 if other is None else other.inner
    rtol = rounded_up((one.unit + y_unit) / (1 - y_unit))
    if one.exact is not None:
        y_allowed = 0.0 if other is None else other.allowed
        least = np.maximum(one.size - y_allowed, 0.0)  # |expected| is not smaller
        rest = one.allowed + y_allowed - rtol * least
        return {"atol": rounded_up(float(np.max(rest))), "rtol": rtol}
    kink = (y_inner + y_unit * (y_low + y_inner)) / (1 - y_unit)  # |D| up to here may be compared with 0
    atol = one.inner + y_inner
    atol += round_loss(kink + one.inner, one.unit, one.low) + round_loss(kink + y_inner, y_unit, y_low)
    return {"atol": rounded_up(float(atol)), "rtol": rtol}


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What `derive` found: the bounds, the model on a sample, and the verdict on the user's numbers.

    `accuracy` and `other` (None: the exact result) are the two sides of the comparison. `suggested` is the
    summary for it, `suggested_exact` that for a comparison with the exact result. `blind` says what passes
    unseen.
    """

    path: Path
    against: str
    arch: str
    unit: Unit | None
    k: int
    inputs: Format
    output: Format
    data: str
    accuracy: Accuracy
    other: Accuracy | None
    formula: str
    measured: dict[str, float]
    suggested: dict[str, float]
    suggested_exact: dict[str, float]
    blind: dict[str, float]
    user: dict[str, float] | None
    findings: tuple[Finding, ...]

    def allowed(self) -> Any:
        """The largest |actual - expected| of correct results: an output each where arrays were given."""
        return self.accuracy.allowed + (0.0 if self.other is None else self.other.allowed)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "path": list(map(str, self.path.steps)),
            "against": self.against,
            "arch": self.arch,
            "unit": None if self.unit is None else self.unit.describe(),
            "K": self.k,
            "in": self.inputs.name,
            "out": self.output.name,
            "data": self.data,
            "formula": self.formula,
            "largest_allowed": float(np.max(self.allowed())),
            "exact_integer_limit": None if self.unit is None else exact_integer_limit(self.unit, self.output),
            "model": self.measured,
            "suggested": self.suggested,
            "suggested_exact": self.suggested_exact,
            "blind": self.blind,
            "user": self.user,
            "verdict": verdict(self.findings),
            "findings": [finding.to_dict() for finding in self.findings],
        }


def steps_for(
    inputs: str, output: str, arch: str, name: str | None = None, promote: int | None = None
) -> Path:
    """The path of a GEMM: `name` or the architecture's instruction for these inputs, then the rounding."""
    into, out = fmt(inputs), fmt(output)
    source = FORMATS["tf32"] if into.name == "f32" else into
    u = unit(name, arch) if name is not None else default_unit(source, arch)
    if u.instruction.a is not source:
        raise InputError(f"{u.name} reads {u.instruction.a}, not {into}")
    dot = Step("dot", u.name, promote)
    found = Path(f"dot({u.name})", (dot,))
    if not holds(out, held_format(found, arch)):
        return Path(str(found), (dot, Step("round", out.name)))
    return found


def derive(
    k: int | None = None,
    inputs: str = "f16",
    output: str | None = None,
    *,
    arch: str = "sm_90a",
    name: str | None = None,
    promote: int | None = None,
    steps: str | None = None,
    against: str = "kernel",
    data: str = "uniform",
    scale: str | float = 1.0,
    a: Floats | None = None,
    b: Floats | None = None,
    order: str = "any",
    atol: float | None = None,
    rtol: float | None = None,
    seed: int = 0,
) -> Tolerance:
    """The tolerance of a K-long product, and a verdict on `atol` and `rtol`.

    The kernel is `steps` (a path or preset), or `inputs` through the instruction `name` (default: what a
    GEMM on `arch` uses) to `output` (default: f16; the accumulator's type for f64 and integers). It is
    compared `against` "kernel" (another correct one of the same steps, in whatever order of k, split or
    not), "exact" (the exact result), or the path of another kernel. The data are arrays `a` (M, K) and `b`
    (K, N), or drawn: "uniform" in [0, scale) or "normal". InputError for unusable arguments.
    """
    if promote is not None and not 1 <= promote <= 1 << 20:
        raise InputError(f"promote = {promote} is out of range", expected="1 to 1048576")
    if any(value is not None and not 0 <= value < float("inf") for value in (atol, rtol)):
        raise InputError("atol and rtol are finite and not negative")
    if steps is not None and (name is not None or promote is not None):
        raise InputError("a path already names its instruction", expected="steps alone, or unit and promote")
    plain = {**dict.fromkeys(INTEGERS, "s32"), "f64": "f64"}
    into = output or plain.get(fmt(inputs).name, "f16")
    chosen = path(steps, arch) if steps is not None else steps_for(inputs, into, arch, name, promote)
    if chosen.steps[-1].kind == "add":
        raise InputError("a tolerance covers one product", expected="steps without add(...)")
    rival = None if against in AGAINST else path(against, arch)
    stored = fmt(inputs) if steps is None else storage_formats(chosen, *([rival] if rival else []))[0]
    out = held_format(chosen, arch)
    if a is not None and b is not None:
        left, right = _checked(a, "a"), _checked(b, "b")
        k, shown = left.shape[1], "yours"
        accuracies = [of_arrays(p, left[None], right[None], arch, order) for p in (chosen, rival) if p]
        accuracies = [_first(one) for one in accuracies]
    else:
        if k is None or not 1 <= k <= MOST_K:
            raise InputError(f"K = {k} is out of range", expected=f"1 to {MOST_K}")
        drawn = distribution(data, scale)
        shown = f"{drawn}, rounded to {stored}" if isinstance(stored, IntegerFormat) else str(drawn)
        accuracies = [of_data(p, Drawn(k, drawn, stored, stored), arch) for p in (chosen, rival) if p]
        left, right = _sample(drawn, k, stored, seed)
        _refuse_overflow(chosen, drawn, k, stored, out, accuracies)
    one = accuracies[0]
    other = None if against == "exact" else accuracies[-1]
    measured, pair = _measure(chosen, rival, against, left, right, arch)
    suggested, suggested_exact = summary(one, other), summary(one, None)
    given = None
    if atol is not None or rtol is not None:
        given = {"atol": atol or 0.0, "rtol": rtol or 0.0}
    judged = given or suggested
    blind = _blindness(judged, pair, left, right, out)
    user, findings = (None, ()) if given is None else _judge(given, one, other, pair, out)
    u = _unit_of(chosen, arch)
    findings = (*findings, *_blind_finding(blind, u, out), *_about_unit(u))
    formula = "" if u is None else _formula(u, k, _promotion(chosen, k))
    return Tolerance(
        chosen, against, arch, u, k, stored, out, shown, one, other, formula, measured,
        suggested, suggested_exact, blind, user, findings,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Pair:
    """The sample: exact results, what the path gave, what it is compared with."""

    exact: Floats
    actual: Floats
    expected: Floats


def _checked(values: Any, what: str) -> Floats:
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} is not an array of numbers") from None
    if array.ndim != 2 or not array.size or not np.isfinite(array).all():
        raise InputError(f"{what} has shape {array.shape}", expected="a matrix of finite numbers")
    return array


def _first(found: Accuracy) -> Accuracy:
    inner = np.broadcast_to(found.inner, found.size.shape)[0]
    assert found.exact is not None
    return Accuracy(found.size[0], inner, found.unit, found.low, found.exact[0])


def _sample(drawn: Data, k: int, stored: Format, seed: int) -> tuple[Floats, Floats]:
    side = max(2, min(_SAMPLE, math.isqrt(_PRODUCTS // k)))
    a, b = drawn.draw((1, side, side, k), stored, stored, seed)
    return a[0], b[0]


def _refuse_overflow(
    chosen: Path, drawn: Data, k: int, stored: Format, out: Format, accuracies: list[Accuracy]
) -> None:
    """No tolerance where the sums may leave the format: InputError."""
    if all(np.isfinite(one.allowed).all() for one in accuracies):
        return
    most = float(drawn.reach(np.array([float(k)]), stored, stored)[0])
    raise InputError(
        f"sums of K = {k} products, {drawn}, may reach {most:.4g}: {chosen} may overflow",
        expected=f"a wider format than {out} (largest {out.largest:g}), a smaller K or --scale",
    )


def _measure(
    chosen: Path, rival: Path | None, against: str, a: Floats, b: Floats, arch: str
) -> tuple[dict[str, float], _Pair]:
    """The model on the sample: what the path gives, and the other side."""
    side_m, side_n = min(len(a), _SAMPLE), min(b.shape[1], _SAMPLE)
    side_n = max(1, min(side_n, _PRODUCTS // (side_m * a.shape[1]) or 1))
    left, right = a[:side_m], b[:, :side_n]
    if held_format(chosen, arch).bits == 64:  # float64 would measure itself
        left, right = left.astype(np.longdouble), right.astype(np.longdouble)
    exact, size = left @ right, np.abs(left) @ np.abs(right)
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
    return measured, _Pair(exact.astype(np.float64), actual, expected)


def _split(chosen: Path, k: int) -> Path:
    """The same steps with K in two halves: another correct kernel."""

    def halved(step: Step) -> Step:
        return Step("dot", step.argument, split=2) if step.kind == "dot" and step.piece(k) is None else step

    steps = tuple(map(halved, chosen.steps))
    return Path(f"{chosen.name}, split in two", steps)


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


def _judge(
    given: dict[str, float], one: Accuracy, other: Accuracy | None, pair: _Pair, out: Format
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


def _blindness(given: dict[str, float], pair: _Pair, a: Floats, b: Floats, out: Format) -> dict[str, float]:
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


def _blind_finding(blind: dict[str, float], u: Unit | None, out: Format) -> tuple[Finding, ...]:
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


def _unit_of(chosen: Path, arch: str) -> Unit | None:
    return next((unit(step.argument, arch) for step in chosen.steps if step.kind == "dot"), None)


def _promotion(chosen: Path, k: int) -> int | None:
    return next((step.piece(k) for step in chosen.steps if step.kind == "dot"), None)


def _formula(u: Unit, k: int, promote: int | None) -> str:
    """What holds for every input, with S = sum |a b|: the proof's last line in numbers."""
    rate, rule = rates(u), u.rule
    length = min(k, promote or k)
    blocks = -(-length // rule.block)
    cut = f"{(rate.align - rate.grain) * 2.0**rule.fraction_bits:g}*2^-{rule.fraction_bits}"
    if u.accumulator_unit is not None:
        if not u.accumulator_unit:
            return "exact while S is within s32"
        return f"c1 = (1 + 2^-{rule.precision})^{k} - 1 = {float(rate.grown(k)):.3g}"
    if u.add_c_last:
        per = f"(1 + {cut} + {rate.unit:.3g})^{rate.blocks} - 1 an instruction, then an addition"
        return f"{per}: {float(rate.grown(rate.blocks)):.3g} S"
    grown = float(rate.grown(blocks))
    pieces = f" a piece of {length}" if promote and k > promote else ""
    return f"c1 = (1 + {cut} + {rate.unit:.3g})^{blocks} - 1 = {grown:.3g}{pieces}"


def _about_unit(u: Unit | None) -> tuple[Finding, ...]:
    if u is None or u.accumulator_unit is not None or u.rule.accumulator.bits != 32 or u.rule.precision == 24:
        return ()
    message = (
        f"{u.name} keeps {u.rule.fraction_bits} bits below the largest term and returns {u.rule.precision} "
        "significant bits in an f32 register, where PTX speaks of single precision. Drain it to an f32 sum "
        "every 128 k (promotion), or use the warp-level instruction."
    )
    return (Finding("LC405", "note", f"{u.rule.precision}-bit accumulation", message),)
