"""What the order check costs beside a trace: `python -m benchmarks.bench_order [modules.jsonl] [--out FILE]`.

    compile  the whole compile of the DSL: trace, passes, ptxas; nothing comes from its file cache
    trace    the DSL builds the kernel's module (Python to MLIR), nothing is compiled
    lower    the DSL's passes lower it to integer arithmetic; the judgement of copies shares them
    order    the check itself: evaluation of all threads, the replay, what is told

Seconds of processor time of this repository's kernels, one run each, or of every kernel in files that
`python -m tests.order.mutants collect` makes; no GPU is needed. `--out` keeps the time and findings of each.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.bench_trace import compiles, kernels
from benchmarks.evidence import head, write
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.observe import watch
from layoutcheck.dsl.spool import as_dict
from layoutcheck.order import OrderReport, check_module
from layoutcheck.settings import Settings
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


def own(name: str, build: Callable[[], Any]) -> list[float]:
    """The modules that a builder of this repository makes; none where it is there to be refused."""
    whole, works = timed(lambda: compiles(build))
    if not works:
        return []
    events: list[Any] = []
    tracing, _ = timed(lambda: _stopped(build, events))
    checked: list[float] = []
    with Lowering(copies=False, order=check_module) as lowering:
        for built in (as_dict(event) for event in events):
            if not built.get("text"):
                continue
            module = TracedModule(
                built["text"], built.get("kernel", name), built.get("arch", ""), built.get("sites", {}),
                built.get("places", ()),
            )  # fmt: skip
            start = time.monotonic()
            found = lowering.check_order(module)
            assert found is not None
            lower = time.monotonic() - start - found.seconds
            checked.append(report(name, whole, tracing, lower, found.seconds, found))
    return checked


def _stopped(build: Callable[[], Any], events: list[Any]) -> None:
    # A builder may ask the compiled function for more than a call.
    with watch(events.append, stop=True), contextlib.suppress(AttributeError):
        build()


def given(line: str) -> tuple[float, dict[str, Any]]:
    """One kernel of a file: the check's seconds, and what is kept of it."""
    one = json.loads(line)
    module = TracedModule(one["text"], one["kernel"], one["arch"], one["sites"], one["places"])
    budget = float(Settings().order_seconds)
    seconds, found = timed(lambda: check_module(module, one["lowered"], "", budget))
    report(module.kernel, float("nan"), float("nan"), float("nan"), seconds, found)
    told = Counter(f"{f.severity} {f.code}" for f in found.findings)
    kept = {"kernel": module.kernel[:90], "arch": module.arch, "seconds": round(seconds, 2),
            "events": found.events, "findings": dict(told), "trips": list(found.trips),
            "problem": found.problem.rpartition("/")[2], "unchecked": list(found.unchecked)}  # fmt: skip
    return seconds, kept


def _write(out: Path, rows: list[dict[str, Any]]) -> None:
    times = sorted(row["seconds"] for row in rows)
    total = {
        "kernels": len(rows), "followed": sum(not row["problem"] for row in rows),
        "seconds": {"median": times[len(times) // 2], "max": times[-1]},
        "findings": dict(sum((Counter(row["findings"]) for row in rows), Counter())),
    }  # fmt: skip
    write({**head("benchmarks.bench_order"), "total": total, "kernels": rows}, out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="modules.jsonl")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    os.environ["CUTE_DSL_DISABLE_FILE_CACHING"] = "1"
    print(ROW.format("kernel", "compile", "trace", "lower", "order", "events", ""))
    mine = {} if options.files else kernels()
    checks = [seconds for name, build in mine.items() for seconds in own(name, build)]
    rows = []
    for file in options.files:
        for line in file.read_text().splitlines():
            seconds, row = given(line)
            checks.append(seconds)
            rows.append(row)
    if options.out is not None:
        _write(options.out, rows)
    print(f"order: {len(checks)} kernels, median {statistics.median(checks):.2f} s, max {max(checks):.2f} s")


if __name__ == "__main__":
    main()
