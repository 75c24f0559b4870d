"""Search for inputs on which a unit is more wrong than `layoutcheck.numerics.bounds` proves possible.

    python -m kernels.numerics.attack --out FILE [--count 1000000] [--seed 1] [--units NAME@ARCH,...]
        [--jobs 1]

Dot products of 1 to 64 instructions, from zero: families built to lose as much as they can (one term sets the
anchor, all others are a hair below the cut; sums end just below the next number; ties to even), the random
kinds of `vectors`, and a climb that mutates the worst found so far. Each is computed by the bit-exact model.
FILE gets, for each unit and bound, the vectors tried, those over the bound, and the largest error as a share
of it. Exit status 1 if any is over.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from kernels.numerics.vectors import KINDS, vectors
from layoutcheck.numerics import bounds
from layoutcheck.numerics.block import Operand
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.bounds import Rates, Step, Sums
from layoutcheck.numerics.formats import Floats, Format
from layoutcheck.numerics.units import unit

Found = dict[str, dict[str, float | int]]  # by bound: vectors, over, largest
BATCH = 20000
UNITS = (
    *((f"mma.m8n8k4.{acc}.f16", "sm_70") for acc in ("f32", "f16")),
    *((f"mma.m16n8k8.{acc}.f16", "sm_75") for acc in ("f32", "f16")),
    *((f"mma.m16n8k16.{acc}.f16", "sm_80") for acc in ("f32", "f16")),
    ("mma.m16n8k16.f32.bf16", "sm_80"),
    ("mma.m16n8k8.f32.tf32", "sm_80"),
    *((f"mma.m16n8k32.{acc}.e4m3", "sm_89") for acc in ("f32", "f16")),
    *((f"wgmma.m64n8k16.{acc}.f16", "sm_90") for acc in ("f32", "f16")),
    ("wgmma.m64n8k16.f32.bf16", "sm_90"),
    ("wgmma.m64n8k8.f32.tf32", "sm_90"),
    *((f"wgmma.m64n8k32.{acc}.{x}", "sm_90") for x in ("e4m3", "e5m2") for acc in ("f32", "f16")),
    *((f"mma.m16n8k32.{acc}.{x}", "sm_90") for x in ("e4m3", "e5m2") for acc in ("f32", "f16")),
    *((f"tcgen05.m64n8k16.{acc}.f16", "sm_100") for acc in ("f32", "f16")),
    ("tcgen05.m64n8k8.f32.tf32", "sm_100"),
    *((f"tcgen05.m64n8k32.{acc}.e4m3", "sm_100") for acc in ("f32", "f16")),
    ("mma.m16n8k32.f32.e4m3", "sm_120"),
)


@dataclass(frozen=True, slots=True)
class Dots:
    """Dot products: a and b (V, K), values of the unit's formats."""

    a: Floats
    b: Floats

    def __getitem__(self, index: object) -> Dots:
        return Dots(self.a[index], self.b[index])


def shares(u: Unit, dots: Dots) -> dict[str, Floats]:
    """|computed - exact| over each bound, for each dot product; 0 where the bound is infinite."""
    rate, k = bounds.rates(u), dots.a.shape[1]
    computed = np.zeros(len(dots.a))
    for start in range(0, k, u.k):
        ks = slice(start, start + u.k)
        one = Operand.of(np.ascontiguousarray(dots.a[:, ks].T), u.instruction.a)
        other = Operand.of(np.ascontiguousarray(dots.b[:, ks].T), u.instruction.b)
        computed = u.step(one, other, computed)
    exact = (dots.a * dots.b).sum(1)
    left = bounds.raised(dots.a, bounds.low(u.instruction.a))
    right = bounds.raised(dots.b, bounds.low(u.instruction.b))
    size = left * right
    sums = Sums(np.abs(exact), size.sum(1), size.max(1))
    slack = bounds.evaluation(k, sums.size)
    allowed = {
        "any order": bounds.any_order(rate, k, sums) + slack,
        "ascending": bounds.running(rate, _steps(rate, dots, size), slack),
    }
    with np.errstate(invalid="ignore"):
        error = np.abs(computed - exact)
        return {name: np.where(np.isfinite(most), error / most, 0.0) for name, most in allowed.items()}


