"""Cold start of `layoutcheck explain` beside the imports it cannot do without.

    python benchmarks/bench_startup.py [ROUNDS]

Alternates `layoutcheck explain` with `python -c 'import numpy, typer'`, each a process of its
own, and prints the least processor time of each (user and system: other work on the machine counts little)
and the ratio. Aim: 1.3.
"""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator

BASE = [sys.executable, "-c", "import numpy, typer"]
VIEWS = [
    sys.executable, "-m", "layoutcheck", "explain",
    '!cute.memref<bf16, gmem, align<16>, "(8):(1)">', '!cute.memref<bf16, smem, align<128>, "(8):(64)">',
    "--atom", "cp.async", "--bits", "128",
]  # fmt: skip
TILES = [sys.executable, "-m", "layoutcheck", "explain", "--case", "issue-2320"]


def seconds(command: list[str], environment: dict[str, str]) -> float:
    """Processor time of one process. Raises SystemExit where `explain` gave no verdict, `synth` no plan."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if "explain" in command and not done.stdout.startswith((b"wrong[", b"rejected[")):
        raise SystemExit(f"{command} failed")
    if "synth" in command and done.returncode:
        raise SystemExit(f"{command} ended with {done.returncode}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextlib.contextmanager
def byte_code() -> Iterator[dict[str, str]]:
    """The environment of processes that keep byte code for all, as pip compiles what it installs."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        yield environment | {"PYTHONPYCACHEPREFIX": cache}


def main() -> None:
    """Print one line for each command."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    commands = {"import numpy, typer": BASE, "explain, two views": VIEWS, "explain --case issue-2320": TILES}
    times: dict[str, list[float]] = {name: [] for name in commands}
    with byte_code() as environment:
        for command in commands.values():
            seconds(command, environment)
        for _ in range(rounds):
            for name, command in commands.items():
                times[name].append(seconds(command, environment))
    base = min(times["import numpy, typer"])
    for name, measured in times.items():
        least = min(measured)
        print(f"{name:28} {least * 1000:7.0f} ms   {least / base:5.2f} x")


if __name__ == "__main__":
    main()
