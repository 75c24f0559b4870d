"""Every dense MMA instruction that CuTe DSL 4.8 issues on sm_90a against the model: vectors and GEMMs.

    python -m kernels.numerics.instructions --seed 0 --out DIR

Writes DIR/instructions.json (counts) and DIR/answers.npz (the GPU's encodings of every vector).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from kernels.numerics.vectors import KINDS, vectors
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.units import decode, encode, unit

COUNTS = {"near": 4000, "wide": 3000, "any": 4000, "cancel": 3000, "tiny": 3000, "special": 1000,
          "sticky": 2000, "floor": 4000}  # fmt: skip
_F8 = ("e4m3", "e5m2")
NAMES = (
    [f"mma.m16n8k{k}.{acc}.f16" for k in (8, 16) for acc in ("f32", "f16")]
    + [f"mma.m16n8k{k}.f32.bf16" for k in (8, 16)]
    + [f"mma.m16n8k{k}.f32.tf32" for k in (4, 8)]
    + [f"mma.m16n8k{k}.{acc}.{x}" for x in _F8 for k in (16, 32) for acc in ("f32", "f16")]
    + ["wgmma.m64n8k16.f32.f16", "wgmma.m64n8k16.f16.f16", "wgmma.m64n8k16.f32.bf16"]
    + [f"wgmma.m64n8k32.{acc}.{x}.{y}" for x in _F8 for y in _F8 for acc in ("f32", "f16")]
)
DATA = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "uniform": lambda rng, shape: rng.random(shape),
}


def gemm_inputs(u: Unit, data: str, m: int, n: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A (M, K) and B (K, N), encoded."""
    rng = np.random.default_rng([seed, m, n, k, *data.encode()])
    return (
        encode(DATA[data](rng, (m, k)), u.instruction.a.name),
        encode(DATA[data](rng, (k, n)), u.instruction.b.name),
    )


def measure_vectors(seed: int, answers: dict[str, np.ndarray]) -> dict[str, dict[str, list[int]]]:
    """{unit: {kind: [bit-equal, vectors]}}."""
    from layoutcheck.gpu.tensor_cores import run_vectors

    table: dict[str, dict[str, list[int]]] = {}
    for name in NAMES:
        u = unit(name)
        row = table[u.name] = {}
        for kind in KINDS:
            a, b, c = vectors(u, kind, COUNTS[kind], seed)
            got = answers[f"{u.name}/{kind}"] = run_vectors(u, a, b, c)
            row[kind] = [int((u.fma(a, b, c) == got).sum()), len(got)]
        print(f"{u.name:30s}", " ".join(f"{kind} {n - ok}/{n}" for kind, (ok, n) in row.items()), flush=True)
    return table


def measure_gemms(seed: int, m: int = 128, n: int = 128, k: int = 4096) -> list[dict[str, object]]:
    """Whole products: bit-equal outputs, and the error the arithmetic makes (over sum |a| |b|)."""
    from layoutcheck.gpu.tensor_cores import run_matmul

    rows: list[dict[str, object]] = []
    for name in NAMES:
        u = unit(name)
        for data in DATA:
            a, b = gemm_inputs(u, data, m, n, k, seed)
            zero = np.zeros((m, n), u.rule.accumulator.raw_dtype)
            got = run_matmul(u, a, b, zero, n if u.instruction.kind == "wgmma" else None)
            values_a, values_b = decode(a, u.instruction.a.name), decode(b, u.instruction.b.name)
            size = np.abs(values_a) @ np.abs(values_b)
            error = (decode(got, u.rule.accumulator.name) - values_a @ values_b) / size
            row = {
                "unit": u.name, "data": data, "m": m, "n": n, "k": k,
                "equal": int((u.matmul(a, b) == got).sum()), "outputs": m * n,
                "mean_error_over_S": float(error.mean()), "max_error_over_S": float(np.abs(error).max()),
            }  # fmt: skip
            rows.append(row)
            print(
                f"{u.name:30s} {data:8s} {row['equal']}/{row['outputs']} mean err/S {error.mean():.3e}",
                flush=True,
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    answers: dict[str, np.ndarray] = {}
    result = {"seed": arguments.seed, "vectors": measure_vectors(arguments.seed, answers)}
    np.savez_compressed(arguments.out / "answers.npz", **answers)
    result["gemms"] = measure_gemms(arguments.seed)
    (arguments.out / "instructions.json").write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
