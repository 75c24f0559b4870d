"""How quick verdicts and fixes are, and how many broken programs the first fix repairs.

    python -m benchmarks.bench_fixes --copies 3000 --programs 134 --out docs/evidence/fixes.json

Of random copies near the boundary, a third of them whole tiles: processor seconds of `check_copy`, alone and
with the fixes. Of the programs of `tests/patching/broken.py`, every so many: each is traced, repaired as
`layoutcheck trace --no-launch --fix` does, and counted as repaired where nothing is left rejected or wrong.
`bits` says how the repaired program's bytes differ from those of the working one, by the PTX of both.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.evidence import head, write
from benchmarks.measure import quantiles
from layoutcheck.api import check_copy
from layoutcheck.tracing import repaired
from tests.conformance.generate import random_copy
from tests.fixes.tiles import random_tile
from tests.patching.broken import PROGRAMS, RIGHT
from tests.patching.simulated import wrong

SEED = 139


def speed(count: int) -> dict[str, Any]:
    """Quantiles of processor seconds a copy."""
    rng = Random(SEED)
    copies = [random_tile(rng) if n % 3 == 0 else random_copy(rng) for n in range(count)]
    check_copy(copies[0])
    verdicts, fixes, strategies = [], [], Counter[str]()
    for copy in copies:
        start = time.process_time()
        report = check_copy(copy)
        verdicts.append(time.process_time() - start)
        strategies.update(fix.strategy for fix in report.fixes)
        fixes.append(time.process_time() - start)
    return {
        "copies": count,
        "fixes": sum(strategies.values()),
        "strategies": dict(strategies.most_common()),
        "check_seconds": quantiles(verdicts),
        "check_and_fixes_seconds": quantiles(fixes),
    }


def programs(count: int, jobs: int) -> dict[str, Any]:
    """Every so many programs of all families, and what the repair of each came to."""
    names = list(PROGRAMS)
    chosen = names[:: max(1, len(names) // count)][:count]
    rows = []
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for row in pool.map(_repaired, chosen):
            rows.append(row)
            said = row["bits"] or "right bits"
            sys.stderr.write(f"{len(rows)} of {len(chosen)}: {row['program']}: {row['repaired']}, {said}\n")
    return {
        "programs": len(rows),
        "repaired": sum(row["repaired"] for row in rows),
        "right_bits": sum(row["repaired"] and not row["bits"] for row in rows),
        "rows": rows,
    }


def _repaired(name: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder).resolve() / "kernel.py"
        script.write_text(PROGRAMS[name], encoding="utf-8")
        found = repaired(str(script), launch=False)
        edits = [line for line in found.diff().splitlines() if line[:1] == "+" and line[:3] != "+++"]
        return {
            "program": name,
            "repaired": bool(found.repairs) and not found.sketches,
            "bits": wrong(found.after[str(script)], RIGHT[name]) if edits else "not edited",
            "edits": [repair.title for repair in found.repairs],
            "lines": [line[1:].strip() for line in edits],
            "left": [sketch.reason for sketch in found.sketches],
        }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--copies", type=int, default=3000)
    parser.add_argument("--programs", type=int, default=len(PROGRAMS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = {
        **head("benchmarks.bench_fixes"),
        "speed": speed(given.copies),
        "repair": programs(given.programs, given.jobs),
    }
    write(found, given.out)


if __name__ == "__main__":
    main()
