"""Random kernels' places beside their PTX: `python -m benchmarks.place_sweep OUT --first N --count N`.

Kernels of `tests/dsl/lowered/places.py` are traced without a launch; what is told of each is held against its
PTX, run for every thread of every block (`tests/dsl/lowered/test_places.py`). OUT gets place_sweep.json: the
counts, and every kernel where they differ. Needs no GPU. What is not begun within `--within` seconds is left
out. Of the counts, `leave` are the kernels whose PTX leaves something, `sides` are reads and writes of global
and of shared memory that do, `told` the faults that are told.

    python -m benchmarks.place_sweep OUT [--first 200000] [--count 2000] [--jobs 14] [--within 600]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write
from tests.dsl.lowered.test_places import held

PART = 20


def part(seeds: range, begin_by: float) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """The counts of these kernels, and where they differ; nothing after `begin_by`."""
    if time.time() > begin_by:
        return {}, []
    with tempfile.TemporaryDirectory() as folder:
        return held(seeds, Path(folder))


def main() -> None:
    """Write OUT/place_sweep.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--first", type=int, default=200_000)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=14)
    parser.add_argument("--within", type=float, default=600)
    given = parser.parse_args()
    start, last = time.time(), given.first + given.count
    parts = [range(at, min(at + PART, last)) for at in range(given.first, last, PART)]
    counts: Counter[str] = Counter()
    differ: list[dict[str, Any]] = []
    with ProcessPoolExecutor(given.jobs) as pool:
        for found, wrong in pool.map(part, parts, [start + given.within] * len(parts)):
            counts.update(found)
            differ += wrong
    summary = {**counts, "differ": len(differ), "seconds": round(time.time() - start, 1)}
    made = head("benchmarks.place_sweep", summary=summary, differ=[repr(one) for one in differ])
    write(made, given.out / "place_sweep.json")
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
