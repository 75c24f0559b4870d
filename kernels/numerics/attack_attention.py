"""Search for inputs on which an emulated attention kernel is more wrong than `of_attention` proves possible.

    python -m kernels.numerics.attack_attention --out FILE [--count 1000000] [--seed 1] [--jobs 1]

A vector is one output: a query with its keys and one column of V. Families: weights that the rounding of P
moves as far as it can, with V of the sign of each error; sums that end on a tie of the accumulator's format
in every block; random values, masked or not; and a climb that mutates the worst V so far. `emulate` computes
each, bit for bit, with an exp that is wrong by up to `exp_error`. FILE gets, for each kernel, the vectors
tried, those over the bound, and the largest error as a share of it. Exit status 1 if any is over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernels.numerics.attack import Found, options, swept
from layoutcheck.numerics.formats import Floats, Format, round_to
from layoutcheck.numerics.fused import Attention, attention, emulate, of_attention

KERNELS = {
    "bf16 to f32": attention("bf16", "f32", sums="weights"),
    "bf16 to f32, P summed": attention("bf16", "f32", sums="p"),
    "f16 to f16, sm_80": attention("f16", "f16", arch="sm_80", sums="weights"),
    "f16, P V in f16": attention(
        "f16", "f16", qk="mma.m16n8k16.f32.f16", pv="mma.m16n8k16.f16.f16", sums="weights"
    ),
    "e4m3 to bf16, P times 256": attention("e4m3", "bf16", p_scale=256, sums="weights"),
    "e4m3 to f32": attention("e4m3", "f32", sums="weights"),
    "f32 (TF32), sm_80": attention("f32", "f32", arch="sm_80", sums="weights"),
    "bf16 to f32, exp wrong by 1e-4": attention("bf16", "f32", exp_error=1e-4, sums="weights"),
}
SCALE = 0.125
ROWS, COLUMNS, DIGITS = 8, 64, 4


@dataclass(frozen=True, slots=True)
class Case:
    """q (M, D), k (N, D), v (N, E), which keys each query sees (None: all), and the keys of a tile."""

    q: Floats
    k: Floats
    v: Floats
    keep: np.ndarray | None = None
    tile: int = 64


def shares(steps: Attention, case: Case, rng: np.random.Generator) -> Floats:
    """|computed - exact| over the bound, (M, E); 0 where the bound is infinite."""

    def wrong(shape: tuple[int, ...]) -> Floats:
        return 0.99 * (steps.exp_error - 2.0**-24) * rng.choice([-1.0, 0.0, 1.0], shape)

    found = of_attention(steps, case.q, case.k, case.v, SCALE, case.keep)
    got = emulate(steps, case.q, case.k, case.v, SCALE, case.keep, case.tile, wrong)
    assert found.exact is not None
    with np.errstate(invalid="ignore"):
        error = np.abs(got - found.exact)
    judged = np.isfinite(found.allowed)
    return np.where(judged, error / np.where(judged, np.maximum(found.allowed, 5e-324), 1.0), 0.0)


def with_weights(weights: Floats, held: Format) -> tuple[Floats, Floats]:
    """q (M, 4 M) and k (N, 4 M) whose softmax has nearly these weights (M, N): a score adds 4 products."""
    rows, keys = weights.shape
    q, k = np.zeros((rows, DIGITS * rows)), np.zeros((keys, DIGITS * rows))
    rest = np.log(weights) / SCALE
    for row in range(rows):
        left = rest[row]
        for digit in range(DIGITS):
            unit = 2.0 ** -(held.precision * digit // 2)
            q[row, DIGITS * row + digit] = unit
            k[:, DIGITS * row + digit] = round_to(left / unit, held)
            left = left - unit * k[:, DIGITS * row + digit]
    return q, k


def ties(steps: Attention, rng: np.random.Generator) -> Case:
    """Weights just beside a tie of P's format (just below the next number, where the unit cuts P)."""
    keys = int(rng.choice([32, 64, 128]))
    cut = steps.p.name == "f32"
    half = 2.0**-10 if cut else steps.p.unit_roundoff
    side = -1.0 if cut else rng.choice([-1.0, 1.0], (ROWS, keys))
    weights = 1 + half * (1 + side * rng.choice([1e-3, 0.01, 0.07, 0.2]))
    weights = weights * 2.0 ** -rng.integers(1, 1 + rng.choice([1, 3, 7]), (ROWS, keys))
    weights[:, 0] = 1.0
    q, k = with_weights(weights, steps.qk.instruction.a)
    s = SCALE * (q @ k.T)
    p = np.exp(s - s.max(1, keepdims=True)) * steps.p_scale
    error = np.sign((round_to(p, steps.pv.instruction.a, "RZ") if cut else round_to(p, steps.p)) - p)
    v = error[rng.integers(0, ROWS, COLUMNS)].T * rng.choice([1.0, 1.0, -1.0, 2.0], (1, COLUMNS))
    v = np.where(rng.random(v.shape) < rng.choice([0.0, 0.1]), 0.0, v)
    v[0] = 0.0
    return Case(q, k, v, tile=int(rng.choice([16, 64])))


