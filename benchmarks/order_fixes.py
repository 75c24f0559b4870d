"""How many kernels with a fault of order `trace --fix` repairs by itself, and what the repaired ones compute:

    python -m benchmarks.order_fixes FOLDER [--out FILE] [--jobs N] [--run] [--keep KEPT] [NAME ...]
    python -m benchmarks.order_fixes FOLDER --kept KEPT --run [--out FILE] [--jobs N]

FOLDER holds one kernel a file (`zNN_name.py`, with `_z.py` beside them): variant 0 is right, the others are
broken. The first proven fix is written, and the program traced again: nothing may be wrong with it then. With
`--run` (a GPU and torch) each repaired kernel runs, and beside it the broken one and the right twin: the file
compares its output with the right one. `--keep` keeps what was repaired, one folder a variant, and `--kept`
runs that on a machine with a GPU.
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write
from layoutcheck.dsl.trace import end

SECONDS = 240.0  # of one repair
RUN_SECONDS = 90.0  # of one run, which compiles
ROW = "{:<52} {:>9} {:>8} {:>6}  {:>10} {:>10} {:>8}"
NOTES = ("LC520", "LC521", "LC522", "LC523", "LC524")
_VARIANTS = re.compile(r"variants=\(([^)]*)\)")


def jobs_of(folder: Path, names: list[str]) -> list[tuple[Path, str]]:
    """The files and their broken variants."""
    found = []
    for path in sorted(folder.glob("z*_*.py")):
        if names and not any(name in path.name for name in names):
            continue
        given = _VARIANTS.search(path.read_text())
        every = re.findall(r'"(\w+)"', given[1]) if given else ["right", "broken"]
        found += [(path, one) for one in every if one != "right"]
    return found


def bounded(command: list[str], folder: Path, seconds: float) -> tuple[int | None, str, str]:
    """Status (None: it was ended after so many seconds), output and errors of a command."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, cwd=folder, stdout=output, stderr=errors, env=_ENV, start_new_session=True
        )
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        end(process)
        output.seek(0)
        errors.seek(0)
        return status, output.read(), errors.read()


def told(script: Path, variant: str) -> list[str]:
    """The codes that a trace tells, notes too; raises RuntimeError where it gives no report."""
    command = [*_TRACE, "--format", "json", "--all", script.name, "--compile", "--only", variant]
    status, output, errors = bounded(command, script.parent, SECONDS)
    if status not in (0, 1) or not output:
        why = f"not in {SECONDS:g} s" if status is None else f"status {status}: {errors[-500:]}"
        raise RuntimeError(f"no trace: {why}")
    codes: list[str] = []
    for line in output.splitlines():
        record = json.loads(line)
        report = record.get("report") or {}
        codes += [
            one["code"] for one in report.get("findings", ()) if one["severity"] in ("rejected", "wrong")
        ]
        for part in ("order", "operands", "elements"):
            findings = (record.get(part) or {}).get("findings", ())
            codes += [one["code"] for one in findings if one["severity"] == "wrong" or one["code"] in NOTES]
    return sorted(set(codes))


# The commands run in other folders, and the package may not be installed.
_ENV = {**os.environ, "PYTHONPATH": os.pathsep.join((str(Path.cwd()), os.environ.get("PYTHONPATH", "")))}
_TRACE = [sys.executable, "-m", "layoutcheck", "trace", "--no-launch"]


def repaired(job: tuple[Path, str]) -> tuple[dict[str, Any], Path]:
    """One variant repaired in a folder of its own, and that folder's script."""
    path, variant = job
    folder = Path(tempfile.mkdtemp(prefix="layoutcheck-order-"))
    for one in (path, path.with_name("_z.py")):
        shutil.copyfile(one, folder / one.name)
    with (folder / "_z.py").open("a") as stream:  # one build of each kernel is enough
        stream.write("_diagnostics = lambda *a, **k: []\n")
    script = folder / path.name
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    before = told(script, variant)
    only_notes = bool(before) and all(code in NOTES for code in before)
    by = ["--by", "synchronise"] if only_notes else []
    began = time.monotonic()
    command = [*_TRACE, "--fix", *by, script.name, "--compile", "--only", variant]
    status, output, _ = bounded(command, folder, SECONDS)
    try:
        after = told(script, variant)
    except RuntimeError as error:
        after = [str(error)]
    said = output.splitlines()
    return {
        "kernel": path.stem, "variant": variant, "told": before, "left": after,
        "seconds": round(time.monotonic() - began, 1),
        "ran_out": status is None,
        "edits": sum(line.startswith("fixed:") for line in said),
        "not_fixed": sum(line.startswith("not fixed:") for line in said),
        "diff": [line for line in said if re.match(r"[+-](?![+-])", line)],
        "silent": not [code for code in after if code not in NOTES or (only_notes and code in before)],
    }, script  # fmt: skip


def kept(folder: Path) -> list[tuple[dict[str, Any], Path]]:
    """What `--keep` left: each row with its repaired script."""
    rows = [(json.loads(one.read_text()), one.parent) for one in sorted(folder.glob("*/row.json"))]
    return [(row, where / f"{row['kernel']}.py") for row, where in rows]


def ran(script: Path, variant: str) -> str:
    """What a variant computes: right, corrupts, hangs, faults."""
    command = [sys.executable, script.name, "--only", variant]
    status, output, _ = bounded(command, script.parent, RUN_SECONDS)
    if status is None:
        return "hangs"
    records = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    results = [one["result"] for one in records if "result" in one]
    return str(results[-1]).split(":")[0] if results else f"faults ({status})"


def main() -> None:
    """Print the table, and write what was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--kept", type=Path)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with ThreadPoolExecutor(given.jobs) as pool:
        done = kept(given.kept) if given.kept else pool.map(repaired, jobs_of(given.folder, given.names))
        for row, script in done:
            if given.keep:
                folder = shutil.copytree(script.parent, given.keep / f"{row['kernel']}-{row['variant']}")
                (folder / "row.json").write_text(json.dumps(row))
            if given.run:
                row["runs"] = ran(script, row["variant"])
                row["runs_before"] = ran(given.folder / script.name, row["variant"])
                row["twin"] = ran(given.folder / script.name, "right")
            if not given.kept:
                shutil.rmtree(script.parent, ignore_errors=True)
            rows.append(row)
            print(_row(row), flush=True)
    told_of = [row for row in rows if any(code.startswith("LC5") for code in row["told"])]
    summary = {
        "broken": len(rows), "told by order": len(told_of),
        "silent after the first fix": sum(row["silent"] for row in told_of),
    }  # fmt: skip
    if given.run:
        mended = [row for row in told_of if row["silent"]]
        summary["of these right on the GPU"] = sum(row["runs"] == "right" for row in mended)
    print(", ".join(f"{number} {what}" for what, number in summary.items()))
    if given.out:
        write({**head("benchmarks.order_fixes"), "summary": summary, "kernels": rows}, given.out)


def _row(row: dict[str, Any]) -> str:
    name = f"{row['kernel']} {row['variant']}"
    runs = (row.get("runs_before", ""), row.get("runs", ""), row.get("twin", ""))
    return ROW.format(
        name, "silent" if row["silent"] else ",".join(row["left"]), row["edits"], row["seconds"], *runs
    )


if __name__ == "__main__":
    main()
