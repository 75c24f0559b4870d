"""Tolerances that are derived: how wrong a correct kernel may be, and what a given atol and rtol test.

With S = |A| |B| + |C| elementwise, blocks of n products cut F bits below their largest term, and u_acc the
relative error of one rounding of the accumulator, one block adds at most eps = n 2^-F + u_acc, relative to
its own S, so a chain of q = K / n blocks gives

    |computed - exact| <= c1 S,   c1 = (1 + eps)^q - 1,

and rounding to the output adds u_out (|exact| + c1 S) and half its smallest step. This is the block-FMA
analysis of Blanchard, Higham, Lopez, Mary & Pranesh (SIAM J. Sci. Comput. 42, C124, 2020) with the adder that
cuts put in. Bounds in sqrt(K) do not apply: they need rounding errors of mean zero, and cutting has a bias.
Inputs are taken to be normal numbers; what subnormal inputs lose besides is below one step of their product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutcheck.errors import InputError
from layoutcheck.findings import Finding, verdict
from layoutcheck.numerics.formats import FORMATS, Floats, Format, fmt, round_to, ulp
from layoutcheck.numerics.paths import draw
from layoutcheck.numerics.units import Unit, unit

_SAMPLE = 32  # outputs a side that the model is run on


@dataclass(frozen=True, slots=True)
class Bound:
    """`c1` as above; `blocks` the chain's length; `eps` of one block; the sentence that derives it."""

    c1: float
    eps: float
    blocks: int
    formula: str

    def allowed(self, exact: Floats, size: Floats, output: Format) -> Floats:
        """The largest error of each output: `exact` its true value, `size` its S."""
        inner = self.c1 * size
        return inner + output.unit_roundoff * (np.abs(exact) + inner) + output.smallest / 2


