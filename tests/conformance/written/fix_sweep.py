"""The fixes of many random kernels.

    python -m tests.conformance.written.fix_sweep --first 0 --seconds 60 --jobs 2 --out FILE

One JSON line a copy that had a fix: its rules, and each fix's trials.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections import Counter
from pathlib import Path

from layoutcheck.dsl.collect import Collector
from layoutcheck.dsl.session import Session
from layoutcheck.judge import judge_traced
from tests.conformance.written.fixing import tried
from tests.conformance.written.kernels import kernel
from tests.conformance.written.sweep import compiler


def work(first: int, step: int, seconds: float, out: str) -> None:
    end, seed = time.monotonic() + seconds, first
    compiling = compiler()
    with Session() as session, Path(out).open("w") as stream:
        while time.monotonic() < end:
            answer = compiling.ask([[f"k{seed}", kernel(seed).source]])
            collector = Collector()
            collector.take((answer or {"built": []})["built"])
            for one in collector.trace().copies:
                record = {"seed": seed}
                try:
                    report = judge_traced(one)
                    if report is None or report.verdict in ("legal", "unknown"):
                        continue
                    record |= {"verdict": report.verdict, "codes": [f.code for f in report.findings]}
                    record |= {"tiled": report.copy.tiling is not None, "obstacle": report.obstacle}
                    record["fixes"] = list(tried(report, session, compiling))
                except Exception as error:
                    record["raised"] = f"{type(error).__name__}: {error}"
                stream.write(json.dumps(record) + "\n")
                stream.flush()
            seed += step
    compiling.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", default="fixes.jsonl")
    given = parser.parse_args()
    parts = [f"{given.out}.{i}" for i in range(given.jobs)]
    jobs = [
        multiprocessing.Process(target=work, args=(given.first + i, given.jobs, given.seconds, part))
        for i, part in enumerate(parts)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    lines = [line for part in parts for line in Path(part).read_text().splitlines()]
    for part in parts:
        Path(part).unlink()
    Path(given.out).write_text("".join(line + "\n" for line in lines))
    matrix: Counter[tuple[str, str]] = Counter()
    trials: Counter[str] = Counter()
    for record in map(json.loads, lines):
        if "raised" in record:
            trials[f"raised {record['raised'][:80]}"] += 1
        for strategy, what, wrong in record.get("fixes", ()):
            trials[f"{strategy}: {what}: {'FAILS' if wrong else 'holds'}"] += 1
            if what == "verdict":
                for code in record["codes"]:
                    matrix[code, strategy] += 1
    print(json.dumps({"copies": len(lines), "trials": dict(sorted(trials.items()))}, indent=1))
    print({f"{c} {s}": n for (c, s), n in sorted(matrix.items())})


if __name__ == "__main__":
    main()