def _steps(rate: Rates, dots: Dots, size: Floats) -> Iterator[Step]:
    length = rate.k if rate.adds else rate.length
    total = np.zeros(len(dots.a))
    before = total
    for start in range(0, dots.a.shape[1], length):
        ks = slice(start, start + length)
        total = total + (dots.a[:, ks] * dots.b[:, ks]).sum(1)
        after = np.abs(total)
        yield Step(before, after, size[:, ks].max(1), size[:, ks].sum(1), np.maximum(before, after))
        before = after


def _held(values: Floats, format_: Format) -> Floats:
    return format_.decode(format_.encode(np.clip(values, -format_.largest, format_.largest), "RZ"))


@cache
def worst_pair(a: Format, b: Format) -> tuple[float, float]:
    """Significands whose product, at most 1, is as near below 1 as the cut of a term can find it.

    For e4m3 that is 126/128 (9 times 14).
    """
    if max(a.fraction_bits, b.fraction_bits) > 3:
        return 2 - 2.0**-a.fraction_bits, 0.5
    pairs = [
        (x / 2.0**a.fraction_bits, y / 2.0**b.fraction_bits)
        for x in range(1 << a.fraction_bits, 2 << a.fraction_bits)
        for y in range(1 << b.fraction_bits, 2 << b.fraction_bits)
    ]
    return max(
        ((x, y * scale) for x, y in pairs for scale in (0.25, 0.5) if x * y * scale < 1), key=math.prod
    )


