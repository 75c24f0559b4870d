"""Plans of the transpose beside variants of them, at any shapes: bits, and times as shares of the ceiling.

    python -m benchmarks.transpose_plans OUT.json --shapes uint8:40x701x499,bfloat16:300x7001
        [--only shifted,'few rows'] [--changed 'shifted 128x128:align=16,most=3'] [--fresh 20 --seed 1]
        [--checks]

needs torch, the DSL and a GPU. At each shape the plans that fit are taken, whose names begin with one of
`--only`; each `--changed` adds those whose names begin so, with these fields set to other numbers. All are
compared with the input bit for bit, guard zones included, then timed in one run beside copy and elementwise
kernel, as transpose_timing.py says. With `--checks` nothing is timed, as under compute-sanitizer, which has
to follow the processes that it starts (`--target-processes all`).
"""

from __future__ import annotations

import argparse
import ast
import fcntl
import multiprocessing
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import torch

from benchmarks.evidence import head, write
from benchmarks.transpose_shapes import Shape, ceilings, empties, fresh, launch_of, medians, pairs, wrong
from benchmarks.transpose_types import QUEUED_BYTES, TYPES, Task
from kernels.transpose.fastest import launcher
from kernels.transpose.plans import AnyPlan, candidates

ROUNDS, PROCESSES = 9, 14


def chosen(task: Task, only: list[str], changed: list[str]) -> dict[str, AnyPlan]:
    """The plans for a shape, and those of them that are changed."""
    kind, shape = task
    both = empties(shape, TYPES[kind])
    plans = candidates(*both)
    found = {name: plan for name, plan in plans.items() if name.startswith(tuple(only))}
    for text in changed:
        prefix, _, fields = text.partition(":")
        said = ast.parse(f"plan({fields})", mode="eval").body
        assert isinstance(said, ast.Call)
        given = {str(one.arg): ast.literal_eval(one.value) for one in said.keywords}
        for name, plan in plans.items():
            if name.startswith(prefix) and plan._replace(**given).fits(*both):
                found[f"{name}, {fields}"] = plan._replace(**given)
    return found


def row_of(task: Task, only: list[str], changed: list[str], lock: Path, checks: bool) -> dict[str, Any]:
    """What the plans take at a shape, and how many of their bits are wrong."""
    kind, shape = task
    plans, dtype = chosen(task, only, changed), TYPES[kind]
    both = empties(shape, dtype)
    for plan in plans.values():
        launcher(plan, *both)  # compiled before the lock is awaited
    del both
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        bad = {name: wrong(shape, partial(launch_of, plan), dtype) for name, plan in plans.items()}
        if checks:
            print(f"{kind} {shape.name}: wrong elements {bad}", flush=True)
            return {"name": shape.name, "type": kind, "wrong": bad}
        sets = pairs(shape, dtype)
        contestants = ceilings(Shape(1, shape.elements * dtype.itemsize // 2))
        contestants |= {name: [launch_of(plan, x, y) for x, y in sets] for name, plan in plans.items()}
        us = medians(contestants, ROUNDS, 2 * shape.elements * dtype.itemsize >= QUEUED_BYTES)
        del sets, contestants
        torch.cuda.empty_cache()
    ceiling = min(us["copy"], us["elementwise"])
    order = sorted(plans, key=lambda name: us[name])
    print(f"{kind} {shape.name}: ceiling {ceiling:.2f} us", flush=True)
    for name in order:
        wrongly = f" WRONG {bad[name]}" if bad[name] else ""
        print(f"    {us[name]:8.2f} {ceiling / us[name]:.3f} {name}{wrongly}", flush=True)
    return {"name": shape.name, "type": kind, "us": us, "wrong": {k: v for k, v in bad.items() if v}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--shapes", default="", help="such as uint8:300x700,float32:5x7")
    parser.add_argument("--only", default="", help="plans whose names begin so")
    parser.add_argument("--changed", action="append", default=[], help="such as 'few rows:unit=2'")
    parser.add_argument("--fresh", type=int, default=0, help="so many shapes drawn at random, too")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--types", default=",".join(TYPES), help="of those that are drawn")
    parser.add_argument("--checks", action="store_true", help="nothing is timed")
    args = parser.parse_args()
    named = [text.split(":") for text in args.shapes.split(",") if text]
    tasks = [(kind, Shape.named(name)) for kind, name in named]
    tasks += list(zip(cycle(args.types.split(",")), fresh(args.fresh, args.seed)))
    args.out.parent.mkdir(parents=True, exist_ok=True)
    lock = args.out.with_suffix(".lock")
    only, changed = args.only.split(","), args.changed
    work = partial(row_of, only=only, changed=changed, lock=lock, checks=args.checks)
    found: list[dict[str, Any]] = []
    with multiprocessing.get_context("spawn").Pool(min(PROCESSES, len(tasks)), maxtasksperchild=2) as pool:
        for row in pool.imap(work, tasks, chunksize=1):
            found.append(row)
            write({**head("benchmarks.transpose_plans", "torch"), "rows": found}, args.out)
    lock.unlink()


if __name__ == "__main__":
    main()
