"""The transpose of elements of 1, 4 and 8 bytes: every plan against the input, `fastest` beside the peers.

    python -m benchmarks.transpose_types OUT [--checks] [--seconds N] [--fresh 60 --seed 1 [--drawn]]

needs torch, Triton and a GPU. Checks every plan bit for bit at CHECKED, then times `fastest` at TIMED beside
copy, elementwise kernel, torch, torch.compile, Triton's tilings and, for float32, cuBLAS sgeam, as
transpose_timing.py says. Writes OUT/transpose_types.json; of all sizes of an element in turn, at shapes drawn
at random, which are also where the plans are checked, transpose_types_fresh.json. Both are written anew when
a part of the shapes is done.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import multiprocessing
import time
from functools import partial
from itertools import cycle, product
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import torch

from benchmarks.evidence import head, write
from benchmarks.transpose_checks import Launch
from benchmarks.transpose_peers import TILINGS, Geam, compiled_launches, triton_launch
from benchmarks.transpose_shapes import (
    Shape,
    ceilings,
    empties,
    fresh,
    launch_of,
    medians,
    name_of,
    pairs,
    prepared,
    wrong,
)
from benchmarks.transpose_timing import DIRECT_BYTES
from kernels.transpose.common import AFTER
from kernels.transpose.fastest import CHOSEN, launcher, starts
from kernels.transpose.plans import candidates

TYPES = {
    "uint8": torch.uint8,
    "float32": torch.float32,
    "int64": torch.int64,
    "bfloat16": torch.bfloat16,
}

TABLED = ("uint8", "float32", "int64")
"""The types of the table; bfloat16 has one of its own."""

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

PROCESSES, PARTS = 16, 12
"""Processes, shared among the types, as each compiles a type's plans anew; for each type, parts of the
shapes, of which one is timed at a time."""

Task = tuple[str, Shape]
"""A type and a shape."""

QUEUED_BYTES = 4 * DIRECT_BYTES
"""Traffic from which on launches are queued: the host may be busy, and then takes 50 us for each."""


def warm_triton(tiling: tuple[int, int, int, int], tasks: list[Task]) -> None:
    """Compile one tiling for the timed shapes, into Triton's cache on disk: a process of its own."""
    for kind, shape in tasks:
        triton_launch(*empties(shape, TYPES[kind]), tiling)()
        torch.cuda.empty_cache()
    torch.cuda.synchronize()


