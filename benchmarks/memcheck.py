"""compute-sanitizer's memcheck beside the bounds of a trace: `python -m benchmarks.memcheck OUT [SEED]`.

Random kernels with tails (`tests/dsl/lowered/tails.py`), most of which leave a tensor, are traced without a
launch and judged; then each runs under `compute-sanitizer --tool memcheck` in buffers of exactly the tensors'
size, in a process of its own. OUT gets, for each: what was predicted, and what memcheck says. Memcheck sees
global memory; it cannot see an access that stays inside the block's shared memory, and none is made here.
The kernels are those of SEED (50,000) and the seeds behind it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import trace_script
from tests.dsl.lowered.tails import Spec, faults, generate
from tests.dsl.lowered.test_tails import predicted

WRONG, RIGHT, JOBS = 60, 20, 14
HERE = Path(__file__).parents[1]
_INVALID = re.compile(r"Invalid __global__ (read|write) of size ([0-9]+) bytes")
_BLOCK = re.compile(r"by thread \(([0-9]+),[0-9]+,[0-9]+\) in block \(([0-9]+,[0-9]+,[0-9]+)\)")


def chosen(first: int) -> list[Spec]:
    """Kernels that leave a tensor, and kernels that do not, by brute force."""
    wrong: list[Spec] = []
    right: list[Spec] = []
    seed = first
    while len(wrong) < WRONG or len(right) < RIGHT:
        spec = generate(seed)
        (wrong if faults(spec) else right).append(spec)
        seed += 1
    return wrong[:WRONG] + right[:RIGHT]


def judged(specs: list[Spec], listed: Path) -> list[tuple[str, int, int] | str | None]:
    """What the trace says of each."""
    with Lowering() as lowering:
        found = trace_script(
            "-m", ["tests.dsl.lowered.tail_kernels", str(listed)], launch=False, arch="sm_90a",
            timeout_s=600, cwd=str(HERE), lowering=lowering,
        )  # fmt: skip
    return predicted(found, specs)


def memcheck(listed: Path, number: int) -> dict[str, Any]:
    """What memcheck says of one, by side: its accesses outside, by (block, thread)."""
    command = [
        "compute-sanitizer", "--tool", "memcheck", "--print-limit", "100000", sys.executable, "-m",
        "tests.dsl.lowered.tail_kernels", str(listed), "--run", str(number),
    ]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, timeout=170, cwd=HERE, check=False)
    found: dict[str, set[str]] = {"load": set(), "store": set()}
    side = ""
    for line in ran.stdout.splitlines():
        if match := _INVALID.search(line):
            side = {"read": "load", "write": "store"}[match[1]]
        elif (match := _BLOCK.search(line)) and side:
            found[side].add(f"({match[2]}) {match[1]}")
            side = ""
    said = re.search(r"ERROR SUMMARY: ([0-9]+) error", ran.stdout)
    return {
        "errors": int(said[1]) if said else None,
        **{side: sorted(seen) for side, seen in found.items()},
        "said": "" if said else (ran.stdout + ran.stderr)[-600:],
    }


def main(folder: Path, first: int = 50_000) -> None:
    """Write `folder`/memcheck.json; the kernels are drawn from the seed `first` on."""
    folder.mkdir(parents=True, exist_ok=True)
    specs = chosen(first)
    with tempfile.TemporaryDirectory() as temporary:
        listed = Path(temporary) / "specs.json"
        listed.write_text(json.dumps(specs))
        told = judged(specs, listed)
        with ThreadPoolExecutor(JOBS) as pool:
            ran = list(pool.map(lambda n: memcheck(listed, n), range(len(specs))))
    rows = []
    for spec, fault, seen in zip(specs, told, ran, strict=True):
        place = f"{fault[0]} {fault[1]}" if isinstance(fault, tuple) else fault
        here = seen[spec["side"]]
        rows.append(
            {"spec": spec, "predicted": place, "outside": len(here), "errors": seen["errors"],
             "said": seen["said"], "same_place": place in here if place else None,
             "agrees": seen["errors"] is not None and (place is not None) == bool(here)}
        )  # fmt: skip
    summary = {
        "kernels": len(specs), "predicted": sum(r["predicted"] is not None for r in rows),
        "agree": sum(r["agrees"] for r in rows), "not_run": sum(r["errors"] is None for r in rows),
        "same_place": sum(r["same_place"] is True for r in rows),
    }  # fmt: skip
    version = subprocess.run(["compute-sanitizer", "--version"], capture_output=True, text=True, check=False)
    record = {
        **head("benchmarks.memcheck", compute_sanitizer=version.stdout.strip().splitlines()[-1:]),
        "summary": summary, "rows": rows,
    }  # fmt: skip
    write(record, folder / "memcheck.json")
    print(json.dumps(summary))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
