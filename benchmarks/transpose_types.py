"""The transpose of elements of 1, 4 and 8 bytes: every plan against the input, `fastest` beside the peers.

    python -m benchmarks.transpose_types OUT [--checks] [--seconds N] [--fresh 20 --seed 1] [--lock FILE]

needs torch, Triton and a GPU. Checks every plan bit for bit at CHECKED, then times `fastest` at TIMED beside
copy, elementwise kernel, torch, Triton's tilings and, for float32, cuBLAS sgeam, as transpose_timing.py says.
Writes OUT/transpose_types.json; of bytes at shapes drawn at random, transpose_types_fresh.json.
"""

from __future__ import annotations

import argparse
import fcntl
import multiprocessing
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.evidence import head, write
from benchmarks.transpose_checks import Launch
from benchmarks.transpose_peers import TILINGS, Geam, triton_launch
from benchmarks.transpose_shapes import (
    Shape,
    ceilings,
    fresh,
    launch_of,
    medians,
    pair,
    pairs,
    prepared,
    wrong,
)
from benchmarks.transpose_timing import DIRECT_BYTES
from kernels.transpose.fastest import CHOSEN, launcher
from kernels.transpose.plans import candidates

TYPES = {"uint8": torch.uint8, "float32": torch.float32, "int64": torch.int64}

CHECKED = [
    *map(Shape.named, ("17x33", "128x256", "1000x1001", "1000x1000+8+16@0", "1000x1000+3+1@1")),
    *map(Shape.named, ("3x2000x130", "20x77x64", "100003x7", "5x99999", "640x1", "999x5x7", "70x16x24")),
    *map(Shape.named, ("33x10001", "10001x33+0+3@1", "255x3000+1+0@1", "3000x255", "2x5001+0+0@1")),
]
"""Tails, odd pitches and bases, batches, thin ones."""

TIMED = [
    *map(Shape.named, ("8192x8192", "8191x8193", "1000x1000", "1348x5219+5+8@2", "20x457x130", "60x301x515")),
    *map(Shape.named, ("2000x33x77", "100000x48", "33x400001", "255x131072", "70000x300")),
    *map(Shape.named, ("1x1000000", "3x1000000", "1000003x5", "150x200x301+2+1@3", "100x30001+1+0@2")),
    *map(Shape.named, ("10000x3x5+1+1@1", "300x50x60+1+1@1", "60x90x301+1+2@1", "777x1333", "7000x12x24")),
    *map(Shape.named, ("7x200003+0+0@1", "2x700001+3+0@1", "5000x904+0+3@1")),
    *map(Shape.named, ("4000x9x50", "3001x20x31+1+0@1", "9000x10x28", "40x701x499", "10x1000x3001")),
    *map(Shape.named, ("50001x700", "20000x1000")),
]

PARTS = 4
"""Processes that the shapes of a type are shared among."""

QUEUED_BYTES = 4 * DIRECT_BYTES
"""Traffic from which on launches are queued: the host may be busy, and then takes 50 us for each."""


def warm_triton(tiling: tuple[int, int, int, int], kinds: list[str], shapes: list[Shape]) -> None:
    """Compile one tiling for the timed shapes, into Triton's cache on disk: a process of its own."""
    for kind in kinds:
        for shape in shapes:
            triton_launch(*pair(shape, TYPES[kind]), tiling)()
    torch.cuda.synchronize()