def timed(kind: str, shape: Shape) -> dict[str, Any]:
    """`fastest` and the peers, in one run; before it every plan and tiling, a few times."""
    dtype = TYPES[kind]
    direct = 2 * shape.elements * dtype.itemsize >= QUEUED_BYTES
    sets = pairs(shape, dtype)
    plans = candidates(*sets[0])
    tiled = {f"triton {tiling}": [triton_launch(x, y, tiling) for x, y in sets] for tiling in TILINGS}
    ours = {name: [launch_of(plan, x, y) for x, y in sets] for name, plan in plans.items()}
    quick = medians(ours | tiled, 3, direct)
    best, mine = (min(group, key=lambda name: quick[name]) for group in (tiled, ours))
    contestants: dict[str, list[Launch]] = ceilings(Shape(1, shape.elements * dtype.itemsize // 2)) | {
        best: tiled[best]
    }
    contestants["fastest"] = [prepared(x, y) for x, y in sets]
    contestants["late"] = [launch_of(plans[mine], x, y, early=0) for x, y in sets]
    contestants["torch.compile"] = compiled_launches(sets)
    contestants["torch"] = [lambda x=x, y=y: y.copy_(x.transpose(-1, -2)) for x, y in sets]
    if kind == "float32" and shape.batch == 1:
        geam = Geam()
        contestants["sgeam"] = [geam.launch(x, y) for x, y in sets]
    taken = next(reversed(CHOSEN.values()))
    chosen = name_of(taken, plans)
    us = medians(contestants, 9, direct)
    return {"name": shape.name, "type": kind, "us": us, "quick_us": quick, "chosen": chosen}


def wrong_by_plan(kind: str, shape: Shape) -> dict[str, int]:
    """Wrong elements of each plan, whenever its launches may start."""
    both = empties(shape, TYPES[kind])
    return {
        name + ", after" * (early == AFTER): wrong(shape, partial(launch_of, plan, early=early), TYPES[kind])
        for name, plan in candidates(*both).items()
        for early in starts(both[0])
    }


def said(began: float, what: str) -> None:
    print(f"[{time.time() - began:.0f} s] {what}", flush=True)


def part(
    given: tuple[list[Task], list[Task]], lock: Path, warmed: Any, began: float, seconds: float
) -> dict[str, Any]:
    """Checks and times of a part of the shapes; what is to run is compiled before the lock is awaited."""
    to_check, to_time = given
    for kind, shape in dict.fromkeys([*to_check, *to_time]):
        both = empties(shape, TYPES[kind])  # another part may be timed: nothing is launched
        for plan, early in product(candidates(*both).values(), starts(both[0])):
            launcher(plan, *both, early)
        if (kind, shape) in to_time:
            compiled_launches([both])[0]()
        del both
        torch.cuda.empty_cache()
    warmed.wait()
    for kind, shape in to_time:  # what is compiled is on disk, and read here
        both = empties(shape, TYPES[kind])
        for tiling in TILINGS:
            triton_launch(*both, tiling)()
        del both
    torch.cuda.empty_cache()
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        checked = {task: wrong_by_plan(*task) for task in to_check}
        bad = {task: {k: v for k, v in found.items() if v} for task, found in checked.items()}
        said(
            began, f"{sum(map(len, checked.values()))} checks; wrong: { {k: v for k, v in bad.items() if v} }"
        )
        rows: dict[Task, dict[str, Any]] = {}
        for kind, shape in to_time:
            if time.time() - began > seconds:
                break
            row = rows[kind, shape] = timed(kind, shape)
            us = row["us"]
            mine, ceiling = us["fastest"], min(us["copy"], us["elementwise"])
            peer = min((v, k) for k, v in us.items() if k not in ("copy", "elementwise", "fastest", "late"))
            shares = f"share {ceiling / mine:.3f} lead {peer[0] / mine:.3f} over {peer[1]}"
            late = f"late {ceiling / us['late']:.3f}"
            said(began, f"{kind:8} {shape.name:12} {shares}: {mine:.2f} us, {row['chosen']}; {late}")
            torch.cuda.empty_cache()
        return {"checked": checked, "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--checks", action="store_true", help="nothing is timed")
    parser.add_argument("--seconds", type=float, default=1e9, help="from when on no shape is begun")
    parser.add_argument(
        "--fresh", type=int, default=0, help="so many shapes drawn at random, of all types, too"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", default="", help="and so many more by name: uint8:300x700,float32:5x7")
    parser.add_argument("--drawn", action="store_true", help="these alone")
    parser.add_argument("--types", default=",".join(TYPES), help="elements of these types alone")
    args = parser.parse_args()
    named = [text.split(":") for text in args.again.split(",") if text]
    drawn = [(kind, Shape.named(name)) for kind, name in named]
    types = args.types.split(",")
    drawn += list(zip(cycle(types), fresh(args.fresh, args.seed)))
    tabled = [] if args.drawn else [kind for kind in TABLED if kind in types]
    table = [list(product(tabled, shapes)) for shapes in (CHECKED, TIMED)]
    files = {"transpose_types": table, "transpose_types_fresh": [drawn, drawn]}
    to_check, to_time = [*table[0], *drawn], [] if args.checks else [*drawn, *table[1]]
    began, context, done = time.time(), multiprocessing.get_context("spawn"), SimpleQueue[Any]()
    args.out.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        warmed = stack.enter_context(context.Manager()).Event()
        work = partial(part, lock=args.out / "lock_types", warmed=warmed, began=began, seconds=args.seconds)
        begun = 0
        for kind in types:
            processes = stack.enter_context(context.Pool(PROCESSES // len(types)))
            mine = [[task for task in tasks if task[0] == kind] for tasks in (to_check, to_time)]
            for number in range(PARTS):
                given = mine[0][number::PARTS], mine[1][number::PARTS]
                processes.apply_async(work, (given,), callback=done.put, error_callback=done.put)
                begun += 1
        if to_time:
            with context.Pool(12) as pool:
                pool.starmap(warm_triton, [(tiling, to_time) for tiling in TILINGS], chunksize=1)
        warmed.set()
        said(began, "Triton compiled")
        found: dict[str, dict[Task, Any]] = {"checked": {}, "rows": {}}
        for _ in range(begun):  # each part is kept as soon as it ends: the run may be ended before the last
            one = done.get()
            if isinstance(one, BaseException):
                said(began, f"a part failed: {one!r}")
                continue
            for key, of_tasks in found.items():
                of_tasks |= one[key]
            for name, (checks, times) in files.items():
                keep(args.out / f"{name}.json", checks, times, found)


def keep(path: Path, checks: list[Task], times: list[Task], found: dict[str, dict[Task, Any]]) -> None:
    """What was found of the tasks of a file, if there is any."""
    checked = {
        f"{task[0]} {task[1].name}": found["checked"][task] for task in checks if task in found["checked"]
    }
    rows = [found["rows"][task] for task in times if task in found["rows"]]
    if checked or rows:
        write({**head("benchmarks.transpose_types", "torch"), "checked": checked, "rows": rows}, path)


if __name__ == "__main__":
    main()
