"""The language server: a keystroke's diagnostics on files of about 2,000 lines. Needs pygls and pytest-lsp.

    python -m benchmarks.bench_server [FILE ...] [--out FILE]

Prints the milliseconds from sending a change to receiving its diagnostics, pytest-lsp's share of them
included, and the server's processor time for it (which a busy machine does not lengthen), on Linux. Without
files: kernels with a finding in every sixth line, and the same file with none.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write
from tests.editor.asked import server

CHANGES = 100
_HEAD = "from cutlass import cute\nfrom cutlass.cute.nvgpu import cpasync\n\n\n"
_KERNEL = """@cute.kernel
def load_{n}(atom: cute.CopyAtom, gA: cute.Tensor, sA: cute.Tensor, barrier: cute.Pointer):
    tAsA, tAgA = cpasync.tma_partition(atom, 0, cute.make_layout(1), sA, gA)
    if {condition}:
        cute.copy(atom, tAgA, tAsA, tma_bar_ptr=barrier)

"""


def made(condition: str) -> str:
    """A file of 2,000 lines."""
    return _HEAD + "".join(_KERNEL.format(n=n, condition=condition) for n in range(333))


async def measured(file: Path) -> dict[str, Any]:
    """Medians, p99 and maxima of the changes to one file."""
    text = file.read_text()
    wall, cpu = [], []
    async with server() as editor:
        findings = len(await editor.opened(file))
        for version in range(2, CHANGES + 2):
            before, begin = processor_seconds(editor.process), time.perf_counter()
            await editor.changed(file, f"{text}#{'x' * version}", version)
            wall.append(1000 * (time.perf_counter() - begin))
            cpu.append(1000 * (processor_seconds(editor.process) - before))
    return {
        "file": file.name, "lines": text.count("\n"), "findings": findings, "changes": CHANGES,
        "wall_ms": spread(wall), "processor_ms": {"mean": round(statistics.mean(cpu), 1), **spread(cpu)},
    }  # fmt: skip


def spread(times: list[float]) -> dict[str, float]:
    """Median, p99 and the most."""
    middle, most = round(statistics.median(times), 1), round(max(times), 1)
    return {"median": middle, "p99": percentile(times, 0.99), "most": most}


def percentile(times: list[float], share: float) -> float:
    """The least time that this share of them does not exceed."""
    return round(sorted(times)[math.ceil(share * len(times)) - 1], 1)


def processor_seconds(process: int) -> float:
    """What the threads of a process have used so far, as the scheduler counts it in nanoseconds."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(one.read_text().split()[0]) for one in threads) / 1e9


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = [one.resolve() for one in given.files]
        for name, condition in () if files else (("clean", "True"), ("findings", "gA.thread == 0")):
            files.append(Path(folder) / f"{name}.py")
            files[-1].write_text(made(condition.replace("gA.thread", "cute.arch.thread_idx()[0]")))
        found = [asyncio.run(measured(file)) for file in files]
    busy = round(os.getloadavg()[0], 1)
    write({**head("benchmarks.bench_server", "pygls"), "load_average": busy, "files": found}, given.out)


if __name__ == "__main__":
    main()
