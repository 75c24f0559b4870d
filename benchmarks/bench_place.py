"""What bounds, maps and roles cost beside the rest of a trace: `python -m benchmarks.bench_place OUT ...`.

    python -m benchmarks.bench_place OUT quack=QUACK flash-attention=FLASH cutlass=EXAMPLES
        [--of operands] [--rounds 3] [--jobs 12] [--only sm_90a] [--within 300]

Each script of `benchmarks/trace_repos` is traced without a launch and without the order of accesses, by turns
as it is and without what this measures; with `--of operands` that is what follows the elements of products.
OUT gets place_cost.json, or operands_cost.json: seconds of processor time of the trace and
of its children, medians of the rounds, and their ratios. No GPU is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, nullcontext
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

from benchmarks.evidence import head, write
from benchmarks.trace_repos import Job, driver_of, jobs
from layoutcheck.dsl.lowered import resolve
from layoutcheck.dsl.lowered.faults import Outside
from layoutcheck.dsl.trace import trace_script
from layoutcheck.provenance import check_products
from layoutcheck.sources.traced import OperandReport
from layoutcheck.sources.traced_module import TracedModule
from layoutcheck.tracing import judge

Row = dict[str, Any]
Products: TypeAlias = "Callable[[TracedModule, str, str], OperandReport]"


@contextmanager
def without_place() -> Iterator[None]:
    """A trace that judges no bounds, no map, no capacity, and lowers only what copies by types need."""
    with (
        patch.object(resolve, "_placed", lambda _: False),
        patch.object(resolve, "_outside", lambda *_: Outside()),
        patch.object(resolve, "_left", lambda *_: (0, [])),
        patch.object(resolve, "too_large", lambda *_: iter(())),
    ):
        yield


def seconds(job: Job, timeout_s: float, products: Products | None = None) -> tuple[float, int]:
    """Processor time of one trace, with its children; the kernels seen. `products` are followed by that."""
    began = _spent()
    with tempfile.TemporaryFile() as log, resolve.Lowering(products=products) as lowering:
        found = trace_script(
            str(job.script), job.args, launch=False, arch=job.arch, timeout_s=timeout_s, output=log,
            cwd=str(job.script.parent), lowering=lowering,
        )  # fmt: skip
        judge(found)
    return _spent() - began, len(found.kernels)


def _spent() -> float:
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in found)


def measured(job: Job, of: str, rounds: int, timeout_s: float, ends: float) -> Row | None:
    """One script's medians; None where nothing is seen of it, or the time is up."""
    both: dict[str, list[float]] = {"without": [], "whole": []}
    kernels = 0
    for _ in range(rounds):
        if time.time() > ends:
            break
        with without_place() if of == "place" else nullcontext():
            without, kernels = seconds(job, timeout_s)
        both["without"].append(without)
        both["whole"].append(seconds(job, timeout_s, None if of == "place" else check_products)[0])
    if not kernels:
        return None
    row = {name: round(statistics.median(found), 2) for name, found in both.items()}
    return {"script": job.name, "arch": job.arch, "kernels": kernels, "rounds": len(both["whole"]), **row}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("repositories", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--of", choices=("place", "operands"), default="place")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2, help="scripts at once, each in a process of its own")
    parser.add_argument("--only", default="", help="runs with this in their name or architecture")
    parser.add_argument("--timeout", type=float, default=100, help="seconds of one run")
    parser.add_argument("--within", type=float, default=36_000, help="seconds after which no round begins")
    given = parser.parse_args()
    ends = time.time() + given.within
    todo: list[Job] = []
    for text in given.repositories:
        name, _, folder = text.partition("=")
        root = Path(folder).resolve()
        if driver_of(name).exists():
            os.environ["PYTHONPATH"] = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
        todo += [job for job in jobs(name, root) if given.only in f"{job.group} {job.name} {job.arch}"]
    rows: list[Row] = []
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        started = [pool.submit(measured, job, given.of, given.rounds, given.timeout, ends) for job in todo]
        for done in as_completed(started):
            row = done.result()
            if row is not None:
                rows.append(row)
                print(f"{row['script'][-60:]:60} {row['without']:7} {row['whole']:7} s", flush=True)
                summary = _keep(rows, given.out, given.of)
    print(json.dumps(summary if rows else {}))


def _keep(rows: list[Row], out: Path, of: str) -> Row:
    ratios = sorted(row["whole"] / row["without"] for row in rows)
    summary = {
        "scripts": len(rows),
        "kernels": sum(row["kernels"] for row in rows),
        "ratio of the sums": round(sum(r["whole"] for r in rows) / sum(r["without"] for r in rows), 3),
        "median ratio": round(statistics.median(ratios), 3),
        "largest ratio": round(ratios[-1], 3),
        "scripts above 1.5": sum(ratio > 1.5 for ratio in ratios),
    }
    evidence = {
        **head("benchmarks.bench_place"),
        "unit": "s of processor time",
        "summary": summary,
        "rows": rows,
    }
    write(evidence, out / f"{of}_cost.json")
    return summary


if __name__ == "__main__":
    main()
