"""Fixes of public repositories, before and after: `python -m benchmarks.history NAME=DIR ... [--only TEXT]`.

    python -m benchmarks.history quack=CLONE flash-attention=CLONE --trees FOLDER --prepare
    python -m benchmarks.history --trees FOLDER --jobs 14 --output docs/evidence/history.json

Each fix of `history.json` names a commit, and what builds the kernel: a function of a module of
`benchmarks/trace_drivers`, or files of the repository itself. The trees before and after are both traced, and
what only the first has is what the fix took away. A fix is caught if the tree before has such a finding and
the tree after none that the other lacks; noted if all that went are notes on order. `no_fault` says, with the
reason, that the traced tree holds no fault which the fix takes away. A fix is not finished where time ended
the run of a tree, or the replay of one of its kernels. The verdict on each, with the reason where nothing is
seen, is in the evidence.

The trees are the parent of the fix and the fix. Where the code of that day runs with no DSL that can be
traced, the fix names a later commit (`on`): there the fix is undone, by its own diff backwards or, where the
code has moved since, by `edits`. Where the clone lacks the fix, `edits` make the tree after it (`edited`). A
clone may be a plain folder of a repository's files. `older` puts names back that the DSL has renamed. `needs`
are other repositories on the path, `dsl` the DSL of both sides: give its folder as `--dsl VERSION=FOLDER`.
Where `copies` is false, copies are judged by their layouts only, and the order of accesses as everywhere.
`first` is the verdict of the first try, before anything was mended for the fix.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write
from layoutcheck.sources.traced import Trace, TraceFailure

FIXES = Path(__file__).with_name("history.json")
DRIVERS = Path(__file__).parent / "trace_drivers"
SEVERITIES = ("rejected", "wrong", "slow")
SIDES = ("before", "after")
LINE = re.compile(r"(?<=\.py):[0-9]+")  # a fix moves lines
COST = re.compile(r"([0-9]+) (wavefronts|sectors) instead of ([0-9]+)")
GENERATED = re.compile(r"\b[a-z2-7]{52}\.py")  # torch names a file of generated code by its content
PYTHON = (":(glob)**/*.py",)


def git(clone: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", clone, *arguments], check=True, capture_output=True).stdout


def checkout(clone: Path, commit: str, folder: Path, *paths: str) -> None:
    """The Python of a commit, or some paths of it; the clone is not touched, and may lack other files."""
    folder.mkdir(exist_ok=True, parents=True)
    if not (clone / ".git").exists() and not (clone / "HEAD").exists():  # files of a repository, without git
        shutil.copytree(clone, folder, dirs_exist_ok=True)
        return
    archive = git(clone, "archive", commit, *(paths or PYTHON))
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)


def prepare(fix: dict[str, Any], clones: Mapping[str, Path], folder: Path) -> None:
    """The two trees of a fix, and those that it needs, below a folder."""
    clone, commit = clones[fix["repository"]], fix["commit"]
    on = fix.get("on")
    for side, at in zip(SIDES, (on or f"{commit}^", on or commit), strict=True):
        checkout(clone, at, folder / side, *fix.get("paths", ()))
        if "tests" in fix:  # those of the fix show what it mends
            checkout(clone, commit, folder / side, *fix["tests"])
    if on and "edits" not in fix:
        diff = git(clone, "diff", f"{commit}^", commit, "--", *fix.get("undo", ["*.py"]))
        command = [
            "patch",
            "-R",
            "-p1",
            "-f",
            "-s",
            "-F3",
            "--no-backup-if-mismatch",
            "-d",
            folder / "before",
        ]
        subprocess.run(command, input=diff, check=True)
    for edit in fix.get("edits", ()):
        file = folder / fix.get("edited", "before") / edit["file"]
        text = file.read_text()
        if text.count(edit["old"]) != edit.get("times", 1):
            raise SystemExit(
                f"{commit}: {edit['old']!r} is {text.count(edit['old'])} times in {edit['file']}"
            )
        file.write_text(text.replace(edit["old"], edit["new"]))
    for name, at in fix.get("needs", {}).items():
        checkout(clones[name], at, folder / name)


def traced(fix: dict[str, Any], root: Path, timeout_s: float) -> dict[str, Any]:
    """What a tree's kernels show: findings by code and file, with counts, and what was not seen."""
    from layoutcheck.dsl.lowered.resolve import Lowering
    from layoutcheck.dsl.trace import trace_script
    from layoutcheck.order import check_module
    from layoutcheck.provenance import check_products
    from layoutcheck.reports import order
    from layoutcheck.reports.trace import located
    from layoutcheck.tracing import judge

    start = time.monotonic()
    with (
        tempfile.TemporaryFile("w+") as log,
        Lowering(
            copies=fix.get("copies", True), order=partial(check_module, seconds=60), products=check_products
        ) as lowering,
    ):
        found = trace_script(
            *command(fix), launch=False, arch=fix["arch"], timeout_s=timeout_s, output=log, cwd=str(root),
            lowering=lowering,
        )  # fmt: skip
    judged = judge(found)
    findings = Counter(
        f"{one.severity} {one.code} {inside(one.path, root)}: {LINE.sub('', one.title)}"
        for one in located(judged)
        if one.severity in SEVERITIES
    )
    for note, _ in order.distinct(judged.trace.told):
        if note.severity == "note":
            place = inside(order.main(note).where.file, root)
            findings[f"note {note.code} {place}: {LINE.sub('', note.title)}"] += 1
    named = Counter[str]()
    for told, count in findings.items():
        named[GENERATED.sub("generated.py", told)] += count
    return {
        "kernels": len(found.kernels),
        "copies": len(found.copies),
        "findings": dict(named),
        "failures": unseen(judged.trace),
        "seconds": round(time.monotonic() - start, 1),
        "versions": found.versions,
    }


