"""What the order check costs beside a trace: `python -m benchmarks.bench_order [modules.jsonl] [--out FILE]`.

    compile  the whole compile of the DSL: trace, passes, ptxas; nothing comes from its file cache, and what
             the first compile of a process loads is not counted
    trace    the DSL builds the kernel's module (Python to MLIR), nothing is compiled
    lower    the DSL's passes lower it to integer arithmetic; the judgement of copies shares them
    order    the check itself: evaluation of all threads, the replay, what is told

Seconds of processor time of this repository's kernels, one run each, or of every kernel in files (also .xz)
that `python -m tests.order.mutants collect` makes, `--jobs` at once; no GPU is needed. `--out` keeps the time
and every finding of each. After `--within` seconds none is begun, and the rest are counted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import lzma
import math
import os
import statistics
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.bench_trace import compiles, kernels
from benchmarks.evidence import head, write
from layoutcheck.dsl.lowered import passes
from layoutcheck.dsl.observe import watch
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.spool import as_dict
from layoutcheck.order import OrderReport, check_module
from layoutcheck.settings import Settings
from layoutcheck.sources.traced import KernelFinding
from layoutcheck.sources.traced_module import TracedModule

ROW = "{:<44} {:>7} {:>7} {:>7} {:>7}  {:>9}  {}"


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of processor time of a call, and what it returned."""
    start = time.process_time()
    value = run()
    return time.process_time() - start, value


def report(name: str, whole: float, trace: float, lower: float, check: float, found: OrderReport) -> float:
    """Print a row; the check's seconds."""
    what = found.problem or f"{len(found.findings)} findings"
    times = (f"{seconds:.2f}" for seconds in (whole, trace, lower, check))
    print(ROW.format(name[-44:], *times, found.events, what[:60]))
    return check


def own(name: str, build: Callable[[], Any], session: Session) -> list[float]:
    """The modules that a builder of this repository makes; none where it is there to be refused."""
    if not compiles(build):  # also what the first compile of a process loads
        return []
    whole, _ = timed(lambda: compiles(build))
    events: list[Any] = []
    tracing, _ = timed(lambda: _stopped(build, events))
    checked: list[float] = []
    for built in (as_dict(event) for event in events):
        if not built.get("text"):
            continue
        module = TracedModule(
            built["text"], built.get("kernel", name), built.get("arch", ""), built.get("sites", {}),
            built.get("places", ()),
        )  # fmt: skip
        answer = passes(module.text, None, session)
        check = partial(check_module, module, answer.get("lowered", ""), answer.get("problem", ""))
        seconds, found = timed(check)
        checked.append(report(name, whole, tracing, answer.get("seconds", math.nan), seconds, found))
    return checked


def _stopped(build: Callable[[], Any], events: list[Any]) -> None:
    # A builder may ask the compiled function for more than a call.
    with watch(events.append, stop=True), contextlib.suppress(AttributeError):
        build()


def given(line: str, until: float = math.inf) -> dict[str, Any]:
    """One kernel of a file: the check's seconds, and what it tells."""
    one = json.loads(line)
    module = TracedModule(one["text"], one["kernel"], one["arch"], one["sites"], one["places"])
    kept = {"kernel": module.kernel[:90], "arch": module.arch}
    if time.time() > until:
        return {**kept, "late": True}
    budget = float(Settings().order_seconds)
    seconds, found = timed(lambda: check_module(module, one["lowered"], one.get("problem", ""), budget))
    told = Counter(f"{f.severity} {f.code} {_places(f)}" for f in found.findings)
    return {**kept, "seconds": round(seconds, 2), "events": found.events, "findings": dict(told),
            "trips": list(found.trips), "problem": found.problem.rpartition("/")[2],
            "unchecked": list(found.unchecked)}  # fmt: skip


def _places(finding: KernelFinding) -> str:
    return " ".join(f"{Path(one.where.file).name}:{one.where.line}" for one in finding.places[:2])


def all_given(files: list[Path], jobs: int, within: float) -> list[dict[str, Any]]:
    """Every kernel of the files, printed as it comes."""
    lines = []
    for file in files:
        data = file.read_bytes()
        lines += (lzma.decompress(data) if file.suffix == ".xz" else data).decode().splitlines()
    rows = []
    check = partial(given, until=time.time() + within)
    with ProcessPoolExecutor(jobs) if jobs > 1 else contextlib.nullcontext() as pool:
        for row in (pool.map if pool else map)(check, lines):
            rows.append(row)
            if "seconds" in row:
                what = row["problem"] or f"{sum(row['findings'].values())} findings"
                print(ROW.format(row["kernel"][-44:], "", "", "", row["seconds"], row["events"], what[:60]))
    return rows


def _write(out: Path, rows: list[dict[str, Any]]) -> None:
    done = [row for row in rows if "seconds" in row]
    codes: Counter[str] = Counter()
    for row in done:
        for told, count in row["findings"].items():
            codes[" ".join(told.split()[:2])] += count
    total = {
        "kernels": len(rows), "checked": len(done), "followed": sum(not row["problem"] for row in done),
        "seconds": {"median": statistics.median(row["seconds"] for row in done),
                    "max": max(row["seconds"] for row in done)},
        "findings": dict(codes),
    }  # fmt: skip
    print(json.dumps(total))
    write({**head("benchmarks.bench_order"), "total": total, "kernels": rows}, out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="modules.jsonl")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--within", type=float, default=math.inf)
    options = parser.parse_args()
    os.environ["CUTE_DSL_DISABLE_FILE_CACHING"] = "1"
    print(ROW.format("kernel", "compile", "trace", "lower", "order", "events", ""))
    mine = {} if options.files else kernels()
    checks = []
    if mine:
        with Session() as session:
            for name, build in mine.items():
                checks += own(name, build, session)
    rows = all_given(options.files, options.jobs, options.within)
    checks += [row["seconds"] for row in rows if "seconds" in row]
    if options.out is not None:
        _write(options.out, rows)
    print(f"order: {len(checks)} kernels, median {statistics.median(checks):.2f} s, max {max(checks):.2f} s")


if __name__ == "__main__":
    main()
