"""How fast the model is: whole GEMMs, and the ratio to numpy's float64 product of the same matrices.

CPU seconds of the whole process, so that neighbours on a shared machine count for little.

python benchmarks/bench_numerics.py [M N K]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from layoutcheck.numerics import encode, unit

NAMES = (
    "mma.m16n8k16.f32.f16",
    "mma.m16n8k16.f16.f16",
    "mma.m16n8k16.f32.bf16",
    "mma.m16n8k8.f32.tf32",
    "wgmma.m64n8k32.f32.e4m3",
    "mma.m16n8k32.f32.e4m3",
)


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The least CPU time of a few runs: noise only ever adds."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    m, n, k = map(int, sys.argv[1:4]) if len(sys.argv) > 3 else (128, 128, 4096)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    float64 = seconds(lambda: a @ b, 20)
    print(f"{m} x {n} x {k}: numpy float64 {float64 * 1e3:.2f} ms")
    for name in NAMES:
        u = unit(name)
        raw_a, raw_b = encode(a, u.instruction.a.name), encode(b, u.instruction.b.name)
        took = seconds(lambda u=u, x=raw_a, y=raw_b: u.matmul(x, y), 3)
        rate = m * n * k / took / 1e6
        print(f"  {name:26} {took:6.3f} s  {took / float64:6.0f} x float64  {rate:6.0f} M products/s")


if __name__ == "__main__":
    main()
