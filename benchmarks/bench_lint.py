"""The static lint beside `ruff check`, over the Python source of any repositories, in one run.

    python -m benchmarks.bench_lint FOLDER... --out docs/evidence/lint.json

Each command is a process of its own, without a cache, on two processors; the times are medians, and
`startup` is one small file beside `python -c 'import numpy, typer'`. The tools are run in turn, so that both
meet the same load; `cpu_seconds` (of all its processes) is what a loaded machine changes least.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.evidence import head, write

CORES = 2
SMALL = "from cutlass import cute\n\n\ndef f(row):\n    return cute.assume(row * 64, divby=8)\n"


def seconds(command: list[str], cwd: str) -> tuple[float, float]:
    """Wall and processor seconds of a command and its children."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(commands: dict[str, list[str]], cwd: str, repeats: int) -> dict[str, dict[str, float]]:
    """The medians of every command, run in turn."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            times[name].append(seconds(command, cwd))
    return {
        kind: {name: round(statistics.median(each[i] for each in rows), 3) for name, rows in times.items()}
        for i, kind in enumerate(("wall_seconds", "cpu_seconds"))
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    lint = [sys.executable, "-m", "layoutcheck", "lint", "--static", "--no-cache", "--workers", str(CORES)]
    ruff = [sys.executable, "-m", "ruff", "check", "--no-cache", "--isolated", "--exit-zero", "--quiet"]
    folders = [str(folder.resolve()) for folder in options.folders]
    counted = subprocess.run(
        [*lint, *folders, "--format", "json"], capture_output=True, text=True, check=False
    )
    counts = json.loads(counted.stdout)["counts"]
    with tempfile.TemporaryDirectory() as folder:
        whole = measured(
            {"layoutcheck": [*lint, *folders], "ruff": [*ruff, *folders]}, folder, options.repeats
        )
        (Path(folder) / "small.py").write_text(SMALL)
        imports = [sys.executable, "-c", "import numpy, typer"]
        small = measured(
            {"layoutcheck": [*lint, "small.py"], "imports": imports}, folder, 2 * options.repeats
        )
    made = {
        **head("benchmarks.bench_lint", "ruff"),
        "cores": CORES,
        "files": counts["files"],
        "lines": counts["lines"],
        "copy_sites": counts["sites"],
        "load_average": round(os.getloadavg()[0], 1),
        "whole": whole,
        "per_100000_lines": {
            kind: {name: round(s * 1e5 / counts["lines"], 3) for name, s in times.items()}
            for kind, times in whole.items()
        },
        "ratio_to_ruff": {
            kind: round(times["layoutcheck"] / times["ruff"], 1) for kind, times in whole.items()
        },
        "startup": small,
    }
    if options.out:
        write(made, options.out)
    write(made, None)


if __name__ == "__main__":
    main()
