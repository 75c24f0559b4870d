"""What pads in `y` cost: plans beside copies between rows that have the same pads, and what both move.

    python -m benchmarks.transpose_pads OUT_FOLDER [--seconds N]

needs torch, Triton, nvcc, ncu and a GPU. At each of SHAPES, all plans that fit, two tilings of Triton and the
copies of transpose_pads.cu, which do not transpose, are checked and timed as transpose_timing.py says. Copies
and plans run at LARGE under Nsight Compute, too. Writes OUT_FOLDER/transpose_pads.json.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import multiprocessing
import os
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.evidence import head, write
from benchmarks.transpose_checks import Launch, bits_of
from benchmarks.transpose_counters import count, profile
from benchmarks.transpose_peers import triton_launch
from benchmarks.transpose_shapes import (
    MOST_SETS,
    Shape,
    buffer,
    ceilings,
    launch_of,
    medians,
    pair,
    pairs,
    refused,
    wrong,
)
from benchmarks.transpose_timing import ROTATE_BYTES
from kernels.transpose.fastest import launcher
from kernels.transpose.plans import AnyPlan, candidates

BYTES = {torch.uint8: 1, torch.bfloat16: 2, torch.float32: 4, torch.int64: 8}

SHAPES = [
    (Shape.named(name), dtype)
    for dtype, names in (
        (torch.bfloat16, "300x100x100+3+1@1,41x50001+0+3@1,30x200x170+1+3@5,40x61x83+1+2@1"),
        (torch.uint8, "150x200x301+2+1@3,60x90x301+1+2@1,300x50x60+1+1@1,10000x3x5+1+1@1"),
        (torch.float32, "150x200x301+2+1@3,300x50x60+1+1@1,60x90x301+1+2@1"),
        (torch.int64, "150x200x301+2+1@3,60x90x301+1+2@1"),
    )
    for name in names.split(",")
]

LARGE = [
    (Shape.named("6000x100x100+3+1@1"), torch.bfloat16),
    (Shape.named("41x1000001+0+3@1"), torch.bfloat16),
    (Shape.named("1500x200x301+2+1@3"), torch.uint8),
]

COUNTED = ("padded", "shifted 120x64", "shifted 128x128, 4, 1 bytes")
"""Starts of the names of plans."""

KINDS = ("pads written", "by element", "by sector", "staged")

TILINGS = ((64, 32, 4, 1), (128, 32, 4, 1))


def library(folder: str) -> Any:
    """transpose_pads.cu, compiled."""
    path = Path(folder) / "pads.so"
    source = Path(__file__).with_suffix(".cu")
    options = ["-arch=sm_90a", "-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC"]
    command = ["nvcc", *options, str(source), "-o", str(path)]
    subprocess.run(command, check=True)
    found = ctypes.CDLL(str(path))
    found.copy.argtypes = (
        [ctypes.c_int] * 2 + [ctypes.c_void_p] * 2 + [ctypes.c_longlong] + [ctypes.c_int] * 3
    )
    found.copy.argtypes += [ctypes.c_void_p]
    return found


def padded_copy(code: Any, kind: int, x: torch.Tensor, y: torch.Tensor) -> Launch:
    """A copy of rows like those of `y`, from the memory of `x` to that of `y`."""
    size, pitch = y.element_size(), y.stride(-2)
    rows = y.numel() // y.shape[-1]
    start = y.data_ptr() % 32
    total = ((rows - 1) * pitch + y.shape[-1]) * size
    into, out_of = y.data_ptr() - start, x.data_ptr() // 32 * 32
    widths = (start, y.shape[-1] * size, pitch * size)

    def run() -> None:
        stream = torch.cuda.current_stream().cuda_stream
        assert code.copy(size, kind, out_of, into, total, *widths, stream) == 0

    return run


def sources(shape: Shape, dtype: torch.dtype) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """For `padded_copy`: two tensors like `y`."""
    one = 2 * shape.elements * BYTES[dtype]
    sets = max(2, min(MOST_SETS, -(-ROTATE_BYTES // one)))
    made = [[buffer(shape, shape.n, shape.m, shape.pad_y, dtype)[1] for _ in range(2)] for _ in range(sets)]
    return [(x, y) for x, y in made]


def checked(code: Any, shape: Shape, dtype: torch.dtype) -> dict[str, int]:
    """Elements that each copy but the first gets wrong, pads included."""
    found = {}
    for kind in range(1, len(KINDS)):
        x = buffer(shape, shape.n, shape.m, shape.pad_y, dtype)[1]
        whole, y = buffer(shape, shape.n, shape.m, shape.pad_y, dtype)
        right = whole.clone()
        inside = right.view(dtype)[shape.off :].view(shape.batch, shape.n, -1)[:, :, : shape.m]
        inside.view(bits_of(dtype)).copy_(x.view(bits_of(dtype)).view(inside.shape))
        padded_copy(code, kind, x, y)()
        torch.cuda.synchronize()
        found[KINDS[kind]] = int((whole != right).sum())
    return found


def part(number: int, out: Path, began: float, seconds: float) -> dict[str, Any]:
    """A shape: everything is compiled before the lock is awaited."""
    shape, dtype = SHAPES[number]
    with tempfile.TemporaryDirectory() as folder:
        code = library(folder)
        both = pair(shape, dtype)
        plans = candidates(*both)
        broken = {name: error for name, plan in plans.items() if (error := refused(plan, *both))}
        plans = {name: plan for name, plan in plans.items() if name not in broken}
        for tiling in TILINGS:
            triton_launch(*both, tiling)()
        torch.cuda.synchronize()
        print(
            f"[{time.time() - began:.0f} s] {shape.name}: {len(plans)} plans compiled, {broken}", flush=True
        )
        with (out / "lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            if time.time() - began > seconds:
                return {}
            bad = {
                name: n
                for name, plan in plans.items()
                if (n := wrong(shape, partial(launch_of, plan), dtype))
            }
            bad |= {name: n for name, n in checked(code, shape, dtype).items() if n}
            sets, like = pairs(shape, dtype), sources(shape, dtype)
            contestants = ceilings(Shape(1, shape.elements * dtype.itemsize // 2))
            contestants |= {name: [launch_of(plan, x, y) for x, y in sets] for name, plan in plans.items()}
            contestants |= {f"triton {t}": [triton_launch(x, y, t) for x, y in sets] for t in TILINGS}
            for kind, name in enumerate(KINDS):
                contestants[name] = [padded_copy(code, kind, x, y) for x, y in like]
            us = medians(contestants, 7, False)
            print(f"[{time.time() - began:.0f} s] {shape.name} timed", flush=True)
    return {"name": shape.name, "size": dtype.itemsize, "us": us, "bad": bad, "broken": broken}


def counters() -> None:
    """Under ncu: LARGE, by copies and plans."""
    with tempfile.TemporaryDirectory() as folder, Path(os.environ["PADS_LOCK"]).open("w") as lock:
        code = library(folder)
        planned: list[dict[str, AnyPlan]] = []
        for shape, dtype in LARGE:
            both = pair(shape._replace(batch=min(shape.batch, 2)), dtype)
            plans = {k: v for k, v in candidates(*both).items() if k.startswith(COUNTED)}
            for plan in plans.values():
                launcher(plan, *both)
            planned.append(plans)
        fcntl.flock(lock, fcntl.LOCK_EX)
        for (shape, dtype), plans in zip(LARGE, planned, strict=True):
            (x, y), (a, b) = pair(shape, dtype), sources(shape, dtype)[0]
            for kind, name in enumerate(KINDS):
                count(f"{name} {shape.name} {dtype.itemsize}", padded_copy(code, kind, a, b))
            for name, plan in plans.items():
                count(f"{name} {shape.name} {dtype.itemsize}", launch_of(plan, x, y))
            del x, y, a, b
            torch.cuda.empty_cache()


def counted(out: Path) -> dict[str, Any]:
    os.environ["PADS_LOCK"] = str(out / "lock")
    try:
        command, rows = profile("--counters", "benchmarks.transpose_pads")
    except SystemExit as error:
        return {"failed": str(error)}
    return {"ncu": " ".join(command[:-3]), "rows": rows}


def best(row: dict[str, Any]) -> str:
    """A few words on a shape."""
    us = dict(row["us"])
    ceiling = min(us["copy"], us["elementwise"])
    lines = [
        f"{row['name']} size {row['size']}: ceiling {ceiling:.2f} us; bad {row['bad']} broken {row['broken']}"
    ]
    lines.append("   " + ", ".join(f"{kind} {ceiling / us[kind]:.2f}" for kind in KINDS))
    ours = sorted((time, name) for name, time in us.items() if name not in (*KINDS, "copy", "elementwise"))
    triton = min((time, name) for time, name in ours if name.startswith("triton"))
    old = min((time, name) for time, name in ours if not name.startswith(("triton", "padded")))
    lines += [f"   {ceiling / time:.3f} {time:.2f} {name}" for time, name in [*ours[:5], old, triton]]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--seconds", type=float, default=1e9, help="from when on no shape is begun")
    parser.add_argument("--counters", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.counters:
        counters()
        return
    args.out.mkdir(parents=True, exist_ok=True)
    began = time.time()
    context = multiprocessing.get_context("spawn")
    with context.Pool(len(SHAPES) + 1, maxtasksperchild=1) as pool:
        numbers = pool.apply_async(counted, (args.out,))
        rows = pool.starmap(
            part, [(n, args.out, began, args.seconds) for n in range(len(SHAPES))], chunksize=1
        )
        found = {
            **head("benchmarks.transpose_pads", "torch"),
            "rows": [row for row in rows if row],
            "counted": numbers.get(),
        }
    write(found, args.out / "transpose_pads.json")
    for row in found["counted"].get("rows", []):
        gigabytes = (
            f"read {row['memory_read_bytes'] / 1e6:.0f} MB, written {row['memory_write_bytes'] / 1e6:.0f}"
        )
        sectors = f"L2 write sectors {32e-6 * row['l2_write_sectors']:.0f} MB"
        print(f"{row['name']:50} {row['microseconds']:7.1f} us, {gigabytes}, {sectors}")
    print(found["counted"].get("failed", ""))
    for row in found["rows"]:
        print(best(row))


if __name__ == "__main__":
    main()
