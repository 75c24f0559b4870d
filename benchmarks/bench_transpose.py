"""Check and time every transpose of kernels/ on the GPU, beside the plain device copy and its peers.

    python -m benchmarks.bench_transpose --out transpose.json [--stages check,variants,sweep,pitches]

`check` compares bit for bit (random bit patterns, NaN payloads among them; output poisoned with the
complement of the right answer, guard zones around it). The other stages time, as transpose_timing.py says.
GB/s counts bytes read plus bytes written. A table is printed last.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shlex
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import cutlass
import torch

from benchmarks.transpose_checks import (
    Compiled,
    Launch,
    check_shapes,
    check_variants,
    fastest_launch,
    fault,
    random_bits,
    wrong_elements,
)
from benchmarks.transpose_timing import DIRECT_BYTES, copy_launch, rotate, rows_of, table, time_us
from kernels.transpose import VARIANTS
from kernels.transpose.common import EVICT_LAST, Kernel
from kernels.transpose.exchange import Exchange, build_exchange
from kernels.transpose.ldmatrix import Lines, build_swizzled
from kernels.transpose.registers import Plan, build_registers
from kernels.transpose.tma import build_tma

SWEEP = [(n, n) for n in (1024, 2048, 4096, 8192, 16384, 32768)]
HINTS = [
    ("plain", "plain"),
    ("no_allocate", "streaming"),
    ("evict_last", "plain"),
    ("evict_last", "streaming"),
]


def environment() -> dict[str, Any]:
    """Where and how the numbers came about."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    listed = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    name, driver = listed[0].split(", ")  # those of a host are alike
    versions = {"cutlass_dsl": cutlass.__version__, "torch": torch.__version__, "cuda": torch.version.cuda}
    try:
        import triton

        versions["triton"] = triton.__version__
    except ImportError:
        pass
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "device": name,
        "driver": driver,
        "python": platform.python_version(),
        "versions": versions,
        "command": "python -m benchmarks.bench_transpose " + shlex.join(sys.argv[1:]),
    }


def time_variants(m: int, n: int, rounds: int) -> list[dict[str, Any]]:
    """Every variant that runs, beside the copy."""
    sets, floats = rotate(m, n, torch.bfloat16), rotate(m, n, torch.float32)
    contestants: dict[str, list[Launch]] = {"copy": [copy_launch(x, y) for x, y in sets]}
    for name, variant in VARIANTS.items():
        if variant.verdict in ("legal", "slow") and not variant.most:
            kernel = Compiled(variant.builder())
            contestants[name] = [
                kernel.launch(x, y) for x, y in (floats if name == "fp32_elementwise" else sets)
            ]
    return rows_of(time_us(contestants, rounds, 4 * m * n >= DIRECT_BYTES), m, n, {"fp32_elementwise": 4})


def time_pitches(m: int, n: int, rounds: int) -> list[dict[str, Any]]:
    """`fastest` where rows are not multiples of 256 bytes: padding of x and of y in elements."""
    contestants: dict[str, list[Launch]] = {}
    for pad_x, pad_y in ((0, 0), (8, 0), (64, 0), (128, 0), (0, 8), (0, 64), (0, 128), (64, 64)):
        x = random_bits(m, n, pitch=n + pad_x)
        y = torch.empty((n, m + pad_y), dtype=torch.bfloat16, device="cuda")[:, :m]
        contestants[f"pad x {pad_x}, y {pad_y}"] = [fastest_launch(x, y)]
    return rows_of(time_us(contestants, rounds, 4 * m * n >= DIRECT_BYTES), m, n, {})


