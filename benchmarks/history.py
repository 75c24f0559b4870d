"""Fixes of public repositories, before and after: `python -m benchmarks.history NAME=DIR ... [--only TEXT]`.

    python -m benchmarks.history quack=CLONE flash-attention=CLONE [--output docs/evidence/history.json]

An old commit needs the DSL of its time: run this by the Python of an environment that has it.

Each fix of `history.json` names a commit, and what builds the kernel: a case of `benchmarks/trace_drivers`,
or a program of its own. The parent and the fix are checked out from the clone, both are traced, and what only
the parent has is what the fix took away. A fix is caught if the parent has such a finding and the fix none
that the parent lacks. The verdict on each, with the reason where nothing is seen, is in the evidence.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import check_module
from layoutcheck.reports.trace import located
from layoutcheck.tracing import judge

HERE = Path(__file__).parent
FIXES = HERE / "history.json"
SEVERITIES = ("rejected", "wrong", "slow")


def checkout(clone: Path, commit: str, folder: Path, *paths: str) -> None:
    """The Python of a commit, or some paths of it; the clone is not touched, and may lack other files."""
    paths = paths or (":(glob)**/*.py", ":(glob)**/*.toml")
    archive = subprocess.run(["git", "-C", clone, "archive", commit, *paths], check=True, capture_output=True)
    folder.mkdir(exist_ok=True)
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)


def traced(fix: dict[str, Any], root: Path, timeout_s: float) -> dict[str, Any]:
    """What a tree's kernels show: findings by code and file, with counts, and what was not seen."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    driver = HERE / "trace_drivers" / f"{fix['repository'].replace('-', '_')}_cases.py"
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("w+") as log:
        if "program" in fix:
            program = Path(folder) / "program.py"
            program.write_text(fix["program"])
            command = [str(program)]
        else:
            command = [str(driver), fix["case"]]
        with Lowering(order=partial(check_module, seconds=60)) as lowering:
            found = trace_script(
                command[0], command[1:], launch=False, arch=fix["arch"], timeout_s=timeout_s, output=log,
                cwd=str(root), lowering=lowering,
            )  # fmt: skip
    os.environ["PYTHONPATH"] = os.environ["PYTHONPATH"].partition(os.pathsep)[2]
    judged = judge(found)
    findings = Counter(
        f"{one.severity} {one.code} {inside(one.path, root)}: {one.title}"
        for one in located(judged)
        if one.severity in SEVERITIES
    )
    return {
        "kernels": len(found.kernels),
        "copies": len(found.copies),
        "findings": dict(findings),
        "failures": [f"{one.kind}: {' '.join(one.message.split())[:160]}" for one in found.failures],
        "seconds": round(time.monotonic() - start, 1),
        "versions": found.versions,
    }


def inside(path: str, root: Path) -> str:
    full = Path(path).resolve()
    return str(full.relative_to(root.resolve())) if full.is_relative_to(root.resolve()) else full.name


def compared(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What only one side has; "caught" if the fix took findings away and brought none."""
    gone = Counter(before["findings"]) - Counter(after["findings"])
    new = Counter(after["findings"]) - Counter(before["findings"])
    seen = bool(before["kernels"] and after["kernels"])
    refused = any(text.startswith("uncompiled") for text in before["failures"])
    verdict = "not traced"
    if seen or refused:
        verdict = "caught" if gone and not new else "changed" if gone else "missed"
    return {"verdict": verdict, "gone": dict(gone), "new": dict(new)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--only", default="")
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    clones = {name: Path(folder) for name, _, folder in (word.partition("=") for word in given.repositories)}
    kept: dict[str, Any] = {"fixes": {}}
    if given.output and given.output.exists():
        kept = json.loads(given.output.read_text())
    for fix in json.loads(FIXES.read_text()):
        if fix["repository"] not in clones or given.only not in f"{fix['repository']} {fix['commit']}":
            continue
        sides = {}
        with tempfile.TemporaryDirectory() as folder:
            for side, commit in (("before", f"{fix['commit']}^"), ("after", fix["commit"])):
                root = Path(folder) / side
                checkout(clones[fix["repository"]], commit, root)
                if "tests" in fix:  # those of the fix show what it mends
                    checkout(clones[fix["repository"]], fix["commit"], root, *fix["tests"])
                sides[side] = traced(fix, root, given.timeout)
        found = {**compared(sides["before"], sides["after"]), **sides}
        print(fix["repository"], fix["commit"], found["verdict"], json.dumps(found, indent=1), flush=True)
        kept["fixes"][f"{fix['repository']} {fix['commit']}"] = {
            **{key: fix[key] for key in ("title", "arch", "about")},
            "reason": fix.get("reason", ""), **found,
        }  # fmt: skip
        if given.output:
            write({**kept, **head("benchmarks.history")}, given.output)


if __name__ == "__main__":
    main()
