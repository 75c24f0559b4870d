"""Fused attention, composed of its parts: how wrong a correct kernel may be, and the proof.

O = softmax(scale Q K^T) V, one row of Q at a time. A kernel computes the scores S on a tensor core, weights
by exp in f32 below a running maximum, their sum in f32, P by rounding the weights to a format, P V on a
tensor core, and divides. Write s_j for the exact scaled scores, a_j = exp(s_j - max s), A = sum a_j >= 1,
O = sum a_j v_j / A, and u = 2^-24.

1. Scores. S_j is off by at most the bound of Q K^T (`accuracy`), times scale. What follows in f32 (scale
   log2(e) and its products, the difference from the maximum, and the differences of successive maxima,
   which telescope since maxima only grow) is off by at most 16 u max |s|. Together d_j. The maximum itself
   is common to all weights and cancels.
2. Weights. exp and each of R rescalings lose a factor within 1 +- (exp_error + u). So the kernel's weight is
   b_j with |b_j - a_j| <= beta_j = a_j (exp(d_j) (1 - exp_error - u)^-(R + 1) - 1) + R 2^-126, the last for
   what is flushed to zero. Numerator and denominator have the same b_j.
3. P. Rounding loses rho_j = u_p max(low_p / p_scale, a_j + beta_j). A tile's rounding happens below an
   earlier, lower maximum; the rescaling by at most 1 that follows shrinks it, so this holds for each tile.
4. Denominator. N + R additions and products of positive numbers: L = (1 + psi) times the sum of the weights
   b_j, or of the rounded P; |psi| <= (1 + u)^(N + R) - 1. Write eta_j = beta_j where it is known to be the
   weights' (`sums`), beta_j + rho_j otherwise.
5. P V is a chain of rounded P: off by E, the bound for every order (`bounds`), and R products by the
   rescaling. In units of the last maximum each step's loss only shrinks, as in 3.

Since sum a_j (v_j - O) = 0, the result is off by at most

    (sum (beta_j + rho_j) |v_j| + |O| (sum eta_j + psi (A + sum eta_j)) + E) / ((A - sum eta_j) (1 - psi)),

then by the division (4 u, for an approximate reciprocal and its product) and the rounding to the output.
Where the denominator is not positive the bound is infinite.

Not covered: softmax without a maximum, Q scaled before its rounding, soft caps, dropout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from layoutcheck.errors import InputError
from layoutcheck.numerics import bounds
from layoutcheck.numerics.accuracy import Accuracy, of_arrays, rounded
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.bounds import F32_UNIT, Sums
from layoutcheck.numerics.data import generator
from layoutcheck.numerics.formats import FORMATS, Floats, Format, IntegerFormat, fmt, holds, round_to
from layoutcheck.numerics.paths import Path, Step, relative_difference
from layoutcheck.numerics.units import default_unit, unit

EXP_ERROR = 2.0**-22  # ex2.approx.f32 and expf: relative, PTX ISA and CUDA C++ Programming Guide
SUMS = ("any", "weights", "p")
_LOG2E = np.float32(math.log2(math.e))


@dataclass(frozen=True, slots=True)
class Attention:
    """The steps of a fused attention kernel: the units of Q K^T and P V, and what is rounded where.

    P is multiplied by `p_scale`, a power of two, before it is rounded to `p` (FP8 kernels use 256).
    `exp_error` is the largest relative error of the kernel's exp. The denominator `sums` the "weights" before
    they are rounded (FlashAttention), the rounded "p", or either of them, "any".
    """

    qk: Unit
    pv: Unit
    p: Format
    output: Format
    exp_error: float = EXP_ERROR
    p_scale: float = 1.0
    sums: str = "any"

    def __str__(self) -> str:
        scaled = "" if self.p_scale == 1 else f", times {self.p_scale:g}"
        return f"dot({self.qk.name}) softmax(f32) P in {self.p}{scaled} dot({self.pv.name}) to {self.output}"


def attention(
    inputs: str = "bf16",
    output: str | None = None,
    *,
    p: str | None = None,
    qk: str | None = None,
    pv: str | None = None,
    arch: str = "sm_90a",
    exp_error: float = EXP_ERROR,
    p_scale: float = 1.0,
    sums: str = "any",
) -> Attention:
    """The steps of a kernel: `inputs` is the type of Q, K and V, `p` that of P (default: the same).

    `qk` and `pv` name the instructions (default: what a GEMM of those types uses on `arch`); `sums` says what
    the denominator adds up, where that is known: the bound is then tighter. InputError where an instruction
    does not read its type, `exp_error` or `p_scale` is out of range, or `sums` is none of `SUMS`.
    """
    for named in (inputs, output, p):
        if named is not None and (fmt(named).bits == 64 or isinstance(fmt(named), IntegerFormat)):
            raise InputError(f"no attention in {fmt(named)} is modelled", expected="f32 and narrower floats")
    if sums not in SUMS:
        raise InputError(f"sums = '{str(sums)[:40]}' is unknown", expected=", ".join(SUMS))
    into = fmt(inputs)
    weights = into if p is None else fmt(p)
    first = default_unit(_read(into), arch) if qk is None else unit(qk, arch)
    second = default_unit(_read(weights), arch) if pv is None else unit(pv, arch)
    for what, one, side, held in (
        ("Q", first, "a", into),
        ("K", first, "b", into),
        ("P", second, "a", weights),
        ("V", second, "b", into),
    ):
        if getattr(one.instruction, side) is not _read(held):
            raise InputError(f"{one.name} does not read {what} in {held}", expected=f"a unit of {held}")
    if not 0 <= exp_error <= 0.01:
        raise InputError(f"exp_error = {exp_error} is out of range", expected="0 to 0.01")
    most = min(weights.largest / 1.5, 2.0**16)  # the largest weight is 1, and a little more
    if not 1 <= p_scale <= most or math.frexp(p_scale)[0] != 0.5:
        raise InputError(
            f"p_scale = {p_scale} is out of range", expected=f"a power of two from 1 to {most:g}"
        )
    stored = into if output is None else fmt(output)
    return Attention(first, second, weights, stored, exp_error, p_scale, sums)


def _read(held: Format) -> Format:
    return FORMATS["tf32"] if held.name == "f32" else held


def of_attention(
    steps: Attention, q: Floats, k: Floats, v: Floats, scale: float, keep: Any = None
) -> Accuracy:
    """The accuracy of each output (M, E) for values q (M, D), k (N, D), v (N, E): the proof above.

    `keep` (M, N) is False where a key is masked. A row with no key has no result: its bound is infinite.
    InputError for shapes that do not fit.
    """
    kept = _kept(q, k, v, keep)
    count = k.shape[0]
    scores = of_arrays(Path("QK", (Step("dot", steps.qk.name),)), q[None], k.T[None], steps.qk.arch)
    assert scores.exact is not None
    s = np.where(kept, scale * scores.exact[0], -np.inf)
    off = abs(scale) * np.broadcast_to(scores.allowed, scores.exact.shape)[0]
    top = s.max(1, keepdims=True)
    empty = ~kept.any(1, keepdims=True)
    a = np.exp(s - np.where(empty, 0.0, top))
    widest = np.where(kept, np.abs(s) + off, 0.0).max(1, keepdims=True)
    d = np.where(kept, off, 0.0) + 16 * F32_UNIT * widest + (count + 8) * 2.0**-52
    rescalings = -(-count // steps.pv.k)
    grown = (rescalings + 1) * -math.log1p(-(steps.exp_error + F32_UNIT))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        beta = np.where(kept, a * np.expm1(d + grown) + rescalings * 2.0**-126, 0.0)
        lift = np.exp(d.max(1, keepdims=True))
        least = bounds.low(steps.p) / steps.p_scale * lift
        rounded = 0.0 if holds(steps.p, FORMATS["f32"]) else steps.p.unit_roundoff
        rho = np.where(kept, rounded * np.maximum(least, a + beta), 0.0)
        summed = beta if steps.sums == "weights" else beta + rho
        whole, lost = a.sum(1, keepdims=True), summed.sum(1, keepdims=True)
        exact = (a @ v) / whole
        psi = math.expm1((count + rescalings) * F32_UNIT * (1 + F32_UNIT))
        weights = np.where(kept, np.maximum(least, a + beta + rho), 0.0)
        error = (beta + rho) @ np.abs(v) + np.abs(exact) * (lost + psi * (whole + lost))
        error = (
            error + _product(steps, weights, v, lift, rescalings) + (count + 8) * 2.0**-52 * (a @ np.abs(v))
        )
        smallest = (whole - lost) * (1 - psi)
        inner = np.where((smallest > 0) & ~empty, error / smallest, np.inf)
        inner = inner + 4 * F32_UNIT * (np.abs(exact) + inner)
    exact = np.where(empty, 0.0, exact)
    return _stored(exact, np.where(np.isnan(inner), np.inf, inner), steps.output)


def _product(steps: Attention, weights: Floats, v: Floats, lift: Floats, rescalings: int) -> Any:
    """The bound of the chain P V, whose P is at most `weights`: the proof's E."""
    rate = bounds.rates(steps.pv)
    held = steps.pv.instruction.b
    exactly = np.array_equal(round_to(v, held), v)
    kappa = 0.0 if exactly else 2.0**-10 if held.name == "tf32" else held.unit_roundoff
    if steps.p.name == "f32":  # the unit cuts P itself to tf32
        kappa = (1 + kappa) * (1 + 2.0**-10) - 1
    size_of_v = bounds.raised(v, bounds.low(held)) * (1 + kappa)
    size = weights @ size_of_v
    top = weights.max(1, keepdims=True) * size_of_v.max(0, keepdims=True)
    # In units of the kernel's P: the accumulator's smallest number counts there, and its largest.
    unscaled = lift / steps.p_scale
    sums = Sums(size / unscaled, size / unscaled, top / unscaled)
    error = bounds.any_order(rate, len(v), sums)
    widest = np.maximum(np.maximum(rate.low, sums.top), sums.reach)
    return bounds.added(rate, error, widest, rescalings + 1) * unscaled + kappa * size


