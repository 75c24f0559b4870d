"""Time every plan of the transpose beside copy, elementwise kernel and peers at 40 shapes, in one run.

    python -m benchmarks.transpose_shapes OUT_FOLDER [--shapes NAME,...] [--fresh 24] [--without compile]

Square, thin, tall, odd, padded, misaligned, tiny and batched. Every plan is checked bit for bit at every
shape first. A quick run over all plans and all Triton tilings chooses the best three plans and the best
tiling; the second run times them beside copy, elementwise kernel, torch, torch.compile and cuBLAS sgeam
(float32, twice the bytes). transpose_timing.py says how: from 128 MiB of traffic on, launches are queued,
below all contestants are replayed as graphs. Where a host has more devices than one, each takes its part of
the shapes. Results: OUT_FOLDER/transpose_shapes.json, and transpose_fresh.json for shapes that are drawn at
random.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import multiprocessing
import os
import random
import re
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

from benchmarks.transpose_checks import GUARD, Launch, bits_of, fastest_launch
from benchmarks.transpose_page import against
from benchmarks.transpose_peers import TILINGS, Geam, compiled_launches, triton_launch
from benchmarks.transpose_timing import DIRECT_BYTES, ROTATE_BYTES, time_us
from kernels.transpose import fastest
from kernels.transpose.common import AFTER
from kernels.transpose.fastest import CHOSEN, Way, launcher, prepare, starts
from kernels.transpose.plans import AnyPlan, candidates

HOST_ELEMENTS = 1 << 12
"""Elements of shapes at which the host's time is taken too: less than the queue of launches holds it up."""

MOST_SETS = 64
"""Buffer sets of tiny shapes, which then stay in the L2 for every contestant."""


PARTS = 10
"""Processes that the shapes are shared among."""

MEMCHECKS = 6
"""Processes that the plans under memcheck are shared among."""

MEMCHECK_SECONDS = 40
"""For which memcheck may go on when Triton and torch have compiled."""

MOST_WAIT = 180
"""Seconds that a part waits for the others to have compiled."""


class Shape(NamedTuple):
    """(batch,M,N); elements that pad the rows of `x` and of `y`, and by which both bases are off."""

    m: int
    n: int
    batch: int = 1
    pad_x: int = 0
    pad_y: int = 0
    off: int = 0

    @classmethod
    def named(cls, name: str) -> Shape:
        """The shape of a name."""
        found = re.fullmatch(r"(?:(\d+)x)?(\d+)x(\d+)(?:\+(\d+)\+(\d+)@(\d+))?", name)
        if not found:
            raise SystemExit(f"shape {name!r}: expected such as 300x700, 5x300x700 or 300x700+3+5@1")
        batch, m, n, *extra = (int(part or 0) for part in found.groups())
        return cls(m, n, batch or 1, *extra)

    @property
    def name(self) -> str:
        size = f"{self.m}x{self.n}" if self.batch == 1 else f"{self.batch}x{self.m}x{self.n}"
        extra = f"+{self.pad_x}+{self.pad_y}@{self.off}" if self.pad_x or self.pad_y or self.off else ""
        return size + extra

    @property
    def elements(self) -> int:
        return self.batch * self.m * self.n


SHAPES = [
    *[Shape(n, n) for n in (64, 256, 512, 1024, 2048, 3072, 4096, 8192, 16384, 32768)],
    *[Shape(4096, 32768), Shape(32768, 4096), Shape(1024, 65536), Shape(65536, 1024), Shape(8192, 28672)],
    *[Shape(5000, 12344), Shape(16384, 16380), Shape(16380, 16384), Shape(7777, 9999), Shape(8191, 8193)],
    *[Shape(16383, 16385), Shape(9001, 7003), Shape(2048, 50257), Shape(50257, 2048), Shape(300, 70000)],
    *[Shape(70000, 300), Shape(255, 131072), Shape(131072, 255), Shape(8192, 8192, off=1)],
    *[Shape(8192, 8192, pad_x=3, pad_y=5), Shape(17, 33), Shape(100, 300), Shape(1, 1000000)],
    *[Shape(3, 1000000), Shape(1000000, 3), Shape(33, 500000), Shape(500000, 33)],
    *[Shape(128, 128, batch=256), Shape(1000, 1000, batch=16), Shape(77, 129, batch=1000)],
]


