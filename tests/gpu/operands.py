"""Random operand paths on a GPU: each element of C against what the followed elements predict.

    python -m tests.gpu.operands OUT.json [--count 420] [--seed 1] [--processes 14]

Each process traces its share of `tests/provenance/paths.py`, predicts C from what `provenance` follows,
compiles the same kernels, runs them on small integers, and compares. Elements of C that memory goes into that
was never written have no prediction. A path agrees if every other element is the predicted one, and if the
check speaks only where C is wrong, and there or says what it did not follow.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import trace_script
from layoutcheck.provenance import check_products
from layoutcheck.sources.traced import OperandReport
from layoutcheck.sources.traced_module import TracedModule
from tests.provenance.predict import Predicted, inputs, predict

PROGRAM = Path(__file__).parents[1] / "provenance" / "paths.py"
_NUMBER = re.compile(r"Pathnumber([0-9]+)kind")


def predicted(seed: int, numbers: Sequence[int]) -> dict[int, tuple[Predicted, OperandReport]]:
    """What is predicted of each path that the DSL accepts."""
    from tests.provenance.paths import path

    found: dict[int, tuple[Predicted, OperandReport]] = {}

    def look(module: TracedModule, lowered: str, problem: str) -> OperandReport:
        match = _NUMBER.search(module.kernel)
        if match is None or problem:
            return OperandReport(module.kernel, module.arch, unchecked=(problem,))
        report = check_products(module, lowered, problem, math.inf)
        one = path(seed, int(match[1]))
        found[one.number] = predict(module, lowered, one), report
        return report

    with tempfile.TemporaryFile() as log, Lowering(copies=False, products=look) as lowering:
        trace_script(
            str(PROGRAM), [str(seed), *map(str, numbers)], launch=False, arch="sm_90a", output=log,
            lowering=lowering,
        )  # fmt: skip
    return found


def share(seed: int, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Predict, run and compare the paths of one process."""
    known = predicted(seed, numbers)
    import torch
    from cutlass import BFloat16, Float16, Float32
    from cutlass.cute import AddressSpace
    from cutlass.cute.runtime import make_ptr

    from tests.provenance.paths import build, path

    rows = []
    for number, (one, report) in sorted(known.items()):
        drawn = path(seed, number)
        kind, element = (torch.bfloat16, BFloat16) if drawn.element == "bf16" else (torch.float16, Float16)
        a, b = (
            torch.tensor(x, dtype=kind, device="cuda").contiguous()
            for x in inputs(number, depth=64 * drawn.wide.stages)
        )
        c = torch.full((64, 64), -99.0, dtype=torch.float32, device="cuda")
        kernel = build(drawn)
        places = zip((element, element, Float32), (a, b, c), strict=True)
        kernel(*(make_ptr(t, x.data_ptr(), AddressSpace.gmem, assumed_align=128) for t, x in places))
        torch.cuda.synchronize()
        got = c.cpu().numpy().astype(float)
        right = bool((got == one.right).all())
        known = one.result == one.result
        rows.append(
            {
                "path": asdict(drawn),
                "elements": got.size,
                "predicted": int(known.sum()),
                "as_predicted": int((got == one.result).sum()),
                "right": int((got == one.right).sum()),
                "told": sorted({f.code for f in report.findings}),
                "followed": report.followed == report.products and not report.unchecked,
                "agrees": bool((got == one.result)[known].all())
                and not (right and report.findings)
                and (right or bool(report.findings) or bool(report.unchecked)),
            }
        )
    return rows


def main() -> None:
    """Run all processes; write and print what they found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--count", type=int, default=420)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--first", type=int, default=0, help="the first number; from 10000 on paths are wider"
    )
    parser.add_argument("--processes", type=int, default=14)
    given = parser.parse_args()
    start = time.monotonic()
    with ProcessPoolExecutor(given.processes, mp_context=get_context("spawn")) as pool:
        jobs = [
            pool.submit(share, given.seed, range(given.first + i, given.first + given.count, given.processes))
            for i in range(given.processes)
        ]
        rows = [row for job in jobs for row in job.result()]
    import cutlass
    import torch

    wrong = [row for row in rows if row["right"] < row["elements"]]
    evidence = {
        "date": time.strftime("%Y-%m-%d"), "device": torch.cuda.get_device_name(),
        "versions": {
            "nvidia-cutlass-dsl": cutlass.__version__, "torch": torch.__version__, "cuda": torch.version.cuda
        },
        "command": "python -m tests.gpu.operands OUT.json"
        f" --count {given.count} --seed {given.seed} --first {given.first}",
        "paths": len(rows), "refused_by_the_dsl": given.count - len(rows),
        "kinds": dict(Counter(row["path"]["kind"] for row in rows)), "wrong_products": len(wrong),
        "elements": sum(row["elements"] for row in rows),
        "elements_predicted": sum(row["predicted"] for row in rows),
        "elements_as_predicted": sum(row["as_predicted"] for row in rows),
        "wrong_and_told": sum(bool(row["told"]) for row in wrong),
        "right_and_told": sum(bool(row["told"]) for row in rows if row not in wrong),
        "fully_followed": sum(row["followed"] for row in rows),
        "codes": dict(Counter(code for row in rows for code in row["told"])),
        "disagree": [row for row in rows if not row["agrees"]],
    }  # fmt: skip
    given.output.write_text(json.dumps(evidence, indent=1) + "\n")
    for key, value in evidence.items():
        if key != "disagree":
            print(f"{key:24} {value}")
    print(f"{'disagree':24} {len(evidence['disagree'])}\n{time.monotonic() - start:.0f} s")
    sys.exit(0 if rows and not evidence["disagree"] else 1)


if __name__ == "__main__":
    main()
