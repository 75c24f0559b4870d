"""Cold start of `layoutcheck explain` beside the imports it cannot do without.

    python benchmarks/bench_startup.py [ROUNDS]

Alternates `layoutcheck explain` with `python -c 'import numpy, typer'`, each a process of its
own, and prints the medians and their ratio (aim: at most 1.5).
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

BASE = [sys.executable, "-c", "import numpy, typer"]
VIEWS = [
    sys.executable, "-m", "layoutcheck.cli", "explain",
    '!cute.memref<bf16, gmem, align<16>, "(8):(1)">', '!cute.memref<bf16, smem, align<128>, "(8):(64)">',
    "--atom", "cp.async", "--bits", "128",
]  # fmt: skip
TILES = [sys.executable, "-m", "layoutcheck.cli", "explain", "--case", "issue-2320"]


def seconds(command: list[str]) -> float:
    """Wall time of one process, its output thrown away."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def main() -> None:
    """Print one line for each command."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    commands = {"import numpy, typer": BASE, "explain, two views": VIEWS, "explain --case issue-2320": TILES}
    for command in commands.values():  # byte code and file cache
        seconds(command)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(seconds(command))
    base = statistics.median(times["import numpy, typer"])
    for name, measured in times.items():
        median = statistics.median(measured)
        print(f"{name:28} {median * 1000:7.0f} ms   {median / base:5.2f} x")


if __name__ == "__main__":
    main()
