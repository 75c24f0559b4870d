"""Real kernels: how many of their products are followed, what is told of them, and the time it takes.

    python -m tests.provenance.coverage collect MODULES NAME=DIRECTORY [NAME=DIRECTORY ...]
    python -m tests.provenance.coverage judge MODULES OUT.json [--processes 2]

`collect` traces the programs of repositories (`benchmarks.trace_repos` says which) and keeps every module
that multiplies, with its lowering; nothing is launched. `judge` follows each by itself.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import pickle
import re
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.trace_repos import jobs
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import trace_script
from layoutcheck.provenance import SECONDS, check_products
from layoutcheck.sources.traced import OperandReport
from layoutcheck.sources.traced_module import TracedModule

COMMAND = "python -m tests.provenance.coverage judge MODULES OUT.json"
_REASON = re.compile(r"elements of (?:([0-9]+) of [0-9]+ )?products: (.*)")


def collect(modules: Path, roots: dict[str, Path]) -> None:
    """Trace all programs; keep what multiplies."""
    modules.mkdir(parents=True, exist_ok=True)
    for name, root in roots.items():
        for job in jobs(name, root):

            def look(
                module: TracedModule, lowered: str, problem: str, one: tuple[str, str] = (name, job.name)
            ) -> OperandReport:
                key = hashlib.sha256((module.arch + module.text).encode()).hexdigest()[:16]
                with gzip.open(modules / f"{key}.pkl.gz", "wb", 3) as file:
                    pickle.dump((*one, module, lowered, problem), file)
                return OperandReport(module.kernel, module.arch)

            with tempfile.TemporaryFile() as log, Lowering(copies=False, products=look) as lowering:
                trace_script(
                    str(job.script), job.args, launch=False, arch=job.arch, timeout_s=200, output=log,
                    cwd=str(job.script.parent), lowering=lowering,
                )  # fmt: skip
            print(name, job.name, flush=True)


def judged(path: Path) -> dict[str, Any]:
    """One module: what is followed, what is told, and processor seconds."""
    with gzip.open(path) as file:
        repository, job, module, lowered, problem = pickle.load(file)
    start = time.process_time()
    report = check_products(module, lowered, problem)
    return {
        "repository": repository, "program": job, "arch": module.arch, "kernel": module.kernel[:60],
        "products": report.products, "followed": report.followed, "not_followed": list(report.unchecked),
        "told": [f"{f.code} {f.message}" for f in report.findings],
        "seconds": round(time.process_time() - start, 2),
    }  # fmt: skip


def evidence(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The counts, the reasons by size, the time, and every module."""
    rows = sorted(rows, key=lambda row: (row["repository"], row["program"], row["kernel"]))
    seconds, reasons = sorted(row["seconds"] for row in rows), Counter[str]()
    for row in rows:
        for sentence in row["not_followed"]:
            match = _REASON.match(sentence)
            if match is not None:
                reasons[match[2]] += int(match[1] or row["products"] - row["followed"])
    products, followed = (sum(row[key] for row in rows) for key in ("products", "followed"))
    return {
        "date": time.strftime("%Y-%m-%d"), "command": COMMAND,
        "modules": len(rows), "products": products, "followed": followed,
        "share": round(followed / max(1, products), 3), "findings": sum(len(row["told"]) for row in rows),
        "budget_seconds": SECONDS,
        "seconds": {
            "median": seconds[len(rows) // 2], "p99": seconds[len(rows) * 99 // 100], "most": seconds[-1]
        },
        "not_followed": dict(reasons.most_common()), "rows": rows,
    }  # fmt: skip


def main() -> None:
    """Collect, or judge and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("collect", "judge"))
    parser.add_argument("modules", type=Path)
    parser.add_argument("rest", nargs="+", help="NAME=DIRECTORY of collect; the output of judge")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    if given.action == "collect":
        collect(given.modules, {name: Path(root) for name, root in (one.split("=") for one in given.rest)})
        return
    paths = sorted(given.modules.glob("*.pkl.gz"))
    with ProcessPoolExecutor(given.processes, mp_context=get_context("spawn")) as pool:
        found = evidence(list(pool.map(judged, paths)))
    Path(given.rest[0]).write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps({key: value for key, value in found.items() if key != "rows"}, indent=1))


if __name__ == "__main__":
    main()