def _stored(exact: Floats, inner: Floats, output: Format) -> Accuracy:
    if output.name == "f32":
        return Accuracy(np.abs(exact), inner, exact=exact)
    return replace(rounded(np.abs(exact), inner, output), exact=exact)


def _kept(q: Floats, k: Floats, v: Floats, keep: Any) -> Any:
    fits = all(x.ndim == 2 and x.size for x in (q, k, v))
    if not fits or q.shape[1] != k.shape[1] or len(k) != len(v):
        raise InputError(f"q {q.shape}, k {k.shape}, v {v.shape}", expected="(M, D), (N, D) and (N, E)")
    kept = np.ones((len(q), len(k)), bool) if keep is None else np.asarray(keep)
    if kept.shape != (len(q), len(k)) or kept.dtype != bool:
        raise InputError(f"mask {kept.shape} of {kept.dtype}", expected=f"{(len(q), len(k))} of bool")
    return kept


def emulate(
    steps: Attention,
    q: Floats,
    k: Floats,
    v: Floats,
    scale: float,
    keep: Any = None,
    tile: int = 64,
    noise: Any = None,
) -> Floats:
    """A flash-attention kernel of these steps: online softmax over tiles of keys, both products bit-exact.

    The denominator adds up the weights, or P where `sums` says so. f32 arithmetic is numpy's. `noise(shape)`
    gives the relative error of each exp beyond its rounding; none by default. Values (M, E) of the output's
    format.
    """
    kept = _kept(q, k, v, keep)
    f32, factor = np.float32, np.float32(scale) * _LOG2E
    top = np.full((len(q), 1), -np.inf, f32)
    total, out = np.zeros((len(q), 1), f32), np.zeros((len(q), v.shape[1]))

    def power(x: Any) -> Any:
        result = np.exp2(x.astype(np.float64))
        return (result if noise is None else result * (1 + noise(x.shape))).astype(f32)

    with np.errstate(invalid="ignore", under="ignore"):
        for start in range(0, len(k), tile):
            ks = slice(start, start + tile)
            scores = steps.qk.chain(q, np.ascontiguousarray(k[ks].T), np.zeros((len(q), len(k[ks]))))
            scaled = np.where(kept[:, ks], scores.astype(f32) * factor, f32(-np.inf)).astype(f32)
            before, top = top, np.maximum(top, scaled.max(1, keepdims=True))
            reference = np.where(np.isfinite(top), top, f32(0))
            alpha = np.where(np.isfinite(before), power(before - reference), f32(0)).astype(f32)
            weights = power(scaled - reference)
            rounded = weights.astype(np.float64) * steps.p_scale
            if steps.p.name != "f32":
                rounded = round_to(rounded, steps.p)
            added = (rounded / steps.p_scale).astype(f32) if steps.sums == "p" else weights
            total = total * alpha + added.sum(1, keepdims=True, dtype=f32)
            read = steps.pv.instruction
            left = round_to(rounded, read.a, "RZ") if read.a.name == "tf32" else rounded
            right = round_to(v[ks], read.b, "RZ" if read.b.name == "tf32" else "RNE")
            out = steps.pv.chain(left, right, (out.astype(f32) * alpha).astype(np.float64))
        result = (out.astype(f32) / f32(steps.p_scale) / total).astype(np.float64)
    return result if steps.output.name == "f32" else round_to(result, steps.output)


