"""The sweeps of synthesis on many cores, as evidence: optimality, NVIDIA's layouts, programs that compile.

    python -m tests.synthesis.sweeps OUT [--processes 15] [--spaces 500] [--seconds 200] [--seed 0]

Needs the DSL, no GPU. Writes OUT/synthesis_sweeps.json and prints a line for each part. What was not reached
within the time is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import count, groupby, islice
from math import inf
from pathlib import Path
from typing import Any

from benchmarks.evidence import head
from tests.synthesis.test_nvidia import no_better, rows
from tests.synthesis.test_optimal import (
    LARGER,
    counted_alike,
    held_against_every,
    held_against_the_stated_space,
)


def space(seed: int) -> bool:
    return held_against_every(seed, LARGER)


def operands(alike: list[dict[str, Any]]) -> int:
    """How many layouts of one tile are operands'."""
    return sum(map(no_better, alike))


def by_tile(every: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Layouts that are held against one search, which a process then makes once."""

    def tile(row: dict[str, Any]) -> str:
        return str([row[key] for key in ("unit", "dtype", "major", "tile")])

    return [list(rows) for _, rows in groupby(sorted(every, key=tile), tile)]


def judged(task: Callable[[Any], Any], given: Any) -> tuple[Any, str]:
    """The task's answer, and what it did not find as claimed ("" for nothing)."""
    try:
        return task(given), ""
    except AssertionError as error:
        return None, f"{given}: {error}"[:600]


def spread(
    pool: ProcessPoolExecutor, task: Callable[[Any], Any], given: Iterable[Any], until: float, enough: float
) -> tuple[list[Any], list[str], int]:
    """Answers that are not empty, until there are enough or time is up; what is not as claimed; all asked."""
    answers: list[Any] = []
    wrong: list[str] = []
    asked = 0
    waiting: set[Future[tuple[Any, str]]] = set()
    left: Iterator[Any] = iter(given)
    while True:
        if time.monotonic() < until and len(answers) < enough:
            more = islice(left, 4 * (os.cpu_count() or 1) - len(waiting))
            waiting |= {pool.submit(judged, task, one) for one in more}
        if not waiting:
            return answers, wrong, asked
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for one in done:
            answer, problem = one.result()
            asked += 1
            if problem:
                wrong.append(problem)
            elif answer:
                answers.append(answer)


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("out", type=Path)
    options.add_argument("--processes", type=int, default=15)
    options.add_argument("--spaces", type=int, default=500)
    options.add_argument("--seconds", type=float, default=200)
    options.add_argument("--seed", type=int, default=0, help="of the first small space")
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    parts: dict[str, Any] = {}
    with ProcessPoolExecutor(given.processes) as pool:
        every = rows()
        tiles = by_tile(every)
        tasks = {
            "nvidia": (operands, tiles, 0.4, inf),
            "optimal": (space, count(given.seed), 0.6, given.spaces),
            "stated": (held_against_the_stated_space, count(given.seed), 0.9, given.spaces),
            "counts": (counted_alike, count(given.seed + 10_000), 1.0, 200),
        }
        for name, (task, inputs, share, enough) in tasks.items():
            answers, wrong, asked = spread(pool, task, inputs, begun + share * given.seconds, enough)
            parts[name] = {"held": sum(map(int, answers)), "wrong": wrong, "asked": asked}
            print(f"{name}: {parts[name]['held']} held, {len(wrong)} not, {time.monotonic() - begun:.0f} s")
            print("\n".join(wrong[:5]), flush=True)
    parts["nvidia"] |= {"layouts": len(every), "tiles": len(tiles)}
    text = json.dumps({**head("tests.synthesis.sweeps"), **parts}, indent=1) + "\n"
    (given.out / "synthesis_sweeps.json").write_text(text, encoding="utf-8")
    reached = parts["nvidia"]["asked"] == len(tiles)
    return int(not reached or any(part["wrong"] for part in parts.values()))


if __name__ == "__main__":
    sys.exit(main())
