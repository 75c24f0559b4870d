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
from types import NoneType
from typing import Any

import numpy as np

from layoutcheck.algebra.inttuple import must_be
from layoutcheck.errors import InputError
from layoutcheck.findings import Finding, verdict
from layoutcheck.numerics.accuracy import ORDERS, Accuracy, Drawn, accuracy, of_arrays
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.bounds import rates, round_loss
from layoutcheck.numerics.data import Data
from layoutcheck.numerics.data import data as distribution
from layoutcheck.numerics.formats import FORMATS, Floats, Format, IntegerFormat, fmt, holds
from layoutcheck.numerics.names import INTEGERS
from layoutcheck.numerics.paths import Path, Step, held_format, path, storage_formats
from layoutcheck.numerics.sample import measure, sample
from layoutcheck.numerics.sensitivity import blind_finding, blindness, exact_integer_limit, judge
from layoutcheck.numerics.units import default_unit, unit

MOST_K = 1 << 17  # the model runs on a sample of the whole K, in seconds
AGAINST = ("kernel", "exact")


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
    (K, N), or drawn: "uniform" in [0, scale) or "normal".
    Raises InputError for unusable arguments.
    """
    must_be((int, np.integer, NoneType), "a whole number", k=k, promote=promote, seed=seed)
    must_be(str, "text", arch=arch, against=against, data=data, order=order)
    if order not in ORDERS:
        raise InputError(f"no order '{order[:40]}'", expected=" or ".join(ORDERS))
    if any(value is not None and not 0 <= value < float("inf") for value in (atol, rtol)):
        raise InputError("atol and rtol are finite and not negative")
    chosen = _chosen(steps, inputs, output, arch, name, promote)
    rival = None if against in AGAINST else path(against, arch)
    both = [chosen, *([rival] if rival else [])]
    stored = fmt(inputs) if steps is None else storage_formats(*both)[0]
    out = held_format(chosen, arch)
    if a is not None and b is not None:
        left, right = _checked(a, "a"), _checked(b, "b")
        k, shown = left.shape[1], "yours"
        accuracies = [_first(of_arrays(p, left[None], right[None], arch, order)) for p in both]
    elif a is not None or b is not None:
        raise InputError("a and b must be given together")
    elif order != "any":
        raise InputError("order is of a and b: drawn data have none")
    else:
        k, drawn = _length(k), distribution(data, scale)
        shown = f"{drawn}, rounded to {stored}" if isinstance(stored, IntegerFormat) else str(drawn)
        accuracies = [accuracy(p, Drawn(k, drawn, stored, stored), arch) for p in both]
        left, right = sample(drawn, k, stored, seed)
        _refuse_overflow(chosen, drawn, k, stored, out, accuracies)
    one, other = accuracies[0], None if against == "exact" else accuracies[-1]
    measured, pair = measure(chosen, rival, against, left, right, arch)
    suggested = summary(one, other)
    given = None if atol is None and rtol is None else {"atol": atol or 0.0, "rtol": rtol or 0.0}
    user, findings = (None, ()) if given is None else judge(given, one, other, pair, out)
    blind = blindness(given or suggested, pair, left, right, out)
    dot = next((step for step in chosen.steps if step.kind == "dot"), None)
    u = None if dot is None else unit(dot.argument, arch)
    return Tolerance(
        path=chosen, against=against, arch=arch, unit=u, k=k, inputs=stored, output=out, data=shown,
        accuracy=one, other=other,
        formula="" if u is None or dot is None else _formula(u, k, dot.piece(k)),
        measured=measured, suggested=suggested, suggested_exact=summary(one, None), blind=blind, user=user,
        findings=(*findings, *blind_finding(blind, u, out), *_about_unit(u)),
    )  # fmt: skip


def _chosen(
    steps: str | None, inputs: str, output: str | None, arch: str, name: str | None, promote: int | None
) -> Path:
    """The kernel's path, of one product."""
    if promote is not None and not 1 <= promote <= 1 << 20:
        raise InputError(f"promote = {promote} is out of range", expected="1 to 1048576")
    if steps is not None and (name is not None or promote is not None):
        raise InputError("a path already names its instruction", expected="steps alone, or unit and promote")
    plain = {**dict.fromkeys(INTEGERS, "s32"), "f64": "f64"}
    into = output or plain.get(fmt(inputs).name, "f16")
    chosen = path(steps, arch) if steps is not None else steps_for(inputs, into, arch, name, promote)
    if chosen.steps[-1].kind == "add":
        raise InputError("a tolerance covers one product", expected="steps without add(...)")
    return chosen


def _length(k: int | None) -> int:
    if k is None:
        raise InputError(
            "K, the products in a sum, is missing", expected=f"1 to {MOST_K}, or matrices a and b"
        )
    if not 1 <= k <= MOST_K:
        raise InputError(f"K = {k} is out of range", expected=f"1 to {MOST_K}")
    return k


def _checked(values: Any, what: str) -> Floats:
    try:
        array = np.asarray(values)
        array = array.astype(np.float64, casting="same_kind" if array.dtype.kind == "c" else "unsafe")
    except (TypeError, ValueError):
        raise InputError(f"{what} is not an array of real numbers", expected="a matrix of floats") from None
    if array.ndim != 2 or not array.size or not np.isfinite(array).all():
        raise InputError(f"{what} has shape {array.shape}", expected="a matrix of finite numbers")
    return array


def _first(found: Accuracy) -> Accuracy:
    inner = np.broadcast_to(found.inner, found.size.shape)[0]
    assert found.exact is not None
    return Accuracy(found.size[0], inner, found.unit, found.low, found.exact[0])


def _refuse_overflow(
    chosen: Path, drawn: Data, k: int, stored: Format, out: Format, accuracies: list[Accuracy]
) -> None:
    """No tolerance where the sums may leave the format: InputError."""
    if all(np.isfinite(one.allowed).all() for one in accuracies):
        return
    most = float(drawn.reach(np.array([float(k)]), stored, stored)[0])
    raise InputError(
        f"sums of K = {k} products, {drawn}, may reach {most:.4g}: {chosen} may overflow",
        expected=f"a wider format than {out} (largest {out.largest:g}), a smaller K or scale",
    )


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
