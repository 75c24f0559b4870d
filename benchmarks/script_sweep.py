"""Many scripts traced, each for a limited time: `python -m benchmarks.script_sweep LIST --output FILE`.

LIST has a line for each run, its words parted by tabs: a name, an architecture, the folder to run in, what
PYTHONPATH holds, and the script with its arguments. With `--seen` the lines of earlier runs, as `--lines`
writes them while the runs end, are summed up instead; of two with one name the later counts.
`benchmarks/looked_at.json` holds what a person said of a finding, as `NAME CODE TITLE` or `scripts CODE
TITLE`, or, of a library's, as `LIBRARY FILE:LINE CODE`.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.ci_evidence import LOOKED_AT
from benchmarks.evidence import head, write

WRONG = ("wrong", "rejected")
COUNTS = ("kernels", "copies", "all_threads")


def run(line: str, limit_s: float) -> dict[str, Any]:
    """A script's name, how its trace ended, and what it told."""
    name, arch, folder, path, words = line.split("\t")
    command = [
        sys.executable,
        "-m",
        "layoutcheck",
        "trace",
        "--no-launch",
        "--arch",
        arch,
        "--format",
        "json",
    ]
    command += ["--all", "--workers", "1", "--timeout", f"{limit_s:.0f}", *shlex.split(words)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([path, os.environ.get("PYTHONPATH", "")])}
    start = time.monotonic()
    try:
        ran = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=2 * limit_s + 60,
            check=False,
        )  # fmt: skip
        status, told = str(ran.returncode), reduced(ran.stdout)
    except subprocess.TimeoutExpired:
        status, told = "ended by the sweep", {}
    return {"name": name, "arch": arch, "status": status, "seconds": time.monotonic() - start, **told}


def reduced(text: str) -> dict[str, Any]:
    """Of a trace's JSON: its counts, and the findings, each different one once."""
    found: dict[tuple[str, str, str, str], None] = {}
    summary: dict[str, Any] = {}
    for line in text.splitlines():
        one = json.loads(line)
        summary = one.get("summary", summary)
        for told in (one.get(kind) or {} for kind in ("report", "elements", "order", "operands")):
            for each in told.get("findings", ()):
                found[each["severity"], each["code"], each["title"], _place(one, each)] = None
    findings = [dict(zip(("severity", "code", "title", "place"), one, strict=True)) for one in found]
    return {"summary": summary, "findings": findings}


def _place(told: dict[str, Any], finding: dict[str, Any]) -> str:
    """File and line of a finding, "" where it has none."""
    places = finding.get("places") or [told.get("trace") or {}]
    where = places[0].get("where") or {}
    return f"{Path(where['file']).name}:{where['line']}" if where.get("file") else ""


def _said(name: str, finding: dict[str, Any], looked_at: dict[str, dict[str, str]]) -> dict[str, str]:
    """What a person said of a finding of a script."""
    told = f"{finding['code']} {finding['title']}"
    placed = f"{name.partition('/')[0]} {finding.get('place')} {finding['code']}"
    return looked_at.get(f"{name} {told}") or looked_at.get(placed) or looked_at.get(f"scripts {told}", {})


def summed(runs: list[dict[str, Any]], looked_at: dict[str, dict[str, str]]) -> dict[str, Any]:
    """The evidence: totals, and each script with how it ended and what is wrong in it."""
    total: Counter[str] = Counter(scripts=len(runs))
    scripts = {}
    for one in sorted(runs, key=lambda each: str(each["name"])):
        summary = one.get("summary") or {}
        said = [({**each, **_said(str(one["name"]), each, looked_at)}) for each in one.get("findings", ())]
        wrong = [each for each in said if each.get("severity") in WRONG]
        slow = [each for each in said if each.get("severity") == "slow"]
        failures = [f"{each['kind']}: {each['message'][:120]}" for each in summary.get("failures", ())]
        scripts[one["name"]] = {
            "arch": one["arch"], "status": str(one["status"]), "seconds": round(one["seconds"], 1),
            **{key: summary.get(key, 0) for key in COUNTS},
            "slow": len(slow), "slow_looked_at": [each for each in slow if "looked_at" in each],
            "wrong": wrong, "failures": failures,
        }  # fmt: skip
        total["built_kernels"] += summary.get("kernels", 0) > 0
        total.update({key: summary.get(key, 0) for key in COUNTS})
    return {"total": total, "scripts": scripts}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("list", nargs="?", type=Path)
    parser.add_argument("--seen", type=Path, nargs="+", default=[])
    parser.add_argument("--lines", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=200)
    parser.add_argument("--device", help="where the scripts ran, if not here")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    runs = [json.loads(line) for file in given.seen for line in file.read_text().splitlines()]
    if given.list:
        lines = [line for line in given.list.read_text().splitlines() if line.strip()]
        with ThreadPoolExecutor(given.jobs) as pool:
            for one in pool.map(lambda line: run(line, given.timeout), lines):
                runs.append(one)
                if given.lines:
                    with given.lines.open("a") as file:
                        file.write(json.dumps(one) + "\n")
    last = list({one["name"]: one for one in runs}.values())
    device = {"device": given.device} if given.device else {}
    made = head("benchmarks.script_sweep", **device)
    for one in last:  # as the traces say, where they ran elsewhere
        made["python"] = (one.get("summary") or {}).get("versions", {}).get("python", made["python"])
    write(
        {**made, **summed(last, json.loads(LOOKED_AT.read_text()))},
        given.output,
    )


if __name__ == "__main__":
    main()
