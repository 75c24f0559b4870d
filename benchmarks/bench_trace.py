"""What watching costs beside a plain compile of the same kernels: `python -m benchmarks.bench_trace`.

    plain      cute.compile, nobody watching
    watched    the same, every module recorded (Python stacks, printing, the verifier)
    lowered    the DSL's own passes and the evaluation of what comes out, of every kernel here; a trace lowers
               only those with copies of unknown layouts (`wanted`)
    judged     reading what was recorded and checking every copy of it, as happens once after the compiles
    trace      the trace alone: recorded, and stopped before anything is compiled

Medians of alternating rounds, in seconds of processor time, for this repository's kernels; no GPU is needed.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write
from layoutcheck.dsl.lowered import of_answer, passes
from layoutcheck.dsl.session import Session

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")
os.environ["CUTE_DSL_DISABLE_FILE_CACHING"] = "1"


def kernels() -> dict[str, Callable[[], Any]]:
    from kernels.numerics.decode import compile_decode
    from kernels.numerics.grouped_gemm import compile_grouped
    from kernels.transpose import VARIANTS

    found: dict[str, Callable[[], Any]] = {}
    for name, variant in VARIANTS.items():
        if variant.arch <= os.environ["CUTE_DSL_ARCH"]:
            found[name] = lambda variant=variant: variant.builder().compile()
    found["decode"] = lambda: compile_decode("tensor")
    found["grouped_gemm"] = lambda: compile_grouped(8)
    return found


def compiles(build: Callable[[], Any]) -> bool:
    """Some kernels are there to be refused."""
    try:
        build()
    except Exception:
        return False
    return True


def seconds(run: Callable[[], Any]) -> float:
    gc.collect()
    start = time.process_time()
    run()
    return time.process_time() - start


def measure(build: Callable[[], Any], rounds: int, session: Session) -> dict[str, float]:
    from layoutcheck.dsl.collect import Collector
    from layoutcheck.dsl.observe import watch
    from layoutcheck.dsl.spool import as_dict
    from layoutcheck.tracing import judge

    build()
    times: dict[str, list[float]] = {name: [] for name in ("plain", "watched", "judged", "trace")}
    copies = wanted = 0
    times["lowered"] = []
    for _ in range(rounds):
        times["plain"].append(seconds(build))
        events: list[Any] = []
        with watch(events.append):
            times["watched"].append(seconds(build))

        texts = [event.text for event in events if event.text]
        answers = [passes(text, None, session) for text in texts]
        spent = seconds(partial(list, map(of_answer, answers, texts)))
        times["lowered"].append(spent + sum(one.get("seconds", 0.0) for one in answers))

        def judged(events: list[Any] = events) -> None:
            nonlocal copies, wanted
            collector = Collector()
            collector.take(map(as_dict, events))
            trace = judge(collector.trace()).trace
            copies = len(trace.copies)
            wanted = int(any(one.address_source == "types" for one in trace.copies))

        times["judged"].append(seconds(judged))
        with watch([].append, stop=True):
            try:
                times["trace"].append(seconds(build))
            except AttributeError:  # a builder that asks the compiled function for more than a call
                times["trace"].append(float("nan"))
    medians = {name: statistics.median(found) for name, found in times.items()}
    return {**medians, "copies": copies, "wanted": wanted}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()

    start = time.perf_counter()
    with Session() as session:
        started = time.perf_counter() - start
        rows = {
            name: measure(build, given.rounds, session)
            for name, build in kernels().items()
            if compiles(build)
        }
    columns = ("plain", "watched", "judged", "lowered", "trace", "copies", "wanted")
    total = {key: sum(row[key] for row in rows.values()) for key in columns}
    for name, row in [*rows.items(), ("all", total)]:
        plain = row["plain"]
        print(
            f"{name:28} {row['copies']:4} copies  plain {plain:.3f} "
            f" watched {row['watched'] / plain - 1:+.1%} "
            f" judged {row['judged'] / plain:.1%}  trace {row['trace'] / plain:.1%}"
            f"  lowered {row['lowered'] / plain:.1%}"
        )
    if given.output:
        evidence = json.loads(given.output.read_text()) if given.output.exists() else {}
        evidence["overhead"] = {
            **head("benchmarks.bench_trace"),
            "unit": "s of processor time, median of the rounds",
            "lowering_starts_s": round(started, 2),
            "kernels": rows,
            "total": total,
        }
        write(evidence, given.output)


if __name__ == "__main__":
    main()