def unseen(trace: Trace) -> list[str]:
    """What was not seen of a run, by its kind; a replay that time ended among it."""
    late = (TraceFailure("timeout", one.problem) for one in trace.orders if "time budget" in one.problem)
    return [f"{one.kind}: {' '.join(one.message.split())[:160]}" for one in (*trace.failures, *late)]


def command(fix: dict[str, Any]) -> tuple[str, list[str]]:
    """The program and its arguments: a function of a driver, or what the fix runs of the repository."""
    words = fix.get("run")
    if words is None:
        module, _, function = fix["case"].partition(".")
        words = [str(DRIVERS / f"{module}.py"), function]
    if fix.get("older"):
        words = [str(DRIVERS / "older.py"), *words]
    return words[0], words[1:]


def inside(path: str, root: Path) -> str:
    full = Path(path).resolve()
    return str(full.relative_to(root.resolve())) if full.is_relative_to(root.resolve()) else full.name


def side(
    fix: dict[str, Any], trees: Path, name: str, dsl: Mapping[str, str], timeout_s: float
) -> dict[str, Any]:
    """A tree, traced by a process of its own: its DSL and its packages are on its path."""
    first = [dsl[fix["dsl"]]] if "dsl" in fix else []
    needed = [str(trees / needed) for needed in fix.get("needs", {})]
    path = [*first, str(trees / name), *needed, os.environ.get("PYTHONPATH", "")]
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.history", "--side", str(trees / name), f"--timeout={timeout_s}"],
        input=json.dumps(fix), capture_output=True, text=True,
        env={**os.environ, **fix.get("environment", {}), "PYTHONPATH": os.pathsep.join(path)}, check=False,
    )  # fmt: skip
    if ran.returncode:  # of the harness; what keeps a program from being seen is in its failures
        print(f"{fix['commit']} {name}: {ran.stderr[-1000:]}", file=sys.stderr)
        return {"kernels": 0, "copies": 0, "findings": {}, "failures": ["the harness failed"], "seconds": 0.0}
    made: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return made