def _losers(u: Unit, count: int, steps: int, rng: np.random.Generator) -> Dots:
    """One term sets the anchor 2^A; every other is a hair below the cut's unit, or fills the sum.

    The filling term of a block brings the sum to a hair below the next result (towards zero), or to a tie
    whose even neighbour is below (to nearest), so that rounding loses nearly all it can.
    """
    k, rule = u.k * steps, u.rule
    a, b = u.instruction.a, u.instruction.b
    highest = min(a.max_exponent + b.max_exponent, rule.accumulator.max_exponent - 1)
    lowest = min(a.min_exponent + b.min_exponent + rule.fraction_bits + 1, highest)
    anchor = rng.integers(max(lowest, -60), max(min(highest, 60), lowest) + 1, (count, 1))
    grain = anchor - rule.fraction_bits
    last = anchor + 1 - rule.precision  # the step of a result in [2^A, 2^(A+1))
    exponent = np.broadcast_to(grain, (count, k)).copy()
    short = np.ones((count, k), bool)  # a hair below the power of two
    there = np.ones((count, k), bool)
    ties = u.add_c_last and bool(rng.integers(0, 2))  # each later instruction adds half a step of c
    for step in range(steps):
        for group in u.groups:
            at = step * u.k + group[1]
            nearest = rule.rounding == "RNE"
            exponent[:, at : at + 1] = last - 1 if nearest else last
            short[:, at] = not nearest
        first = step * u.k
        if step == 0 or (u.add_c_last and not ties):
            exponent[:, first : first + 1] = anchor
            short[:, first] = False
        elif ties:
            exponent[:, first : first + 1] = anchor - rule.accumulator.precision
            short[:, first] = False
            there[:, first + 1 : first + u.k] = False
    jitter = (rng.random((count, k)) < rng.choice([0.0, 0.0, 0.05, 0.2], (count, 1))) & (exponent != anchor)
    exponent += jitter * rng.integers(-1, 3, (count, k))
    share = np.clip(exponent // 2, exponent - b.max_exponent, exponent - b.min_exponent)
    share = np.clip(share, a.min_exponent, a.max_exponent - 1)
    sign = rng.choice([-1.0, 1.0], (count, 1))
    pair = worst_pair(a, b)
    left = _held(np.ldexp(np.where(short, pair[0], 1.0) * there * sign, share), a)
    right = np.ldexp(np.where(short, pair[1], 1.0), np.clip(exponent - share, -140, 140))
    return Dots(left, _held(right, b))


def _grouped_losers(u: Unit, count: int, steps: int, rng: np.random.Generator) -> Dots:
    """As `_losers`, the anchor among the products that one instruction takes last."""
    dots = _losers(u, count, steps, rng)
    order = np.roll(np.arange(dots.a.shape[1]), rng.integers(1, u.k))
    return Dots(dots.a[:, order], dots.b[:, order])


def _random(u: Unit, count: int, steps: int, rng: np.random.Generator) -> Dots:
    kinds = [kind for kind in KINDS if kind != "special"]
    parts = [vectors(u, str(rng.choice(kinds)), count, int(rng.integers(1 << 30))) for _ in range(steps)]
    a = np.concatenate([u.instruction.a.decode(part[0]) for part in parts], 1)
    b = np.concatenate([u.instruction.b.decode(part[1]) for part in parts], 1)
    return Dots(np.nan_to_num(a, posinf=1.0, neginf=-1.0), np.nan_to_num(b, posinf=1.0, neginf=-1.0))


def _mutated(u: Unit, dots: Dots, rng: np.random.Generator) -> Dots:
    """Some elements moved: by a power of two, to a neighbour, to zero, or copied from another place."""
    parts = []
    for values, format_ in ((dots.a, u.instruction.a), (dots.b, u.instruction.b)):
        where = rng.random(values.shape) < rng.choice([0.02, 0.1, 0.3])
        scaled = values * 2.0 ** rng.integers(-2, 3, values.shape)
        nudged = values * (1 + 2.0**-format_.fraction_bits * rng.integers(-1, 2, values.shape))
        rolled = np.roll(values, int(rng.integers(1, values.shape[1])), 1)
        choice = rng.integers(0, 4, values.shape)
        moved = np.select([choice == 0, choice == 1, choice == 2], [scaled, nudged, rolled], 0.0)
        parts.append(_held(np.where(where, moved, values), format_))
    return Dots(*parts)


FAMILIES = (_losers, _grouped_losers, _losers, _random)


def attack(u: Unit, count: int, seed: int, batch: int = BATCH) -> Found:
    """For each bound: `vectors` tried, how many are `over` it, the `largest` error as a share of it."""
    rng = np.random.default_rng([seed, *f"{u.name}@{u.arch}".encode()])
    found: Found = {}
    best: dict[int, Dots] = {}
    tried = turn = 0
    while tried < count:
        steps = int(rng.choice([1, 1, 2, 2, 4, 4, 8, 8, 64 // len(u.groups)]))
        size = min(batch if steps <= 8 else batch // 10, count - tried)
        if steps in best and rng.random() < 0.5:
            seeds = best[steps]
            dots = _mutated(u, seeds[rng.integers(0, len(seeds.a), size)], rng)
        else:
            dots = FAMILIES[turn % len(FAMILIES)](u, size, steps, rng)
            turn += 1
        tried += size
        got = shares(u, dots)
        for name, share in got.items():
            row = found.setdefault(name, {"vectors": 0, "over": 0, "largest": 0.0})
            row["vectors"] += size
            row["over"] += int((share > 1).sum())
            row["largest"] = max(row["largest"], float(share.max()))
        worst = np.argsort(-got["ascending"])[:64]
        pool = dots[worst]
        if steps in best:
            pool = Dots(np.concatenate([pool.a, best[steps].a]), np.concatenate([pool.b, best[steps].b]))
            pool = pool[np.argsort(-shares(u, pool)["ascending"])[:64]]
        best[steps] = pool
    return found


def options(seed: int = 1) -> argparse.ArgumentParser:
    """The options of an attack."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--jobs", type=int, default=1)
    return parser


def swept(
    module: str, work: Callable[..., Found], tasks: dict[str, Any], arguments: argparse.Namespace
) -> int:
    """`work(task, count, seed)` for each task, in `jobs` processes; the file grows. 1 if any is over."""
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    result: dict[str, object] = {
        "date": time.strftime("%Y-%m-%d"),
        "numpy": np.__version__,
        "command": f"python -m kernels.numerics.{module} --out FILE "
        f"--count {arguments.count} --seed {arguments.seed}",
    }
    rows: dict[str, Any] = {}
    over = 0
    each = [tasks.values(), repeat(arguments.count), repeat(arguments.seed)]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for name, found in zip(tasks, pool.map(work, *each), strict=True):
            rows[name] = found if len(found) > 1 else next(iter(found.values()))
            over += sum(int(row["over"]) for row in found.values())
            told = (f"{bound}: {row['over']} over, {row['largest']:.3f}" for bound, row in found.items())
            print(f"{name:50} {'  '.join(told)}", flush=True)
            arguments.out.write_text(json.dumps({**result, "units": rows}, indent=1) + "\n")
    return int(over > 0)


def main() -> int:
    parser = options()
    parser.add_argument("--units", default="")
    arguments = parser.parse_args()
    chosen = [tuple(name.split("@")) for name in arguments.units.split(",") if name] or list(UNITS)
    return swept("attack", attack, {f"{name} {arch}": unit(name, arch) for name, arch in chosen}, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
