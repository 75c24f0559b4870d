"""This project's speed beside that of others, in one run: `python -m benchmarks.speed --out FILE`.

Processor time of each process, which other work on the machine changes little; p50, p99 and the most of each.
A peer that is not installed is left out: the DSL, pycute (CUTLASS's python/ on PYTHONPATH), tensor-layouts.
docs/speed.md is made of the recorded run, and of what `bench_lint` and `bench_trace` recorded.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import bench_algebra, bench_check, bench_fixes, bench_startup, bench_synthesis
from benchmarks.bench_banks import PATTERNS
from benchmarks.evidence import head, write
from benchmarks.measure import calls, quantiles
from layoutcheck import algebra
from layoutcheck.algebra.layout import Layout
from layoutcheck.machine.banks import wavefronts
from layoutcheck.machine.tiles import addresses_of, tile_addresses, vector_access
from layoutcheck.numerics import encode, unit

Row = dict[str, Any]
VERIFIER = "the DSL's verifier"


def row(
    what: str, ours: dict[str, float], peer: str = "", theirs: dict[str, float] | None = None, aim: str = ""
) -> Row:
    """One line of the table: quantiles in seconds, the ratio of the medians, and what was aimed at."""
    ratio = None if theirs is None else round(ours["p50"] / theirs["p50"], 3)
    return {"what": what, "ours": ours, "peer": peer, "theirs": theirs, "ratio": ratio, "aim": aim}


def startup(rounds: int) -> Iterator[Row]:
    """Whole processes, taking turns."""
    base = "import numpy, typer"
    commands = {
        base: bench_startup.BASE,
        "explain, two views": bench_startup.VIEWS,
        "explain --case issue-2320": bench_startup.TILES,
        "explain, two views, --compiler": [*bench_startup.VIEWS, "--compiler"],
    }
    with bench_startup.byte_code() as environment:
        times: dict[str, list[float]] = {name: [] for name in commands}
        for n in range(rounds + 1):
            for name, command in commands.items():
                spent = bench_startup.seconds(command, environment)
                times[name] += [spent] if n else []
    theirs = quantiles(times[base])
    for name in list(commands)[1:3]:
        yield row(name, quantiles(times[name]), base, theirs, "1.3x")
    yield row(list(commands)[3], quantiles(times[list(commands)[3]]), aim="2 s")


def syntheses() -> Iterator[Row]:
    """`layoutcheck synth` as it is called: each request a process of its own."""
    common = random.Random(0).sample(bench_synthesis.common(), 40)
    with bench_startup.byte_code() as environment:
        for what, aim, requests in (
            ("synth, 40 common tiles", "1 s", common),
            ("synth, 40 odd requests", "10 s", bench_synthesis.odd()),
        ):
            commands = [bench_synthesis.command(request) for request in requests]
            bench_startup.seconds(commands[0], environment)
            yield row(what, quantiles([bench_startup.seconds(one, environment) for one in commands]), aim=aim)


def checks() -> Iterator[Row]:
    """`check` and its model of the verifier beside the verifier, asked about thousands of copies at once."""
    for n, found in enumerate(bench_check.rows()):
        peer = found["verifier"]
        theirs = None if peer is None else {"p50": peer}
        aim = {"one": "1.0x", "256": "5x"}.get(found["copy"].split()[0], "")
        if not n:
            yield row("verdict of the verifier, predicted", found["predict"], VERIFIER, theirs, "1.0x")
        yield row(f"check: {found['copy']}", found["check"], VERIFIER, theirs, aim)


def fixes(count: int) -> Iterator[Row]:
    """Random copies near the boundary, a third of them whole tiles."""
    found = bench_fixes.speed(count)
    yield row(f"verdict, {count} copies near the boundary", found["check_seconds"])
    aim = "p99 30 ms, max 150 ms"
    yield row("verdict and fixes of the same", found["check_and_fixes_seconds"], aim=aim)


def layouts(rounds: int) -> Iterator[Row]:
    """The algebra, the same layouts for each library."""
    ours = bench_algebra.operations(algebra, "composition")
    for name, module, composition in bench_algebra.PEERS:
        if importlib.util.find_spec(module) is None:
            sys.stderr.write(f"{name}: not installed, skipped\n")
            continue
        theirs = bench_algebra.operations(importlib.import_module(module), composition)
        for operation, cases in ours.items():
            mine, other = (
                quantiles([t for f, given in those for t in calls(lambda f=f, x=given: f(*x), rounds, 50)])
                for those in (cases, theirs[operation])
            )
            yield row(operation, mine, name, other)


def conflicts(rounds: int) -> Iterator[Row]:
    """Bank conflicts of 256 threads; tensor-layouts counts one warp."""
    if importlib.util.find_spec("tensor_layouts") is None:
        return
    peer = importlib.import_module("tensor_layouts")
    count = importlib.import_module("tensor_layouts.analysis").bank_conflicts
    tile = Layout(64 * 64, 1)
    for name, (tv, _, _) in PATTERNS.items():
        access = vector_access(tile, 16, name, "st", 128, tv)
        at = addresses_of(access, tile_addresses(tile, 16), None)
        theirs = peer.Layout(tv.shape, tv.stride)
        yield row(
            f"bank conflicts of 8 warps, {name}",
            quantiles(calls(lambda at=at: wavefronts(at, 128, "st"), rounds)),
            "tensor-layouts, 1 warp",
            quantiles(calls(lambda t=theirs: count(t, element_bytes=2), rounds)),
        )


def arithmetic(rounds: int) -> Iterator[Row]:
    """A product of matrices in a tensor core's arithmetic beside numpy's in float64."""
    m, n, k = 128, 128, 1024
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    theirs = quantiles(calls(lambda: a @ b, 20))
    for name in ("mma.m16n8k16.f32.f16", "wgmma.m64n8k32.f32.e4m3"):
        u = unit(name)
        x, y = encode(a, u.instruction.a.name), encode(b, u.instruction.b.name)
        ours = quantiles(calls(lambda u=u, x=x, y=y: u.matmul(x, y), rounds))
        yield row(f"{name}, {m} x {n} x {k}", ours, "numpy, float64", theirs)


def milliseconds(found: dict[str, float] | None) -> str:
    """p50, p99 and the most, in ms."""
    if found is None:
        return ""
    return " / ".join(f"{found[name] * 1000:.3g}" for name in ("p50", "p99", "max") if name in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    load = os.getloadavg()[0]
    rows: list[Row] = []
    for part in (
        startup(given.rounds),
        syntheses(),
        checks(),
        fixes(given.copies),
        layouts(given.rounds),
        conflicts(10 * given.rounds),
        arithmetic(3),
    ):
        for found in part:
            rows.append(found)
            ratio = f"{found['ratio']:.2f}x {found['peer']}" if found["ratio"] is not None else ""
            aim = f"(aim {found['aim']})" if found["aim"] else ""
            print(
                f"{found['what']:48} {milliseconds(found['ours']):24} ms  {ratio} {aim}".rstrip(), flush=True
            )
    run = {
        **head("benchmarks.speed", "numpy", "typer", load_average=round(load, 1)),
        "unit": "s of processor time",
        "rows": rows,
    }
    if given.out is not None:
        write(run, given.out)


if __name__ == "__main__":
    main()