def fresh(count: int, seed: int) -> list[Shape]:
    """Shapes of many kinds, up to half a gigabyte of traffic: square, thin, tall, odd, padded, batched."""
    rng = random.Random(seed)

    def some(low: int, high: int, step: int = 1) -> int:
        return max(round(low * (high / low) ** rng.random()) // step * step, step)

    kinds: list[Callable[[], Shape]] = [
        lambda: Shape(some(50, 9000, 8), some(50, 9000, 8)),
        lambda: Shape(some(50, 9000), some(50, 9000)),
        lambda: Shape(some(50, 2000, 64), some(9000, 60000, 64)),
        lambda: Shape(some(9000, 60000, 64), some(50, 2000, 64)),
        lambda: Shape(some(2, 500), some(20000, 200000)),
        lambda: Shape(some(20000, 200000), some(2, 500)),
        lambda: Shape(some(1000, 9000), some(1000, 9000), 1, some(1, 64), some(1, 64), rng.randrange(8)),
        lambda: Shape(some(20, 800), some(20, 800), some(4, 200)),
        lambda: Shape(some(2, 40), some(2, 40), some(500, 20000)),
        lambda: Shape(some(1, 20), some(100000, 2000000), off=rng.randrange(8)),
        lambda: Shape(some(100000, 2000000), some(1, 20), off=rng.randrange(8)),
        lambda: Shape(some(20, 400), some(20, 400), some(4, 200), some(1, 9), some(1, 9), rng.randrange(8)),
        lambda: Shape(some(9, 500), some(5000, 90000), 1, some(1, 9), rng.randrange(4), rng.randrange(8)),
    ]
    return [kinds[number % len(kinds)]() for number in range(count)]


MEMCHECKED = [
    *[Shape(17, 33), Shape(100, 300), Shape(3, 1001), Shape(1001, 3), Shape(1, 777), Shape(777, 1)],
    *[Shape(33, 500), Shape(500, 33), Shape(130, 70, off=1), Shape(257, 200, pad_x=3, pad_y=5, off=3)],
    *[Shape(77, 129, batch=5), Shape(136, 264), Shape(300, 700, off=2), Shape(128, 192), Shape(1000, 3)],
    *[Shape(3, 1000), Shape(257, 1003), Shape(1003, 257), Shape(64, 64, batch=3)],
    *[Shape(255, 1024), Shape(1024, 255), Shape(300, 1000, off=5), Shape(200, 264, batch=2)],
    *[Shape(1003, 8), Shape(4, 1003), Shape(137, 1003), Shape(70, 999), Shape(1003, 21, pad_y=7)],
    *[Shape(300, 33, off=1), Shape(300, 20, off=1), Shape(2, 1003), Shape(1003, 2), Shape(5, 7, batch=300)],
    *[Shape(7, 9, 50, 1, 1, 1), Shape(41, 403, pad_y=3, off=1), Shape(60, 57, 3, 1, 2, 3)],
]
"""Shapes that compute-sanitizer looks at, each tensor an allocation of its own."""

MEMCHECKED_SIZES = [
    *[Shape(257, 203, pad_x=1, pad_y=2, off=1), Shape(300, 77, batch=3), Shape(17, 1003), Shape(153, 1003)],
    *[Shape(7, 9, 50, 1, 1, 1), Shape(70, 57, 3, 1, 2, 3), Shape(9, 50, 61), Shape(20, 31, 40, 1, 0, 1)],
]
"""For elements of other sizes."""


def launch_of(plan: AnyPlan, x: torch.Tensor, y: torch.Tensor, early: int | None = None) -> Launch:
    """A launch of `plan` on the current stream; `early`: as the device can, unless it is said."""
    run = launcher(plan, x, y, early)
    return lambda: run(torch.cuda.current_stream().cuda_stream)


def start_memcheck(number: int) -> subprocess.Popen[str]:
    """compute-sanitizer over a share of `--memcheck` in a process of its own, without torch's allocator."""
    command = [
        "compute-sanitizer",
        "--report-api-errors",
        "no",
        sys.executable,
        "-m",
        "benchmarks.transpose_shapes",
    ]
    return subprocess.Popen(
        [*command, "unused", "--memcheck", "--part", str(number)],
        env={**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def read_memcheck(children: list[subprocess.Popen[str]], seconds: float) -> dict[str, Any]:
    """What they said: the errors of all, the lines with errors, wrong elements by shape and plan."""
    lines, until = [], time.monotonic() + seconds
    for child in children:
        try:
            text, _ = child.communicate(timeout=max(until - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            child.kill()
            text = child.communicate()[0] + f"\nstopped after {seconds:.0f} s"
        lines += text.splitlines()
    summaries = [int(found[1]) for line in lines if (found := re.search(r"ERROR SUMMARY: (\d+)", line))]
    said = [line for line in lines if line.startswith("=========") or "rror" in line][:60]
    return {
        "runs": sum(line.endswith(" 0") for line in lines if not line.startswith("=")),
        "said": [*said, f"========= ERROR SUMMARY: {sum(summaries)} errors"],
        "wrong": [line for line in lines if re.search(r"^[^=].* [1-9]\d*$", line)],
        "last": [*lines[-2:], f"{len(summaries)} of {len(children)} came to their end"],
    }


def buffer(shape: Shape, rows: int, columns: int, pad: int, dtype: torch.dtype, guard: int = 0) -> tuple:
    """Random bits, and the (batch,rows,columns) inside them, `guard` elements from either end."""
    pitch = columns + pad
    bits = bits_of(dtype)
    whole = torch.empty(2 * guard + shape.off + shape.batch * rows * pitch, dtype=bits, device="cuda")
    whole.view(torch.uint8).random_(0, 256)
    inside = whole.view(dtype)[guard + shape.off :]
    inside = inside[: shape.batch * rows * pitch].view(shape.batch, rows, pitch)[:, :, :columns]
    return whole, inside[0] if shape.batch == 1 else inside


def pair(shape: Shape, dtype: torch.dtype = torch.bfloat16) -> tuple[torch.Tensor, torch.Tensor]:
    """`x` and `y`."""
    return (
        buffer(shape, shape.m, shape.n, shape.pad_x, dtype)[1],
        buffer(shape, shape.n, shape.m, shape.pad_y, dtype)[1],
    )


def empties(shape: Shape, dtype: torch.dtype = torch.bfloat16) -> tuple[torch.Tensor, torch.Tensor]:
    """The same, with whatever lies in memory."""
    found = []
    for rows, columns, pad in ((shape.m, shape.n, shape.pad_x), (shape.n, shape.m, shape.pad_y)):
        size = shape.off + shape.batch * rows * (columns + pad)
        whole = torch.empty(size, dtype=dtype, device="cuda")[shape.off :]
        inside = whole.view(shape.batch, rows, columns + pad)[:, :, :columns]
        found.append(inside[0] if shape.batch == 1 else inside)
    return found[0], found[1]


def pairs(shape: Shape, dtype: torch.dtype = torch.bfloat16) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Sets that together exceed the L2 several times, as far as MOST_SETS allows."""
    one = 2 * shape.elements * torch.empty((), dtype=dtype).element_size()
    return [pair(shape, dtype) for _ in range(max(2, min(MOST_SETS, -(-ROTATE_BYTES // one))))]


def wrong(
    shape: Shape,
    launch: Callable[[torch.Tensor, torch.Tensor], Launch],
    dtype: torch.dtype = torch.bfloat16,
) -> int:
    """Elements of the output, guard zones and padding included, that differ from the right ones."""
    x = buffer(shape, shape.m, shape.n, shape.pad_x, dtype)[1]
    whole, y = buffer(shape, shape.n, shape.m, shape.pad_y, dtype, GUARD)
    xt = x.view(bits_of(dtype)).transpose(-1, -2)
    y.view(bits_of(dtype)).copy_(xt)
    right = whole.clone()
    y.view(bits_of(dtype)).copy_(~xt)
    launch(x, y)()
    torch.cuda.synchronize()
    return int((whole != right).sum())


def ceilings(shape: Shape) -> dict[str, list[Launch]]:
    """The same bytes, contiguous: the plain copy, and a kernel that reads and writes them in order."""
    flat = [tuple(t.view(-1) for t in both) for both in pairs(Shape(1, shape.elements))]
    return {
        "copy": [lambda x=x, y=y: y.copy_(x) for x, y in flat],
        "elementwise": [
            lambda x=x, y=y: torch.bitwise_not(x.view(torch.int16), out=y.view(torch.int16)) for x, y in flat
        ],
    }


def medians(contestants: dict[str, list[Launch]], rounds: int, direct: bool) -> dict[str, float]:
    return {name: statistics.median(us) for name, us in time_us(contestants, rounds, direct).items()}


def prepared(x: torch.Tensor, y: torch.Tensor) -> Launch:
    """What `transpose` does, on the current stream."""
    run = prepare(x, y, torch.cuda.current_stream().cuda_stream)
    return lambda: run(torch.cuda.current_stream().cuda_stream)


def name_of(way: Way, plans: dict[str, AnyPlan]) -> str:
    """What the evidence calls it."""
    name = next(name for name, plan in plans.items() if plan == way.plan)
    return name + ", after" * (way.early == AFTER)


def host_us(x: torch.Tensor, y: torch.Tensor, calls: int = 300) -> dict[str, float]:
    """Microseconds that a call keeps the host busy, which the replay of a graph leaves out."""
    contestants = {
        "transpose": fastest_launch(x, y),
        "prepared": prepared(x, y),
        "torch": lambda: y.copy_(x.transpose(-1, -2)),
        "triton": triton_launch(x, y, TILINGS[0]),
        "torch.compile": compiled_launches([(x, y)])[0],
    }
    found = {}
    for name, run in contestants.items():
        run()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            run()
        found[name] = 1e6 * (time.perf_counter() - begin) / calls
        torch.cuda.synchronize()
    return found


def warm_triton(tiling: tuple[int, int, int, int], shapes: list[Shape]) -> None:
    """Compile one tiling for what Triton specialises on, into its cache on disk: a process of its own."""
    from benchmarks.triton_transpose import warm

    seen = set()
    for shape in shapes:
        numbers = (shape.m, shape.n, shape.n + shape.pad_x, shape.m + shape.pad_y)
        apart = (shape.m * numbers[2], shape.n * numbers[3]) if shape.batch > 1 else (0, 0)
        key = tuple((value == 1, value % 16 == 0) for value in (*numbers, *apart, shape.off))
        if key not in seen:
            seen.add(key)
            base = torch.empty(64, dtype=torch.bfloat16, device="cuda")[shape.off :]
            warm(base, (*numbers, *apart), tiling)


def warm_compiled(shape: Shape) -> None:
    """Compile torch's transpose of a shape, into its cache on disk: a process of its own."""
    compiled_launches([pair(shape)])[0]()
    torch.cuda.synchronize()


def supervise(args: argparse.Namespace, shapes: list[Shape], drawn: int) -> None:
    """Parts of the shapes in processes of their own, which compile side by side and run one after the other.

    A part that dies begins anew, without the plan that it ran last.
    """
    began = time.monotonic()
    args.out.mkdir(parents=True, exist_ok=True)
    for old in ("compiled", "skip", *(f"{kind}{n}" for kind in ("ready", "running") for n in range(PARTS))):
        (args.out / old).unlink(missing_ok=True)
    sanitizers = [] if "memcheck" in args.without else [start_memcheck(number) for number in range(MEMCHECKS)]
    command = [sys.executable, "-m", "benchmarks.transpose_shapes", *sys.argv[1:]]
    devices, at = torch.cuda.device_count(), time.time()

    def started(number: int) -> subprocess.Popen[bytes]:
        env = {**os.environ, "CUDA_VISIBLE_DEVICES": str(number % devices)}
        return subprocess.Popen([*command, "--part", str(number), "--began", str(at)], env=env)

    parts = {number: started(number) for number in range(PARTS)}
    context = multiprocessing.get_context("spawn")
    with context.Pool(max(12, (os.cpu_count() or 1) - PARTS)) as pool:
        warming = pool.starmap_async(warm_triton, [(tiling, shapes) for tiling in TILINGS], chunksize=1)
        compiling = pool.map_async(warm_compiled, [] if "compile" in args.without else shapes, chunksize=1)
        warming.get()
        compiling.get()
    print(f"[{time.monotonic() - began:6.1f} s] Triton and torch compiled", file=sys.stderr, flush=True)
    memcheck = read_memcheck(sanitizers, MEMCHECK_SECONDS) if sanitizers else None
    (args.out / "compiled").touch()
    again = 0
    while any(child.poll() is None for child in parts.values()):
        time.sleep(0.2)
        for number, child in parts.items():
            if child.poll() and again < PARTS and time.monotonic() - began < args.seconds:
                again += 1
                last = args.out / f"running{number}"
                skip = last.read_text() if last.exists() else "nothing"
                print(f"part {number} died of {skip}", file=sys.stderr, flush=True)
                with (args.out / "skip").open("a") as file:
                    file.write(skip + "\n")
                parts[number] = started(number)
    found = [
        json.loads(path.read_text()) for number in parts if (path := args.out / f"part{number}.json").exists()
    ]
    merged = {
        "environment": found[0]["environment"],
        "wrong": {name: plans for one in found for name, plans in one["wrong"].items()},
        "broken": {name: text for one in found for name, text in one["broken"].items()},
        "memcheck": memcheck,
    }
    rows = {row["name"]: row for one in found for row in one.get("rows", [])}
    for name, some in (("transpose_shapes", shapes[: len(shapes) - drawn]), ("transpose_fresh", shapes)):
        mine = [rows.pop(shape.name) for shape in some if shape.name in rows]
        if mine:
            (args.out / f"{name}.json").write_text(json.dumps(merged | {"rows": mine}, indent=1) + "\n")
            for row in mine:
                print(line_of(row))
    print(
        "wrong:",
        {s: bad for s, plans in merged["wrong"].items() if (bad := {k for k, v in plans.items() if v})},
    )
    print("broken:", merged["broken"])
    print("memcheck:", memcheck and (memcheck["wrong"], memcheck["last"]))


def line_of(row: dict[str, Any]) -> str:
    limits, peer, lead = against(row)
    us = row["us"]["fastest"]
    return (
        f"{row['name']:20} share {min(limits) / us:.3f} lead {lead:.3f} over {peer:20} {us:8.2f} us; "
        f"late {min(limits) / row['us'].get('late', us):.3f}; chosen {row['chosen']}; best {row['best'][:2]}"
    )


def part(args: argparse.Namespace, shapes: list[Shape]) -> None:
    """The shapes of one part: compiled, then checked and timed while no other part runs."""
    path = args.out / f"part{args.part}.json"
    skipped = args.out / "skip"

    def said(what: str) -> None:
        print(f"[{time.time() - args.began:6.1f} s] {args.part}: {what}", file=sys.stderr, flush=True)

    def plans_of(x: torch.Tensor, y: torch.Tensor) -> dict[str, AnyPlan]:
        skip = skipped.read_text().split("\n") if skipped.exists() else []
        return {name: plan for name, plan in candidates(x, y).items() if name not in (*skip, *broken)}

    broken: dict[str, str] = {}
    for shape in shapes:
        both = empties(shape)
        for name, plan in plans_of(*both).items():
            if error := refused(plan, *both):
                broken[name] = error
        del both
        torch.cuda.empty_cache()
    if "compile" not in args.without:
        warm_compiled(Shape(64, 64))  # its compiler takes seconds to load
    said(f"compiled; broken: {broken}")
    (args.out / f"ready{args.part}").touch()
    awaited = [args.out / name for name in ("compiled", *(f"ready{number}" for number in range(PARTS)))]
    while not all(file.exists() for file in awaited) and time.time() - args.began < MOST_WAIT:
        time.sleep(0.1)
    with (args.out / f"lock{os.environ['CUDA_VISIBLE_DEVICES']}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        checked: dict[str, dict[str, int]] = {}
        for shape in shapes:
            checked[shape.name] = {}
            for name, plan in plans_of(*empties(shape)).items():
                (args.out / f"running{args.part}").write_text(name)
                checked[shape.name][name] = wrong(shape, partial(launch_of, plan))
            torch.cuda.empty_cache()
        bad = {name for found in checked.values() for name, count in found.items() if count}
        said(f"checked; wrong: {bad}")
        fastest.candidates = lambda x, y: {k: v for k, v in plans_of(x, y).items() if k not in bad}
        from benchmarks.bench_transpose import environment

        command = "python -m benchmarks.transpose_shapes " + " ".join(sys.argv[1 : sys.argv.index("--part")])
        about = environment() | {"command": command}
        rows: list[dict[str, Any]] = []
        result = {"environment": about, "wrong": checked, "broken": broken, "rows": rows}
        a, b = pair(Shape(16384, 16384))
        for _ in range(1000):  # a third of a second, for the clocks
            b.copy_(a)
        del a, b
        for shape in shapes:
            if time.time() - args.began > args.seconds:
                said(f"{shape.name}: no time")
                continue
            rows.append(timed_row(shape, fastest.candidates(*empties(shape)), args))
            path.write_text(json.dumps(result, indent=1) + "\n")
            said(line_of(rows[-1]))
            torch.cuda.empty_cache()


def refused(plan: AnyPlan, x: torch.Tensor, y: torch.Tensor) -> str:
    """Why it does not compile; empty if it does."""
    try:
        for early in starts(x):
            launcher(plan, x, y, early)
    except Exception as error:
        return str(error)[-500:]
    return ""


def timed_row(shape: Shape, plans: dict[str, AnyPlan], args: argparse.Namespace) -> dict[str, Any]:
    """Every plan and tiling a few times, the best again beside everybody else."""
    direct = 4 * shape.elements >= DIRECT_BYTES
    sets = pairs(shape)
    ours = {name: [launch_of(plan, x, y) for x, y in sets] for name, plan in plans.items()}
    tiled = {
        f"triton {bm}x{bn} {warps} {group}": [triton_launch(x, y, (bm, bn, warps, group)) for x, y in sets]
        for bm, bn, warps, group in TILINGS
    }
    quick = medians(ours | tiled, args.quick, direct)
    best = sorted(ours, key=lambda name: quick[name])[:3]
    tiling = min(tiled, key=lambda name: quick[name])
    contestants = ceilings(shape) | {name: ours[name] for name in best} | {tiling: tiled[tiling]}
    contestants["fastest"] = [prepared(x, y) for x, y in sets]
    contestants["late"] = [launch_of(plans[best[0]], x, y, early=0) for x, y in sets]
    contestants["torch"] = [lambda x=x, y=y: y.copy_(x.transpose(-1, -2)) for x, y in sets]
    if "compile" not in args.without:
        contestants["torch.compile"] = compiled_launches(sets)
    if shape.batch == 1 and not shape.off:
        geam = Geam()
        contestants["sgeam"] = [geam.launch(x, y) for x, y in pairs(shape, torch.float32)]
    final = medians(contestants, args.rounds, direct)
    taken = next(reversed(CHOSEN.values()))
    return {
        **shape._asdict(),
        "name": shape.name,
        "direct": direct,
        "chosen": name_of(taken, plans),
        "best": best,
        "us": final,
        "quick_us": quick,
        **({"host_us": host_us(*sets[0])} if shape.elements <= HOST_ELEMENTS else {}),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--shapes", help="names, such as 300x700,5x300x700,300x700+3+5@1: not the forty")
    parser.add_argument("--fresh", type=int, default=0, help="so many shapes drawn at random, too")
    parser.add_argument("--again", help="names of shapes that were drawn once: they go with those drawn now")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", type=int, default=4)
    parser.add_argument("--without", default="", help="compile, memcheck: what is left out")
    parser.add_argument("--seconds", type=float, default=1e9, help="from when on no shape is begun")
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--began", type=float, help=argparse.SUPPRESS)
    parser.add_argument(
        "--memcheck",
        nargs="?",
        const="",
        help="only the shapes of MEMCHECKED, untimed: all plans, or those with this in their name",
    )
    args = parser.parse_args()
    shapes = [Shape.named(name) for name in args.shapes.split(",")] if args.shapes else SHAPES
    drawn = [Shape.named(name) for name in args.again.split(",")] if args.again else []
    drawn += fresh(args.fresh, args.seed)
    shapes = [*shapes, *drawn]
    if args.memcheck is not None:
        sized = [(s, t) for t in (torch.uint8, torch.float32, torch.int64) for s in MEMCHECKED_SIZES]
        for shape, dtype in [*sized, *((shape, torch.bfloat16) for shape in MEMCHECKED)]:
            for name, plan in candidates(*pair(shape, dtype)).items():
                mine = args.part is None or zlib.crc32(name.encode()) % MEMCHECKS == args.part
                if mine and args.memcheck in name:
                    print(shape.name, name, wrong(shape, partial(launch_of, plan), dtype), flush=True)
    elif args.part is None:
        supervise(args, shapes, len(drawn))
    else:
        part(args, shapes[args.part :: PARTS])


if __name__ == "__main__":
    main()
