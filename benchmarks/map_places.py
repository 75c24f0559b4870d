"""Tensor maps of another swizzle or base, told and run: `python -m benchmarks.map_places OUT`.

Random kernels of `tests/dsl/lowered/map_kernels.py` are traced without a launch: LC234 tells maps whose
swizzle is not the tile's, LC230 bases that the host moves off 16 bytes. Then each runs on the GPU. OUT gets
map_places.json: for each whether it was told, how many elements are at another place than their own, and for
a moved base by how many bytes every box begins too early. Sums over rows are left out: a row's sum is the
same in any order.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write
from layoutcheck.dsl.trace import trace_script
from layoutcheck.judge import judge_traced
from tests.dsl.lowered.test_maps import Spec, exchanged, generate

SWIZZLES, JOBS = 64, 8
STEPS = (1, 2, 3, 4, 7, 8, 9, 12, 16, 20)  # elements of two bytes
HERE = Path(__file__).parents[1]
MODULE = "tests.dsl.lowered.map_kernels"


def chosen() -> list[Spec]:
    """Different specifications, then tiles without a swizzle whose base is moved."""
    drawn = (generate(seed) for seed in range(1_000, 2_000))
    kept = {json.dumps(one): one for one in drawn if one["second"] != "sum"}
    plain = {"width": 64, "bits": 3, "loads": 3, "stores": 3, "first": "tma", "second": "rows"}
    return [*list(kept.values())[:SWIZZLES], *({**plain, "step": step} for step in STEPS)]


def told(specs: list[Spec], listed: Path) -> list[dict[str, Any]]:
    """What the trace says of each: LC234, and the bytes of LC230."""
    found = trace_script(
        "-m", [MODULE, str(listed)], launch=False, arch="sm_90a", timeout_s=300, cwd=str(HERE)
    )
    copies, rows = iter(found.copies), []
    for _spec, kernel in zip(specs, found.kernels, strict=True):
        row: dict[str, Any] = {"swizzle": False, "past": 0}
        for _ in range(kernel.copies):
            copy = next(copies)
            report = judge_traced(copy)
            codes = {one.code for one in report.findings if one.severity == "wrong"} if report else set()
            row["swizzle"] |= "LC234" in codes
            if "LC230" in codes and copy.copy is not None:
                row["past"] = copy.copy.map_past
        rows.append(row)
    return rows


def ran(specs: list[Spec], folder: Path, part: int) -> list[dict[str, Any]]:
    """Every JOBS-th specification, run in a process."""
    mine = specs[part::JOBS]
    listed = folder / f"{part}.json"
    listed.write_text(json.dumps(mine))
    command = [sys.executable, "-m", MODULE, str(listed), "--run"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=HERE, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return rows + [{"said": done.stderr[-600:]}] * (len(mine) - len(rows))


def agrees(told: dict[str, Any], seen: dict[str, Any], step: int) -> bool:
    """Whether elements are elsewhere exactly where that was told, and as far."""
    if "said" in seen:
        return False
    if step:
        return bool(seen["moved"] is not None and 2 * seen["moved"] == told["past"])
    return bool(told["swizzle"] == (seen["differ"] > 0))


def main(folder: Path) -> None:
    """Write `folder`/map_places.json."""
    specs = chosen()
    with tempfile.TemporaryDirectory() as temporary:
        listed = Path(temporary) / "specs.json"
        listed.write_text(json.dumps(specs))
        predicted = told(specs, listed)
        with ThreadPoolExecutor(JOBS) as pool:
            parts = list(pool.map(lambda part: ran(specs, Path(temporary), part), range(JOBS)))
    rows: list[dict[str, Any]] = [
        {"spec": spec, "brute_force": exchanged(spec), "told": said, "ran": parts[i % JOBS][i // JOBS],
         "agrees": agrees(said, parts[i % JOBS][i // JOBS], spec.get("step", 0))}
        for i, (spec, said) in enumerate(zip(specs, predicted, strict=True))
    ]  # fmt: skip
    summary = {
        "kernels": len(rows), "agree": sum(row["agrees"] for row in rows),
        "not_run": sum("said" in row["ran"] for row in rows),
        "told_swizzle": sum(row["told"]["swizzle"] for row in rows),
        "told_base": sum(row["told"]["past"] > 0 for row in rows),
    }  # fmt: skip
    write({**head("benchmarks.map_places"), "summary": summary, "rows": rows}, folder / "map_places.json")
    print(json.dumps(summary))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