def chains(steps: Attention, rng: np.random.Generator) -> Case:
    """One weight of 1; in each later block of k the products sum to half a step of the accumulator."""
    length, keys = len(steps.pv.groups[0]), int(rng.choice([256, 512]))
    unit = steps.pv.rule.accumulator.unit_roundoff
    weights = np.full((1, keys), unit / 16)
    weights[0, ::length], weights[0, 0] = unit, 1.0
    q, k = with_weights(weights, steps.qk.instruction.a)
    v = np.zeros((keys, COLUMNS))
    v[::length] = rng.choice([1.0, 1.0, 0.5], COLUMNS)
    v[rng.random(v.shape) < rng.choice([0.0, 0.02])] = 0.0
    return Case(q, k, v)


def drawn(steps: Attention, rng: np.random.Generator) -> Case:
    """Normal values, now and then masked."""
    keys, depth, size = (
        int(rng.choice([16, 48, 200])),
        int(rng.choice([16, 64])),
        rng.choice([0.01, 1.0, 3.0]),
    )
    held = steps.qk.instruction.a
    q, k, v = (
        round_to(size * rng.standard_normal(x), held) for x in ((ROWS, depth), (keys, depth), (keys, COLUMNS))
    )
    keep = rng.random((ROWS, keys)) < 0.7 if rng.random() < 0.3 else None
    return Case(q, k, v, keep, int(rng.choice([16, 64])))


def mutated(steps: Attention, case: Case, rng: np.random.Generator) -> Case:
    """The same scores with V's columns moved: signs, powers of two, zeros."""
    v = case.v[:, rng.integers(0, case.v.shape[1], COLUMNS)]
    where = rng.random(v.shape) < rng.choice([0.01, 0.05, 0.2])
    moved = v * rng.choice([-1.0, 0.0, 0.5, 2.0], v.shape)
    return Case(
        case.q, case.k, round_to(np.where(where, moved, v), steps.qk.instruction.a), case.keep, case.tile
    )


def attack(steps: Attention, count: int, seed: int) -> Found:
    """`vectors` tried, how many are `over` the bound, the `largest` share of it."""
    rng = np.random.default_rng([seed, *str(steps).encode(), *steps.sums.encode()])
    families = (ties, chains, ties, drawn)
    best: tuple[float, Case] | None = None
    tried = over = turn = 0
    while tried < count:
        if best is not None and turn % 3 == 2:
            case = mutated(steps, best[1], rng)
        else:
            case = families[turn % len(families)](steps, rng)
        turn += 1
        share = shares(steps, case, rng)
        tried, over = tried + share.size, over + int((share > 1).sum())
        if best is None or share.max() > best[0]:
            best = float(share.max()), case
    return {"any order": {"vectors": tried, "over": over, "largest": 0.0 if best is None else best[0]}}


def main() -> int:
    return swept("attack_attention", attack, KERNELS, options().parse_args())


if __name__ == "__main__":
    raise SystemExit(main())
