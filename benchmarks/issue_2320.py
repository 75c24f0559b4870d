"""NVIDIA/cutlass#2320 as its reporter wrote the copy, patched by `trace --fix`, and run.

    python -m benchmarks.issue_2320 patch --out docs/evidence/issue_2320_patches.json     # no GPU
    python -m benchmarks.issue_2320 run docs/evidence/issue_2320_patches.json --out FILE  # on a GPU

`patch` writes the diff of each fix of the programs in `tests/patching/reported.py`. `run` compiles the
patched programs, compares every bit with PyTorch's result, and times them. GB/s counts the bytes that a
kernel must read and write once; `copied` is timed beside `Tensor.copy_` of the same bytes.
"""

from __future__ import annotations

import argparse
import json
import runpy
import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write
from layoutcheck.tracing import Script, repaired
from tests.patching.reported import COPIED, MULTIPLIED

PROGRAMS = {"copied": COPIED, "multiplied": MULTIPLIED}
WAYS = [
    ("copied", "copy-elements"),
    ("copied", "stage-through-registers"),
    ("multiplied", "copy-elements"),
    ("multiplied", "stage-through-registers"),
    ("multiplied", "transpose-in-ldmatrix"),
]
ROUNDS = 30


def patched() -> list[dict[str, Any]]:
    """Each program by each fix: what it edits, the diff, the whole text."""
    rows = []
    for program, strategy in WAYS:
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder).resolve() / f"{program}.py"
            script.write_text(PROGRAMS[program], encoding="utf-8")
            found = repaired(Script(str(script), launch=False), by=strategy)
            diff = found.diff()
            for head in ("--- a/", "+++ b/"):
                at = diff.find(head)
                diff = diff[:at] + head + f"{program}.py" + diff[diff.find("\n", at) :] if at >= 0 else diff
            rows.append(
                {
                    "program": program,
                    "strategy": strategy,
                    "repaired": bool(found.repairs) and not found.sketches,
                    "verdicts": [repair.verdict for repair in found.repairs],
                    "confirmed_by": [list(repair.confirmed_by) for repair in found.repairs],
                    "diff": diff,
                    "text": found.after[str(script)],
                }
            )
    return rows


def ran(row: dict[str, Any]) -> dict[str, Any]:
    """Whether the bits are right, and GB/s: the median of all rounds and their range."""
    import torch
    from cutlass.cute.runtime import from_dlpack

    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / f"{row['program']}.py"
        script.write_text(row["text"], encoding="utf-8")
        made = runpy.run_path(str(script))
        generator = torch.Generator("cuda").manual_seed(2320)

        def small(rows: int, columns: int) -> Any:
            """Integers whose products and sums are exact."""
            drawn = torch.randint(-2, 3, (rows, columns), generator=generator, device="cuda")
            return drawn.to(torch.bfloat16)

        if row["program"] == "copied":
            rows, columns = made["ROWS"], made["COLUMNS"]
            bits = torch.randint(-(2**15), 2**15, (columns, rows), generator=generator, device="cuda")
            given = bits.to(torch.int16).view(torch.bfloat16).T
            result = torch.zeros(rows, columns, dtype=torch.bfloat16, device="cuda")
            tensors, moved = (given, result), 2 * 2 * rows * columns
            wanted = given.contiguous()
        else:
            m, n, k = made["M"], made["N"], made["K"]
            a, b = small(m, k), small(k, n).T
            result = torch.zeros(m, n, dtype=torch.float32, device="cuda")
            tensors, moved = (a, b, result), 2 * (m * k + n * k) + 4 * m * n
            wanted = a.float() @ b.float().T
        arguments = [from_dlpack(tensor, assumed_align=16) for tensor in tensors]
        made["compiled"](*arguments)
        torch.cuda.synchronize()
        whole = torch.int16 if result.dtype == torch.bfloat16 else torch.int32
        differing = int((result.view(whole) != wanted.view(whole)).sum())
        times = _timed(lambda: made["compiled"](*arguments))
    return {
        "program": row["program"],
        "strategy": row["strategy"],
        "elements": result.numel(),
        "differing_elements": differing,
        "bytes": moved,
        **_speed(times, moved),
    }


def _timed(call: Any) -> list[float]:
    """Milliseconds of each round; a large buffer is written before it, so that the L2 is cold."""
    import torch

    flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    times = []
    for _ in range(ROUNDS + 3):
        flush.zero_()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return times[3:]


def _speed(times: list[float], moved: int) -> dict[str, float]:
    speeds = sorted(moved / 1e6 / each for each in times)
    return {
        "gb_per_s": round(statistics.median(speeds), 1),
        "gb_per_s_least": round(speeds[0], 1),
        "gb_per_s_most": round(speeds[-1], 1),
        "rounds": len(speeds),
    }


def run(patches: dict[str, Any]) -> dict[str, Any]:
    """Every patched program, and PyTorch's own copy of as many bytes."""
    import torch

    rows = [ran(row) for row in patches["patches"] if row["repaired"]]
    given = torch.zeros(8192, 8192, dtype=torch.bfloat16, device="cuda")
    result = torch.empty_like(given)
    moved = 2 * given.numel() * given.element_size()
    return {
        "device": torch.cuda.get_device_name(),
        "driver": _driver(),
        "runs": rows,
        "device_copy": _speed(_timed(lambda: result.copy_(given)), moved),
        "torch_transpose": _speed(_timed(lambda: result.copy_(given.T)), moved),
    }


def _driver() -> str:
    import subprocess

    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip().split("\n")[0]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("patch", "run"))
    parser.add_argument("patches", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    found = head("benchmarks.issue_2320")
    if given.what == "run":
        import torch

        found["versions"] |= {"torch": torch.__version__, "cuda": torch.version.cuda}
    if given.what == "patch":
        found["patches"] = patched()
    else:
        if given.patches is None:
            parser.error("run takes the file that patch wrote")
        found |= run(json.loads(given.patches.read_text(encoding="utf-8")))
    write(found, given.out)


if __name__ == "__main__":
    main()
