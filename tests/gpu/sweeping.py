"""The command line of a sweep on the GPU: `prepare` draws and compiles copies, `run` runs them."""

from __future__ import annotations

import argparse
import collections
import pickle
import subprocess
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from layoutcheck.copies.copy import Copy
from layoutcheck.gpu.prepare import prepare
from layoutcheck.versions import MODELLED

_DRIVER = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]


def options(text: str | None, count: int, families: Sequence[str] = ()) -> argparse.Namespace:
    """The words after the module's name; `count` copies are drawn by default."""
    parser = argparse.ArgumentParser(description=text)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("prepare")
    one.add_argument("--count", type=int, default=count)
    one.add_argument("--seed", type=int, default=1)
    if families:
        one.add_argument("--family", choices=tuple(families), default=families[0])
    one.add_argument("--out", type=Path, required=True)
    two = commands.add_parser("run")
    two.add_argument("file", type=Path)
    two.add_argument("--out", type=Path, required=True)
    two.add_argument("--workers", type=int, default=12)
    return parser.parse_args()


def write_prepared(named: Sequence[tuple[str, Copy]], out: Path) -> None:
    """Compile the copies into a file that `run` takes, and say what cannot run and why."""
    prepared = prepare(named)
    out.write_bytes(pickle.dumps(prepared))
    print(f"{len(prepared)} copies, {sum(p.task is not None for p in prepared)} of them ready to run")
    notes = collections.Counter(f"{p.note[:90]} | {p.compiler[:80]}" for p in prepared if p.task is None)
    for note, number in notes.most_common(9):
        print(f"{number:6d}  {note}")


def head(machine: dict[str, Any], command: str, start: float) -> dict[str, Any]:
    """What evidence begins with: when, where and how it was measured."""
    try:
        driver = subprocess.run(_DRIVER, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        driver = ""
    return {
        "date": date.today().isoformat(),
        "device": machine,
        "driver": driver,
        "compiler": f"nvidia-cutlass-dsl {MODELLED}",
        "command": command,
        "seconds": round(time.time() - start, 1),
    }
