"""What the order check costs beside a trace: `python -m benchmarks.bench_order [FILE.low ...]`.

    trace    the DSL builds the kernel's module (Python to MLIR), nothing is compiled
    lower    the DSL's passes lower it to integer arithmetic; the judgement of copies shares them
    order    the check itself: evaluation of all threads, the replay, what is told

Seconds of processor time of this repository's kernels, one run each, and of every lowered module given as a
file, with the traced module beside it (`FILE.mlir`); no GPU is needed.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.bench_trace import compiles, kernels
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.observe import watch
from layoutcheck.dsl.spool import as_dict
from layoutcheck.order import OrderReport, check_module
from layoutcheck.sources.traced_module import TracedModule

ROW = "{:<44} {:>7} {:>7} {:>7}  {:>9}  {}"


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of processor time of a call, and what it returned."""
    start = time.process_time()
    value = run()
    return time.process_time() - start, value


def report(name: str, trace: float, lower: float, check: float, found: OrderReport) -> float:
    """Print a row; the check's seconds."""
    what = found.problem or f"{len(found.findings)} findings"
    print(ROW.format(name[-44:], f"{trace:.2f}", f"{lower:.2f}", f"{check:.2f}", found.events, what[:60]))
    return check


def own(name: str, build: Callable[[], Any]) -> list[float]:
    """The modules that a builder of this repository makes."""
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
            checked.append(report(name, tracing, lower, found.seconds, found))
    return checked


def _stopped(build: Callable[[], Any], events: list[Any]) -> None:
    # A builder may ask the compiled function for more than a call.
    with watch(events.append, stop=True), contextlib.suppress(AttributeError):
        build()


def given(file: Path) -> float:
    """A lowered module in a file, its traced one beside it."""
    traced = file.with_suffix(".mlir")
    module = TracedModule(traced.read_text() if traced.exists() else "", file.stem, "", {}, ())
    text = file.read_text()
    seconds, found = timed(lambda: check_module(module, text, ""))
    return report(file.stem, float("nan"), float("nan"), seconds, found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.low")
    files = parser.parse_args().files
    print(ROW.format("kernel", "trace", "lower", "order", "events", ""))
    checks = [seconds for name, build in kernels().items() if compiles(build) for seconds in own(name, build)]
    checks += [given(file) for file in files]
    print(f"order: {len(checks)} kernels, median {statistics.median(checks):.2f} s, max {max(checks):.2f} s")


if __name__ == "__main__":
    main()
