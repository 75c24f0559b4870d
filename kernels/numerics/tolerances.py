"""The recommended tolerances on a GPU: right kernels pass, a skipped block of k is caught wherever it can
be.

    python -m kernels.numerics.tolerances --out DIR [--seed 1] [--part tolerances|speed]

Kernels: torch's GEMMs (f16, bf16, TF32, f32, FP8 with and without fast accumulation) and one in Triton
(wgmma), which splits K, walks k backwards, accumulates in f16, or skips a block of 64 k. Data: uniform and
normal, five scales. Each right kernel is compared with torch's of the same types and with the exact result,
at the atol and rtol that `numerics tol` prints for that scale, and, at one scale, at each output's own
bound. A skip can be caught where it moves some output by more than the tolerance and a right kernel's
allowed error together.

The part `speed` (1024^3 GEMMs of the model, of mmasim and of numpy) needs torch but no GPU.
DIR/numerics_PART.json has all of it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from layoutcheck.errors import InputError
from layoutcheck.numerics.accuracy import of_arrays
from layoutcheck.numerics.data import data as distribution
from layoutcheck.numerics.formats import FORMATS, Floats
from layoutcheck.numerics.paths import path
from layoutcheck.numerics.sensitivity import BLOCK
from layoutcheck.numerics.tolerance import derive

SCALES = ("0.001", "0.05", "1", "7", "1,0.02")
SIZE = 256  # rows and columns
DEPTHS = (512, 4096)
DTYPES = {
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "e4m3": torch.float8_e4m3fn,
}  # fmt: skip
Kernel = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # a (M, K), b (K, N)


def machine() -> dict[str, str]:
    """Device and versions."""
    import subprocess

    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    line = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]
    name, driver = line.split(", ")
    import triton

    return {
        "device": name, "driver": driver, "torch": str(torch.__version__), "cuda": str(torch.version.cuda),
        "triton": triton.__version__, "numpy": np.__version__, "python": sys.version.split()[0],
    }  # fmt: skip


def triton_gemm(
    split: int = 1,
    backwards: bool = False,
    skip: int = -1,
    half: bool = False,
    promote: int = 0,
    out: str = "f32",
) -> Kernel:
    """A GEMM in Triton; the pieces of a split are added in f32, ascending."""
    from kernels.numerics.triton_gemm import gemm

    def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        pieces = gemm(a, b, split, backwards, skip, half, promote)
        total = pieces[0]
        for piece in pieces[1:]:
            total = total + piece
        return total.to(DTYPES[out])

    return run


def _torch_mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b


def _tf32(allow: bool) -> Kernel:
    def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        torch.backends.cuda.matmul.allow_tf32 = allow
        return a @ b

    return run


def _scaled_mm(fast: bool) -> Kernel:
    one = torch.ones((), device="cuda")

    def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch._scaled_mm(a, b, one, one, out_dtype=torch.float32, use_fast_accum=fast)

    return run


# name: (path, input type, output type, the reference kernel, the right kernels)
def families() -> dict[str, tuple[str, str, str, Kernel, dict[str, Kernel]]]:
    """What is compared: the steps, the types, a reference, and other right kernels of the same steps."""
    found: dict[str, tuple[str, str, str, Kernel, dict[str, Kernel]]] = {}
    for name in ("f16", "bf16"):
        found[f"{name} -> {name}"] = (
            f"dot(wgmma.m64n8k16.f32.{name}) round({name})", name, name, _torch_mm,
            {"triton": triton_gemm(out=name), "triton split 4": triton_gemm(4, out=name),
             "triton backwards": triton_gemm(backwards=True, out=name)},
        )  # fmt: skip
    found["f16 -> f32"] = (
        "dot(wgmma.m64n8k16.f32.f16)", "f16", "f32", triton_gemm(),
        {"triton split 2": triton_gemm(2), "triton backwards": triton_gemm(backwards=True)},
    )  # fmt: skip
    found["f16, f16 accumulators"] = (
        "dot(wgmma.m64n8k16.f16.f16)", "f16", "f16", triton_gemm(half=True, out="f16"),
        {"triton backwards": triton_gemm(half=True, backwards=True, out="f16")},
    )  # fmt: skip
    found["f32, TF32"] = (
        "dot(wgmma.m64n8k8.f32.tf32)", "f32", "f32", _tf32(True),
        {"triton": triton_gemm(), "triton split 4": triton_gemm(4)},
    )  # fmt: skip
    found["f32, FMA"] = ("fma(f32)", "f32", "f32", _tf32(False), {})
    found["e4m3 -> f32"] = (
        "dot(wgmma.m64n8k32.f32.e4m3)", "e4m3", "f32", _scaled_mm(True),
        {"triton": triton_gemm(), "triton split 4": triton_gemm(4), "torch, promoted": _scaled_mm(False)},
    )  # fmt: skip
    found["e4m3 -> f32, promoted"] = (
        "dot(wgmma.m64n8k32.f32.e4m3,promote=128)", "e4m3", "f32", _scaled_mm(False),
        {"triton, promoted": triton_gemm(promote=128)},
    )  # fmt: skip
    return found


def on_gpu(values: Floats, name: str) -> torch.Tensor:
    return torch.from_numpy(values).cuda().to(DTYPES[name])


def _outside(x: Floats, y: Floats, use: dict[str, float]) -> int:
    return int((~(np.abs(x - y) <= use["atol"] + use["rtol"] * np.abs(y))).sum())


def compare(seed: int) -> list[dict[str, object]]:
    """One row a family, kind of data, scale and K."""
    rows: list[dict[str, object]] = []
    for family, (steps, into, out, reference, kernels) in families().items():
        for kind in ("uniform", "normal"):
            for scale in SCALES:
                for k in DEPTHS:
                    row: dict[str, object] = {"family": family, "data": kind, "scale": scale, "K": k}
                    rows.append(row)
                    try:
                        row |= _case(steps, into, out, reference, kernels, kind, scale, k, seed)
                    except InputError as refused:
                        row["no tolerance"] = str(refused)
                    except Exception:
                        row["failed"] = traceback.format_exc(limit=3)
        mine = [row for row in rows if row["family"] == family]
        print(_line(family, mine), flush=True)
    return rows


def _line(family: str, mine: list[dict[str, object]]) -> str:
    keys = ("outputs", "outside", "outside_exact", "outside_own", "skips", "catchable", "caught")
    total = {key: sum(int(str(row.get(key, 0))) for row in mine) for key in (*keys, "catchable_caught")}
    counts = ", ".join(f"{key.replace('_', ' ')} {count}" for key, count in total.items())
    refused, failed = (sum(key in row for row in mine) for key in ("no tolerance", "failed"))
    return f"{family:24} {counts}; overflow {refused}, failed {failed}"


def _case(
    steps: str, into: str, out: str, reference: Kernel, kernels: dict[str, Kernel], kind: str, scale: str,
    k: int, seed: int,
) -> dict[str, object]:  # fmt: skip
    found = derive(k, steps=steps, data=kind, scale=scale, seed=seed)
    stored = FORMATS[{"e4m3": "f8E4M3FN"}.get(into, into)]
    a, b = (x[0] for x in distribution(kind, scale).draw((1, SIZE, SIZE, k), stored, stored, seed + 1))
    left = on_gpu(a, into)
    right = on_gpu(np.ascontiguousarray(b.T), into).t() if into == "e4m3" else on_gpu(b, into)
    exact = (torch.from_numpy(a).cuda() @ torch.from_numpy(b).cuda()).cpu().numpy()
    own = of_arrays(path(steps, "sm_90a"), a[None], b[None])
    allowed = np.broadcast_to(own.allowed, own.size.shape)[0]
    ref = reference(left, right).double().cpu().numpy()
    outputs = {"reference": ref}
    outputs |= {name: kernel(left, right).double().cpu().numpy() for name, kernel in kernels.items()}
    use, use_exact = found.suggested, found.suggested_exact
    skips = {"skips": 0, "catchable": 0, "caught": 0, "catchable_caught": 0}
    if kernels:
        half, promote = "f16 acc" in steps or "f16.f16" in steps, 128 if "promote" in steps else 0
        for at in (0, k // BLOCK // 2, k // BLOCK - 1):
            wrong = (
                triton_gemm(skip=at, half=half, promote=promote, out=out)(left, right).double().cpu().numpy()
            )
            ks = slice(at * BLOCK, (at + 1) * BLOCK)
            moved = np.abs(a[:, ks] @ b[ks])
            limit = use["atol"] + use["rtol"] * np.abs(ref)
            can = bool((moved > limit + 2 * allowed).any())
            caught = _outside(wrong, ref, use) > 0
            skips["skips"] += 1
            skips["catchable"] += can
            skips["caught"] += caught
            skips["catchable_caught"] += can and caught
    return {
        "atol": use["atol"], "rtol": use["rtol"], "blind": found.blind[f"block_of_{BLOCK}"],
        "outputs": ref.size * len(outputs),
        "outside": sum(_outside(x, ref, use) for x in outputs.values()),
        "outside_exact": sum(_outside(x, exact, use_exact) for x in outputs.values()),
        "outside_own": sum(int((~(np.abs(x - exact) <= allowed)).sum()) for x in outputs.values()),
        "largest_share_of_own": max(float((np.abs(x - exact) / allowed).max()) for x in outputs.values()),
        **skips,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=("tolerances", "speed"), default="tolerances")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    start, part = time.perf_counter(), arguments.part
    result: dict[str, object] = {
        "date": time.strftime("%Y-%m-%d"),
        **machine(),
        "command": f"python -m kernels.numerics.tolerances --out DIR --seed {arguments.seed} --part {part}",
        "seed": arguments.seed,
        "cpus": os.cpu_count(),
    }
    if part == "tolerances":
        result |= {"size": SIZE, "rows": compare(arguments.seed)}
    else:
        from kernels.numerics import against_mmasim

        result |= against_mmasim.speed()
    print(f"== {part}: {time.perf_counter() - start:.1f} s", flush=True)
    (arguments.out / f"numerics_{part}.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