def compared(fix: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What only one side has; "caught" if the fix took findings away and brought none, "noted" if notes.

    Where time ended a side, what it lacks says nothing: "not finished".

    Where a fix names `codes`, a kernel is written anew: those codes decide, and `new` has the others too.
    """
    gone = without(before["findings"], after["findings"])
    new = every = without(after["findings"], before["findings"])
    if "codes" in fix:
        gone, new = (
            Counter({k: n for k, n in c.items() if k.split()[1] in fix["codes"]}) for c in (gone, new)
        )
    seen = bool(before["kernels"] and after["kernels"])
    refused = any(text.startswith("uncompiled") for text in before["failures"])
    told = any(not finding.startswith("note ") for finding in gone)
    verdict = "not traced"
    if any(text.startswith("timeout: ") for text in (*before["failures"], *after["failures"])):
        verdict = "not finished"
    elif seen or (refused and after["kernels"]):
        missed = "no fault" if fix.get("no_fault") else "missed"
        verdict = missed if not gone else "changed" if new else "caught" if told else "noted"
    return {"verdict": verdict, "gone": dict(gone), "new": dict(every)}


def without(ours: Mapping[str, int], others: Mapping[str, int]) -> Counter[str]:
    """Our findings that the others lack; two that cost as many times the least are one, however often."""
    left = Counter[str]()
    for finding, count in others.items():
        left[COST.sub(_ratio, finding)] += count
    found = Counter[str]()
    for finding, count in ours.items():
        same = min(count, left[COST.sub(_ratio, finding)])
        left[COST.sub(_ratio, finding)] -= same
        if count > same:
            found[finding] = count - same
    return found


def _ratio(cost: re.Match[str]) -> str:
    return f"{int(cost[1]) / int(cost[3]):g} times the {cost[2]}"


def told(fix: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What the evidence says of a fix."""
    about = {key: fix[key] for key in ("title", "arch", "about")}
    done = "made" if fix.get("edited") == "after" else "undone"
    how = f"{done} on {fix['on']}" if "on" in fix else "parent and fix"
    how += " by edits" if "edits" in fix else ""
    how += ", renamed names of the DSL put back" if fix.get("older") else ""
    how += "" if fix.get("copies", True) else ", order only"
    sides = {"before": before, "after": after}
    tried = {key: fix[key] for key in ("reason", "first") if key in fix}
    return {**about, "trees": how, "reason": "", **tried, **compared(fix, before, after), **sides}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("repositories", nargs="*", metavar="NAME=DIR")
    parser.add_argument("--only", default="", help="fixes whose repository and commit hold this text")
    parser.add_argument("--trees", type=Path, required=True, help="where the trees are, or are made")
    parser.add_argument("--prepare", action="store_true", help="make the trees, and end")
    parser.add_argument("--dsl", action="append", default=[], metavar="VERSION=FOLDER")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    clones = {name: Path(folder) for name, _, folder in (word.partition("=") for word in given.repositories)}
    dsl = dict(word.split("=", 1) for word in given.dsl)
    kept: dict[str, Any] = {"fixes": {}}
    if given.output and given.output.exists():
        kept = json.loads(given.output.read_text())
    fixes = {f"{fix['repository']} {fix['commit']}": fix for fix in json.loads(FIXES.read_text())}
    chosen = {name: fix for name, fix in fixes.items() if given.only in name}
    for name, fix in chosen.items():
        folder = given.trees / name.replace(" ", "-")
        if not folder.exists() and {fix["repository"], *fix.get("needs", {})} <= set(clones):
            prepare(fix, clones, folder)
    if given.prepare:
        return

    able = [
        name
        for name, fix in chosen.items()
        if (given.trees / name.replace(" ", "-")).exists() and fix.get("dsl") in (None, *dsl)
    ]
    sides: dict[str, dict[str, Any]] = {name: {} for name in able}
    with ThreadPoolExecutor(given.jobs) as pool:
        waiting = {
            pool.submit(
                side, fixes[name], given.trees / name.replace(" ", "-"), which, dsl, given.timeout
            ): (name, which)
            for name in able
            for which in SIDES
        }  # fmt: skip
        for future in as_completed(waiting):
            name, which = waiting[future]
            sides[name][which] = future.result()
            if len(sides[name]) == len(SIDES):
                kept["fixes"][name] = told(fixes[name], **sides[name])
                print(name, kept["fixes"][name]["verdict"], json.dumps(kept["fixes"][name]), flush=True)
                if given.output:
                    write({**kept, **head("benchmarks.history")}, given.output)


if __name__ == "__main__":
    if "--side" in sys.argv:
        tree, seconds = Path(sys.argv[2]), float(sys.argv[3].partition("=")[2])
        print(json.dumps(traced(json.load(sys.stdin), tree, seconds)))
    else:
        main()