def metrics(
    steps: Attention, keys: int, head_dim: int, queries: int = 16, scale_of_data: float = 1.0, seed: int = 0
) -> dict[str, Any]:
    """The emulated kernel's error by each metric, on normal data; InputError for sizes out of range."""
    if min(keys, head_dim, queries) < 1 or keys * head_dim * queries > 1 << 26:
        given = f"{keys} keys, head dimension {head_dim}, {queries} queries"
        raise InputError(given, expected="numbers above 0, their product at most 2^26")
    rng, held = generator(seed, keys, head_dim, queries), steps.qk.instruction.a
    q, k, v = (
        round_to(scale_of_data * rng.standard_normal((rows, head_dim)), held)
        for rows in (queries, keys, keys)
    )
    found, got = of_attention(steps, q, k, v, head_dim**-0.5), emulate(steps, q, k, v, head_dim**-0.5)
    assert found.exact is not None
    exact = found.exact
    reference = exact if steps.output.name == "f32" else round_to(exact, steps.output)
    scores = head_dim**-0.5 * (q @ k.T)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    rounded = weights
    if steps.p.name != "f32":
        rounded = round_to(weights * steps.p_scale, steps.p) / steps.p_scale
    largest, mean = relative_difference(got, reference)
    error = np.abs(got - exact)
    worst = np.unravel_index(int(np.argmax(error)), error.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(reference != 0, np.abs(got - reference) / np.abs(reference), 0.0)
    return {
        "path": str(steps),
        "keys": keys,
        "head_dim": head_dim,
        "weights_largest_relative": relative_difference(rounded, weights)[0],
        "row_sum_off": float(np.abs(rounded.sum(1) / weights.sum(1) - 1).max()),
        "largest_relative": largest,
        "mean_relative": mean,
        "where_largest": float(reference.flat[int(np.argmax(relative))]),
        "rms": float(np.sqrt(np.mean(reference**2))),
        "rms_difference": float(np.sqrt(np.mean((got - reference) ** 2) / np.mean(reference**2))),
        "largest_error": float(error[worst]),
        "bound_there": float(found.allowed[worst]),
        "largest_share": float((error / found.allowed).max()),
    }