def timed(shape: Shape, kind: str) -> dict[str, Any]:
    """`fastest` and the peers, in one run; before it every plan and tiling, a few times."""
    dtype = TYPES[kind]
    direct = 2 * shape.elements * dtype.itemsize >= QUEUED_BYTES
    sets = pairs(shape, dtype)
    plans = candidates(*sets[0])
    tiled = {f"triton {tiling}": [triton_launch(x, y, tiling) for x, y in sets] for tiling in TILINGS}
    ours = {name: [launch_of(plan, x, y) for x, y in sets] for name, plan in plans.items()}
    quick = medians(ours | tiled, 3, direct)
    best = min(tiled, key=lambda name: quick[name])
    contestants: dict[str, list[Launch]] = ceilings(Shape(1, shape.elements * dtype.itemsize // 2)) | {
        best: tiled[best]
    }
    contestants["fastest"] = [prepared(x, y) for x, y in sets]
    contestants["torch"] = [lambda x=x, y=y: y.copy_(x.transpose(-1, -2)) for x, y in sets]
    if kind == "float32" and shape.batch == 1:
        geam = Geam()
        contestants["sgeam"] = [geam.launch(x, y) for x, y in sets]
    taken = next(reversed(CHOSEN.values()))
    chosen = next(name for name, plan in plans.items() if plan == taken)
    us = medians(contestants, 9, direct)
    return {"name": shape.name, "type": kind, "us": us, "quick_us": quick, "chosen": chosen}


def said(began: float, what: str) -> None:
    print(f"[{time.time() - began:.0f} s] {what}", flush=True)


def part(
    kind: str, number: int, shapes: list[Shape], lock: Path, warmed: Any, began: float, seconds: float
) -> dict[str, Any]:
    """Checks and times of a part of the shapes; what is to run is compiled before the lock is awaited."""
    dtype, to_check, to_time = TYPES[kind], CHECKED[number::PARTS], shapes[number::PARTS]
    for shape in [*to_check, *to_time]:
        both = pair(shape, dtype)
        for plan in candidates(*both).values():
            launcher(plan, *both)
        del both
        torch.cuda.empty_cache()
    warmed.wait()
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        checked = {
            f"{kind} {shape.name}": {
                name: wrong(shape, partial(launch_of, plan), dtype)
                for name, plan in candidates(*pair(shape, dtype)).items()
            }
            for shape in to_check
        }
        bad = {shape: {k: v for k, v in found.items() if v} for shape, found in checked.items()}
        said(
            began, f"{sum(map(len, checked.values()))} checks; wrong: { {k: v for k, v in bad.items() if v} }"
        )
        rows = []
        for shape in to_time:
            if time.time() - began > seconds:
                break
            rows.append(timed(shape, kind))
            us = rows[-1]["us"]
            mine, ceiling = us["fastest"], min(us["copy"], us["elementwise"])
            peer = min((v, k) for k, v in us.items() if k not in ("copy", "elementwise", "fastest"))
            shares = f"share {ceiling / mine:.3f} lead {peer[0] / mine:.3f} over {peer[1]}"
            said(began, f"{kind:8} {shape.name:12} {shares}: {mine:.2f} us, {rows[-1]['chosen']}")
            torch.cuda.empty_cache()
        return {"checked": checked, "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--checks", action="store_true", help="nothing is timed")
    parser.add_argument("--lock", type=Path, help="a file that others hold while they use the device")
    parser.add_argument("--seconds", type=float, default=1e9, help="from when on no shape is begun")
    parser.add_argument("--fresh", type=int, default=0, help="bytes at so many shapes drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    kinds = ["uint8"] if args.fresh else list(TYPES)
    shapes = [] if args.checks else fresh(args.fresh, args.seed) if args.fresh else TIMED
    began, context = time.time(), multiprocessing.get_context("spawn")
    args.out.mkdir(parents=True, exist_ok=True)
    with context.Manager() as manager, context.Pool(12) as pool, context.Pool(PARTS * len(kinds)) as parts:
        warmed = manager.Event()
        each = [
            (kind, number, shapes, args.lock or args.out / "lock_types", warmed, began, args.seconds)
            for kind in kinds
            for number in range(PARTS)
        ]
        found = parts.starmap_async(part, each, chunksize=1)
        if shapes:
            pool.starmap(warm_triton, [(tiling, kinds, shapes) for tiling in TILINGS], chunksize=1)
        warmed.set()
        done = found.get()
    checked = {name: plans for one in done for name, plans in one["checked"].items()}
    order = [(kind, shape.name) for kind in kinds for shape in shapes]
    rows = [row for one in done for row in one["rows"]]
    rows.sort(key=lambda row: order.index((row["type"], row["name"])))
    write(
        {**head("benchmarks.transpose_types", "torch"), "checked": checked, "rows": rows},
        args.out / f"transpose_types{'_fresh' * bool(args.fresh)}.json",
    )


if __name__ == "__main__":
    main()
