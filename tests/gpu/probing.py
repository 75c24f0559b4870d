"""The command line of hand-written probes on the GPU, each in a process of its own: a fault ends it."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write

Measured = dict[str, Any]


def main(module: str, text: str | None, probes: Iterable[str], measure: Callable[[str], Measured]) -> None:
    """`python -m MODULE [--out FILE]`: what every probe measured, printed and kept as evidence."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)), flush=True)
        os._exit(0)  # after a fault there is no polite way out

    def run(name: str) -> Measured:
        command = [sys.executable, "-m", module, "--one", name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=Path.cwd())
        except subprocess.TimeoutExpired:
            return {"fault": "no answer within the time limit"}
        found: Measured = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
        return found or {"error": done.stderr[-300:]}

    names = list(probes)
    with ThreadPoolExecutor(8) as pool:
        found = dict(zip(names, pool.map(run, names), strict=True))
    if options.out:
        write({**head(module), "probes": found}, options.out)
    for name, one in found.items():
        print(name, one)
