"""Search for inputs on which a block-scaled unit is more wrong than `ScaledUnit.allowed` proves possible.

    python -m kernels.numerics.attack_scaled --out FILE [--count 1000000] [--seed 1] [--jobs 1]

Dot products of 1 to 32 instructions, from zero: random elements and scales; one block whose scale sets the
anchor while the others lie a few bits about the cut; and a climb from the worst so far. FILE gets, for each
unit, the vectors tried, those over the bound, and the largest error as a share of it.
"""

from __future__ import annotations

import numpy as np

from kernels.numerics.attack import Found, options, swept, worst_pair
from layoutcheck.numerics.formats import FORMATS, Floats
from layoutcheck.numerics.scaled import ScaledUnit, decode_scale, scaled_unit

UNITS = (
    ("tcgen05.m128n64k32.mxf8f6f4.block32.f32.e4m3.e4m3.ue8m0", "sm_100"),
    ("tcgen05.m128n64k32.mxf8f6f4.block32.f32.e5m2.e5m2.ue8m0", "sm_100"),
    ("tcgen05.m128n64k32.mxf8f6f4.block32.f32.e2m3.e3m2.ue8m0", "sm_100"),
    ("tcgen05.m128n64k32.mxf8f6f4.block32.f32.e2m1.e2m1.ue8m0", "sm_100"),
    ("tcgen05.m128n64k64.mxf4.block32.f32.e2m1.e2m1.ue8m0", "sm_100"),
    ("tcgen05.m128n64k64.mxf4nvf4.block16.f32.e2m1.e2m1.ue4m3", "sm_100"),
    ("tcgen05.m128n64k64.mxf4nvf4.block16.f32.e2m1.e2m1.ue8m0", "sm_100"),
    ("mma.m16n8k32.mxf8f6f4.block32.f32.e4m3.e4m3.ue8m0", "sm_120"),
    ("mma.m16n8k64.mxf4nvf4.block16.f32.e2m1.e2m1.ue4m3", "sm_120"),
)
Codes = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # a, b (V, K), their scales (V, K / block)


