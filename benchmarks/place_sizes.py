"""False alarms about place, at three problem sizes: `python -m benchmarks.place_sizes OUT NAME=DIR ...`.

    python -m benchmarks.place_sizes OUT cutlass=CUTLASS/examples/python/CuTeDSL quack=QUACK
        flash-attention=FLASH [--jobs 14] [--only TEXT] [--timeout 100] [--within 400]

Each of CUTLASS's scripts that takes a problem size, and each case of `benchmarks/trace_drivers`, is traced
without a launch at three sizes: the tile's own, one that is no multiple of it where the script allows it, and
a larger one. OUT gets place_sizes.json: every copy and element access that is `wrong` or `rejected`, with its
line; and what is assumed or was not checked, counted by reason. These kernels work: what stands in `wrong` is
looked at by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write
from benchmarks.trace_repos import Job, driver_of, jobs, one_line, place
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import trace_script
from layoutcheck.tracing import judge

# Options of CUTLASS's scripts, and three problems for each.
SIZES = {
    "--mnkl": ("256,256,512,1", "272,144,336,2", "4096,4096,1024,1"),
    "--mnk": ("256,256,64", "264,136,72", "2048,1024,512"),
    "--M": ("1024", "1000", "4096"),
    "--N": ("1024", "1048", "8192"),
    "--seqlen_q": ("256", "264", "4096"),
    "--seqlen_k": ("256", "264", "4096"),
    "--seqlen_kv": ("256", "264", "4096"),
    "--q_shape": ("1,128,16,128", "1,256,16,128", "2,1024,16,128"),
    "--k_shape": ("1,128,16,128", "1,256,16,128", "2,1024,16,128"),
}
ARCHES = ("sm_90a", "sm_100a")  # of the drivers' cases
Row = dict[str, Any]
_OPTION = re.compile(r'"(--\w+)"')


def sized(job: Job) -> list[tuple[str, Job]]:
    """A job at three sizes, each with its words; nothing for a script that takes no size."""
    if job.script == driver_of(job.group.split()[0]):
        factors = ("1", "2", "3") if job.arch in ARCHES else ()
        return [(f"size {factor}", replace(job, args=[*job.args, factor])) for factor in factors]
    known = set(_OPTION.findall(job.script.read_text(errors="replace")))
    options = [name for name in SIZES if name in known]
    given = [[f"{name}={SIZES[name][i]}" for name in options] for i in range(3 if options else 0)]
    return [(" ".join(words), replace(job, args=words)) for words in given]


def traced(runs: Sequence[tuple[str, Job]], timeout_s: float, ends: float) -> list[Row]:
    """What the runs of one script come to; those that would begin behind `ends` are left."""
    rows: list[Row] = []
    with Lowering() as lowering:  # the same module at another size is lowered once
        for words, job in runs:
            row: Row = {"script": job.name, "size": words, "arch": job.arch}
            began = time.time()
            if began < ends:
                try:
                    row |= _one(job, lowering, timeout_s)
                except Exception as error:  # a fault of layoutcheck: it must not end the other runs
                    row |= {"kernels": 0, "copies": 0, "elements": 0, "wrong": [], "assumed": {}}
                    row["failures"] = [one_line(f"crashed: {type(error).__name__}: {error}")[:200]]
                row["seconds"] = round(time.time() - began, 1)
            rows.append(row)
    return rows


def _one(job: Job, lowering: Lowering, timeout_s: float) -> Row:
    with tempfile.TemporaryFile() as log:
        found = trace_script(
            str(job.script), job.args, launch=False, arch=job.arch, timeout_s=timeout_s, output=log,
            cwd=str(job.script.parent), lowering=lowering,
        )  # fmt: skip
    judged = judge(found)
    wrong = []
    for entry, report in judged.reports:
        if report is not None and report.verdict in ("wrong", "rejected"):
            first = [one for one in report.findings if one.severity == report.verdict][:1]
            at = place(entry.first.where.file, entry.first.where.line, job.root)
            wrong.append([at, *(f"{one.code}: {one.message[:300]}" for one in first)])
    assumed: Counter[str] = Counter()
    for copy in found.copies:
        if copy.unbounded:
            assumed[f"not checked: {copy.unbounded}"] += 1
        if copy.bounded_if:
            assumed[f"rests on the caller: {copy.bounded_if.partition(': ')[0]}"] += 1
    elements = 0
    for module in found.elements:
        elements += module.accesses
        for why, count in module.unchecked:
            assumed[f"elements, {_condition(why)}"] += count
        for told in module.findings:
            if told.severity == "wrong":
                at = place(told.places[0].where.file, told.places[0].where.line, job.root)
                wrong.append([at, f"{told.code}: {told.message[:300]}"])
    return {
        "kernels": len(found.kernels), "copies": len(found.copies), "elements": elements, "wrong": wrong,
        "assumed": dict(assumed.most_common()),
        "failures": [one_line(f"{one.kind}: {one.message}")[:200] for one in found.failures],
        "versions": found.versions,
    }  # fmt: skip


def _condition(why: str) -> str:
    """A reason without what happens otherwise."""
    return re.sub(r"(, with|: with) .*", "", why)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("repositories", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--jobs", type=int, default=2, help="scripts at once, each in a process of its own")
    parser.add_argument("--only", default="", help="runs with this in their name")
    parser.add_argument("--timeout", type=float, default=100, help="seconds of one run")
    parser.add_argument("--within", type=float, default=36_000, help="seconds after which no run begins")
    given = parser.parse_args()
    ends = time.time() + given.within
    todo: list[list[tuple[str, Job]]] = []
    for text in given.repositories:
        name, _, folder = text.partition("=")
        root = Path(folder).resolve()
        if driver_of(name).exists():
            os.environ["PYTHONPATH"] = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
        found = [sized(job) for job in jobs(name, root) if given.only in f"{job.group} {job.name}"]
        todo += [runs for runs in found if runs]
    rows: list[Row] = []
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        started = [pool.submit(traced, runs, given.timeout, ends) for runs in todo]
        for done in as_completed(started):
            for row in done.result():
                rows.append(row)
                print(_line(row), flush=True)
            _keep(rows, given.out)
    for at, said in sorted({tuple(one[:2]) for row in rows for one in row.get("wrong", ())}):
        print("WRONG", at, said[:160])
    print(json.dumps(_keep(rows, given.out)))


def _line(row: Row) -> str:
    name = f"{row['script'][-50:]:50} {row['size'][:50]:50}"
    if "kernels" not in row:
        return f"{name} left"
    counts = f"{row['kernels']:3} kernels {row['copies']:4} copies {len(row['wrong'])} wrong"
    return f"{name} {counts} {row['seconds']:5} s {' '.join(row['failures'])[:60]}"


def _keep(rows: list[dict[str, Any]], out: Path) -> dict[str, Any]:
    """Write what is known so far; the sums of it."""
    assumed: Counter[str] = Counter()
    ran = [row for row in rows if "kernels" in row]
    for row in ran:
        assumed.update(row["assumed"])
    summary = {
        "runs": len(ran),
        "left": len(rows) - len(ran),
        "traced": sum(row["kernels"] > 0 for row in ran),
        **{key: sum(row[key] for row in ran) for key in ("kernels", "copies", "elements")},
        "places_wrong": len({one[0] for row in ran for one in row["wrong"]}),
        "assumed": dict(assumed.most_common()),
    }
    write({**head("benchmarks.place_sizes"), "summary": summary, "runs": rows}, out / "place_sizes.json")
    return summary


if __name__ == "__main__":
    main()