def candidates() -> dict[str, Kernel]:
    """Every plan worth timing."""
    tiles = [(64, 64), (128, 64), (64, 128), (128, 128), (256, 128), (128, 256)]
    exchanges = [Exchange(tile, 0, *hints) for tile, hints in product(tiles, HINTS)]
    exchanges += [Exchange((128, 128), group) for group in (1, 8, 32)]
    exchanges += [Exchange((128, 128), resident=threads) for threads in (256, 1024)]
    plans = {f"exchange {tuple(p)}": build_exchange(p) for p in exchanges}
    lanes = {
        (8, 4): [(1, 1), (1, 2), (1, 4), (2, 4)],
        (4, 8): [(1, 1), (2, 1), (4, 2)],
        (16, 2): [(1, 2), (1, 8)],
    }
    registers = [Plan(a, b, 0, *hints) for a in lanes for b, hints in product(lanes[a], HINTS)]
    plans |= {f"registers {tuple(p)}": build_registers(p) for p in registers}
    lines = [(64, 32, 128), (64, 64, 128), (64, 64, 256), (128, 64, 256), (128, 128, 512)]
    plans |= {
        f"swizzled {(n, m)} {threads}": build_swizzled(Lines((n, m), threads)) for n, m, threads in lines
    }
    boxes = [(64, 64), (128, 64), (64, 128), (128, 128), (256, 64), (64, 256)]
    plans |= {
        f"tma {tile} 0 {policy:#x}": build_tma(tile, 0, policy)
        for tile, policy in product(boxes, (0, EVICT_LAST))
    }
    return plans | {"tma (128, 128) 1": build_tma((128, 128), 1)}


def sweep(sizes: list[tuple[int, int]], rounds: int) -> list[dict[str, Any]]:
    """All candidates at all sizes; wrong ones are refused."""
    compiled = {name: Compiled(kernel) for name, kernel in candidates().items()}
    for name, kernel in compiled.items():
        shapes = [(1024, 1536)] if name.startswith("swizzled") else [(1024, 1536), (1000, 1544)]
        wrong = [wrong_elements(kernel.launch, random_bits(m, n)) for m, n in shapes]
        if any(wrong):
            raise AssertionError(f"{name}: {wrong} wrong elements")
    rows: list[dict[str, Any]] = []
    for m, n in sizes:
        sets = rotate(m, n, torch.bfloat16)
        contestants = {"copy": [copy_launch(x, y) for x, y in sets]}
        contestants |= {name: [kernel.launch(x, y) for x, y in sets] for name, kernel in compiled.items()}
        rows += rows_of(time_us(contestants, rounds, 4 * m * n >= DIRECT_BYTES), m, n, {})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--stages", default="check,variants,sweep,pitches")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument(
        "--sizes", help="M,N:M,N:... instead of the standard ones for peers, the first for the sweep"
    )
    args = parser.parse_args()
    stages = args.stages.split(",")
    if "fault" in stages:
        fault()
        return
    sizes = [tuple(map(int, s.split(","))) for s in args.sizes.split(":")] if args.sizes else None
    result: dict[str, Any] = {"environment": environment()}
    printed = [f"{result['environment']['device']}, driver {result['environment']['driver']}"]

    def save() -> None:
        if args.out:
            args.out.parent.mkdir(parents=True, exist_ok=True)
            args.out.write_text(json.dumps(result, indent=1) + "\n")

    if "check" in stages:
        result["variants"] = check_variants()
        result["shapes"] = check_shapes(fastest_launch)
        wrong = [case for case in result["shapes"] if case["wrong_elements"]]
        printed.append("\n".join(f"{name}: {found}" for name, found in result["variants"].items()))
        printed.append(f"fastest: {len(result['shapes'])} shapes, {len(wrong)} wrong {wrong[:5]}")
        save()
    if "variants" in stages:
        result["variant_times"] = time_variants(8192, 8192, args.rounds)
        printed.append(table(result["variant_times"]))
        save()
    if "sweep" in stages:
        result["sweep"] = sweep(sizes or SWEEP, min(args.rounds, 15))
        printed.append(table(result["sweep"], 4))
        save()
    if "pitches" in stages:
        result["pitches"] = time_pitches(16384, 16384, args.rounds)
        save()
    save()
    print("\n".join(printed))


if __name__ == "__main__":
    os.environ.setdefault("TORCHINDUCTOR_FX_GRAPH_CACHE", "0")
    main()