def bound(u: Unit, k: int, promote: int | None = None, rounded_inputs: Format | None = None) -> Bound:
    """The bound for a chain of `u` over `k` products, with the accumulator drained every `promote`.

    `rounded_inputs`: the exact result is that of wider inputs, rounded to this format first.
    """
    if k < 1 or (promote is not None and promote < 1):
        raise InputError(f"K is a positive number, not {k if k < 1 else promote}")
    rule = u.rule
    accumulator = 2.0 ** -(rule.precision if rule.rounding == "RNE" else rule.precision - 1)
    eps = rule.block * 2.0**-rule.fraction_bits + accumulator
    length = min(k, promote or k)
    if u.add_c_last:
        blocks = len(u.groups)
        additions = -(-length // u.k)
        add = FORMATS["f32"].unit_roundoff if rule.accumulator.bits == 32 else rule.accumulator.unit_roundoff
        c1 = float(np.expm1(blocks * np.log1p(eps) + additions * np.log1p(add)))
        formula = f"(1 + {rule.block}*2^-{rule.fraction_bits} + u)^{blocks} (1 + u_add)^{additions} - 1"
    else:
        blocks = -(-length // rule.block)
        c1 = float(np.expm1(blocks * np.log1p(eps)))
        formula = f"(1 + {rule.block}*2^-{rule.fraction_bits} + {accumulator:.3g})^{blocks} - 1"
    if promote is not None and k > promote:
        sums = -(-k // promote)
        c1 = float((1 + c1) * (1 + 2.0**-24) ** sums - 1)
        formula = f"(1 + {formula})(1 + 2^-24)^{sums} - 1"
    if rounded_inputs is not None:
        c1 = float((1 + c1) * (1 + rounded_inputs.unit_roundoff) ** 2 - 1)
        formula = f"(1 + {formula})(1 + 2^-{rounded_inputs.precision})^2 - 1"
    return Bound(c1, eps, blocks, f"c1 = {formula} = {c1:.3g}")


def exact_integer_limit(u: Unit) -> int:
    """Integer data are summed exactly while sum |a b| stays within this: there the tolerance is 0."""
    return int(2 ** (min(u.rule.fraction_bits, u.rule.precision - 1) + 1))


def error_over_size(output: Floats, exact: Floats, size: Floats) -> Floats:
    """|output - exact| / S, the measure that the bound is in; 0 where S is 0."""
    return np.divide(np.abs(output - exact), size, out=np.zeros_like(size), where=size > 0)


def rms_error(output: Floats, exact: Floats) -> float:
    """Root mean square of the error over that of the exact values: no single small output decides it."""
    scale = float(np.sqrt(np.mean(np.square(exact))))
    return float(np.sqrt(np.mean(np.square(output - exact)))) / scale if scale else 0.0


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What `derive` found: the bound, a sample of the model, and the verdict on the user's numbers."""

    unit: Unit
    k: int
    inputs: Format
    output: Format
    data: str
    bound: Bound
    measured: dict[str, float]
    suggested: dict[str, float]
    user: dict[str, float] | None
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "unit": self.unit.describe(),
            "K": self.k,
            "in": self.inputs.name,
            "out": self.output.name,
            "data": self.data,
            "bound": {"c1": self.bound.c1, "eps": self.bound.eps, "blocks": self.bound.blocks},
            "formula": self.bound.formula,
            "exact_integer_limit": exact_integer_limit(self.unit),
            "model": self.measured,
            "suggested": self.suggested,
            "user": self.user,
            "verdict": verdict(self.findings),
            "findings": [finding.to_dict() for finding in self.findings],
        }


def derive(
    k: int,
    inputs: str = "f16",
    output: str = "f16",
    *,
    arch: str = "sm_90a",
    name: str | None = None,
    promote: int | None = None,
    data: str = "uniform",
    atol: float | None = None,
    rtol: float | None = None,
    seed: int = 0,
) -> Tolerance:
    """The tolerance of a K-long product of `inputs` on a tensor core, and a verdict on `atol` and `rtol`.

    `name` picks the instruction (default: the architecture's f32-accumulating one for these inputs), `data`
    the values the verdict is about: "uniform" in [0, 1) or "normal". InputError for unusable arguments.
    """
    into, out = fmt(inputs), fmt(output)
    if not 1 <= k <= 1 << 20:
        raise InputError(f"K = {k} is out of range", expected="1 to 1048576")
    if any(value is not None and not 0 <= value < float("inf") for value in (atol, rtol)):
        raise InputError("atol and rtol are finite and not negative")
    source = FORMATS["tf32"] if into.name == "f32" else into
    u = unit(name or _default_unit(source, arch), arch)
    if u.instruction.a is not source:
        raise InputError(f"{u.name} reads {u.instruction.a}, not {into}")
    limit = bound(u, k, promote, source if into is not source else None)
    a, b = (part[0] for part in draw(data, 1, _SAMPLE, _SAMPLE, k, seed, into))
    exact, size = a @ b, np.abs(a) @ np.abs(b)
    computed = round_to(_computed(u, round_to(a, source), round_to(b, source), promote), out)
    over, allowed = error_over_size(computed, exact, size), limit.allowed(exact, size, out)
    measured = {
        "max_error_over_S": float(over.max()),
        "mean_error_over_S": float(np.mean((computed - exact) / size)),
        "rms_error": rms_error(computed, exact),
        "bound_over_max_error": float(np.min(allowed / np.abs(computed - exact).clip(1e-300))),
    }
    relative = limit.c1 * float(np.max(size / np.abs(exact).clip(1e-300)))
    suggested = {
        "atol": float(limit.c1 * size.max() + out.smallest / 2),
        "rtol": out.unit_roundoff * (1 + limit.c1),
        "rtol_alone": relative + out.unit_roundoff * (1 + relative),
    }
    if atol is None and rtol is None:
        return Tolerance(u, k, into, out, data, limit, measured, suggested, None, _about_unit(u))
    given = (atol or 0.0) + (rtol or 0.0) * np.abs(exact)
    user, findings = _judge(u, k, out, given, exact, size, computed, limit)
    user |= {"atol": atol or 0.0, "rtol": rtol or 0.0}
    return Tolerance(u, k, into, out, data, limit, measured, suggested, user, (*findings, *_about_unit(u)))


def _default_unit(inputs: Format, arch: str) -> str:
    from layoutcheck.numerics.parameters import family

    if family(arch) == 70:
        return "mma.m8n8k4.f32.f16"
    if family(arch) == 75:
        return "mma.m16n8k8.f32.f16"
    short = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}.get(inputs.name, inputs.name)
    return f"mma.m16n8k{256 // inputs.bits}.f32.{short}"


def _computed(u: Unit, a: Floats, b: Floats, promote: int | None) -> Floats:
    zero = np.zeros((a.shape[0], b.shape[1]))
    if promote is None:
        return u.chain(a, b, zero)
    total = zero
    for start in range(0, a.shape[1], promote):
        ks = slice(start, start + promote)
        total = round_to(total + u.chain(a[:, ks], b[ks], zero), FORMATS["f32"])
    return total


def _judge(
    u: Unit, k: int, out: Format, given: Floats, exact: Floats, size: Floats, computed: Floats, limit: Bound
) -> tuple[dict[str, float], tuple[Finding, ...]]:
    """Numbers and findings about the tolerance `given` for each output of the sample."""
    step = ulp(exact, out)
    allowed = limit.allowed(exact, size, out)
    term = size / k  # the mean |a b| of each output
    user = {
        "below_one_step": float(np.mean(given < step)),
        "below_bound": float(np.mean(given < allowed)),
        "blind_to_one_product": float(np.mean(given + step / 2 >= term)),
        "model_outside": float(np.mean(np.abs(computed - exact) > given)),
    }
    found = []
    if user["below_one_step"] == 1.0:
        message = (
            f"every output is at least {float(np.abs(exact).min()):.4g} in size, where one step of {out} is "
            f"{float(step.min()):.4g} or more; the tolerance is at most {float(given.max()):.4g}. Two "
            "correct kernels that add in another order differ by a step now and then, and fail."
        )
        title = f"a bit-equality test: below one {out} step at every output"
        found.append(Finding("LC402", "wrong", title, message, evidence={"step": float(step.min())}))
    elif user["below_bound"] > 0:
        severity = "wrong" if user["model_outside"] > 0 else "note"
        message = (
            f"{user['below_bound']:.1%} of the outputs may be wrong by more than the tolerance "
            f"({limit.formula}); on the sample {user['model_outside']:.1%} are."
        )
        found.append(
            Finding("LC404", severity, "below the derived bound", message, evidence={"c1": limit.c1})
        )
    if user["blind_to_one_product"] >= 0.5:
        by_format = float(np.mean(step / 2 >= term))
        cause = f"one {out} step already hides it" if by_format >= 0.5 else "the tolerance is wider than it"
        message = (
            f"a typical product is {float(np.median(term)):.3g}, and {cause} in "
            f"{user['blind_to_one_product']:.0%} of the outputs: a kernel that skips one k passes. "
            f"Test the indexing with small integers, exact up to a sum of {exact_integer_limit(u)}."
        )
        evidence = {"hidden_by_output": by_format}
        found.append(Finding("LC403", "note", "cannot see a missing product", message, evidence=evidence))
    return user, tuple(found)


def _about_unit(u: Unit) -> tuple[Finding, ...]:
    if u.rule.accumulator.bits != 32 or u.rule.precision == 24:
        return ()
    message = (
        f"{u.name} keeps {u.rule.fraction_bits} bits below the largest term and returns {u.rule.precision} "
        "significant bits in an f32 register, where PTX speaks of single precision. Drain it to an f32 sum "
        "every 128 k (promotion), or use the warp-level instruction."
    )
    return (Finding("LC405", "note", f"{u.rule.precision}-bit accumulation", message),)