def shares(u: ScaledUnit, codes: Codes) -> Floats:
    """|computed - exact| over the bound, for each dot product; 0 where the bound is infinite."""
    a, b, one, other = codes
    block, total = u.instruction.scale_block, np.zeros(len(a), np.uint32)
    for start in range(0, a.shape[1], u.k):
        ks, of = slice(start, start + u.k), slice(start // block, (start + u.k) // block)
        total = u.fma(a[:, ks], b[:, ks], total, one[:, of], other[:, of])
    computed = FORMATS["f32"].decode(total)
    left, right = u.instruction.a.decode(a), u.instruction.b.decode(b)
    scales = [decode_scale(x, u.instruction.scales) for x in (one, other)]
    exact, allowed = u.allowed(left[:, None], right[:, :, None], scales[0][:, None], scales[1][:, :, None])
    error, most = np.abs(computed - exact[:, 0, 0]), allowed[:, 0, 0]
    return np.where(np.isfinite(most), error / np.maximum(most, 5e-324), 0.0)


def drawn(u: ScaledUnit, count: int, steps: int, rng: np.random.Generator) -> Codes:
    """Elements and scales at random: wide, about the cut of the largest scale, or of one sign."""
    k, blocks = u.k * steps, u.scales * steps
    parts = []
    positive = rng.random((count, 1)) < 0.5
    for format_ in (u.instruction.a, u.instruction.b):
        raw = rng.integers(0, 1 << format_.bits, (count, k)).astype(np.uint8)
        raw = np.where(np.isfinite(format_.decode(raw)), raw, 0)
        raw = np.where(positive, raw & ((1 << (format_.bits - 1)) - 1), raw)
        parts.append(np.where(rng.random((count, k)) < rng.choice([0.0, 0.5, 0.95]), 0, raw).astype(np.uint8))
    if u.instruction.scales == "ue4m3":
        scales = [rng.integers(0, 127, (count, blocks)) for _ in range(2)]
    else:
        below = rng.choice([0, 3, 12, 18])
        scales = [127 - rng.integers(below // 2, below + 4, (count, blocks)) for _ in range(2)]
        scales[0][:, 0] = scales[1][:, 0] = 127
    return parts[0], parts[1], scales[0].astype(np.uint8), scales[1].astype(np.uint8)


def losers(u: ScaledUnit, count: int, steps: int, rng: np.random.Generator) -> Codes:
    """A first instruction that sums to 2^A; each later one loses nearly all it adds.

    k = 32: its products are a hair below the cut, 25 bits under 2^A; the first is a hair below a step of the
    sum. k = 64: its sum is below a step.
    """
    k, block, one = u.k * steps, u.instruction.scale_block, u.instruction
    high = 8 if one.scales == "ue4m3" else 0
    values = [np.zeros((count, k)), np.zeros((count, k))]
    if one.scaling == "mxf8f6f4":
        pair = worst_pair(one.a, one.b)
        below = np.frexp(pair[1])[1] - 1
        values[0][:], values[1][:] = pair[0], np.ldexp(pair[1], -below)
        values[0][:, :: u.k] *= 4.0
        exponent = np.full((count, k // block), 2 * high - u.rule.fraction_bits + below)
    else:
        for array, format_ in zip(values, (one.a, one.b), strict=True):
            array[:] = format_.decode(rng.integers(1, 1 << (format_.bits - 1), (count, k)).astype(np.uint8))
        each = (values[0] * values[1]).reshape(count, -1, block).sum(2)
        target = 2.0 ** (2 * high - 23) / u.scales
        exponent = np.floor(np.log2(target / np.maximum(each, 2.0**-60))).astype(int)
    for array in values:
        array[:, : u.k] = 0.0
        array[:, 0] = 1.0
    exponent[:, : u.scales] = 2 * high
    half = exponent // 2
    scales = [_power(x, one.scales) for x in (half, exponent - half)]
    return one.a.encode(values[0]), one.b.encode(values[1]), scales[0], scales[1]


def _power(exponent: np.ndarray, kind: str) -> np.ndarray:
    """The code of 2^exponent."""
    if kind == "ue8m0":
        return np.clip(exponent + 127, 0, 254).astype(np.uint8)
    codes: np.ndarray = FORMATS["f8E4M3FN"].encode(np.ldexp(1.0, np.clip(exponent, -9, 8)))
    return codes


def mutated(u: ScaledUnit, codes: Codes, rng: np.random.Generator) -> Codes:
    """Some elements and scales moved by one, or set to zero."""
    most = [(1 << f.bits) - 1 for f in (u.instruction.a, u.instruction.b)]
    most += [126, 126] if u.instruction.scales == "ue4m3" else [254, 254]
    found = []
    for index, (raw, top) in enumerate(zip(codes, most, strict=True)):
        where = rng.random(raw.shape) < 0.08
        step = rng.integers(-1, 2, raw.shape)
        moved = np.clip(raw.astype(int) + step, 0, top)
        if index < 2:
            moved = np.where(rng.random(raw.shape) < 0.3, 0, moved)
            format_ = (u.instruction.a, u.instruction.b)[index]
            moved = np.where(np.isfinite(format_.decode(moved.astype(np.uint8))), moved, 0)
        found.append(np.where(where, moved, raw).astype(np.uint8))
    return found[0], found[1], found[2], found[3]


def attack(u: ScaledUnit, count: int, seed: int, batch: int = 4000) -> Found:
    """`vectors` tried, how many are `over` the bound, the `largest` share of it."""
    rng = np.random.default_rng([seed, *f"{u.name}@{u.arch}".encode()])
    best: dict[int, tuple[Codes, Floats]] = {}
    tried = over = 0
    largest = 0.0
    while tried < count:
        steps = int(rng.choice([1, 1, 2, 2, 8, 32]))
        size = min(batch // (1 if steps <= 2 else steps // 2), count - tried)
        if steps in best and rng.random() < 0.6:
            pool = best[steps][0]
            pick = rng.integers(0, len(pool[0]), size)
            codes = mutated(u, (pool[0][pick], pool[1][pick], pool[2][pick], pool[3][pick]), rng)
        else:
            family = losers if steps > 1 and rng.random() < 0.6 else drawn
            codes = family(u, size, steps, rng)
        share = shares(u, codes)
        tried, over, largest = tried + size, over + int((share > 1).sum()), max(largest, float(share.max()))
        if steps in best:
            codes = tuple(np.concatenate(pair) for pair in zip(best[steps][0], codes, strict=True))  # type: ignore[assignment]
            share = np.concatenate([best[steps][1], share])
        worst = np.argsort(-share)[:32]
        best[steps] = ((codes[0][worst], codes[1][worst], codes[2][worst], codes[3][worst]), share[worst])
    return {"any order": {"vectors": tried, "over": over, "largest": largest}}


def main() -> int:
    tasks = {f"{name} {arch}": scaled_unit(name, arch) for name, arch in UNITS}
    return swept("attack_scaled", attack, tasks, options().parse_args())


if __name__ == "__main__":
    raise SystemExit(main())
