"""What pipelines with faults that people make compute on a GPU, and what the check tells of each:

    python -m benchmarks.order_fresh [--out FILE] [--jobs N] [--seconds N] [--no-run]

The kernels are those of `tests/order/fresh.py`: variant 0 is right. Each runs in a process of its own, which
compares twenty launches with the right variant's; one that does not end in 60 s hangs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.evidence import head, write
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import check_module
from tests.order.fresh import TOLD

RUN_SECONDS = 60.0


def told() -> dict[str, tuple[list[str], str]]:
    """The codes of findings of each variant, and why it was not checked."""
    with Lowering(copies=False, order=check_module) as lowering:
        trace = trace_script(
            "-m", ["tests.order.fresh"], launch=False, arch="sm_90a", timeout_s=400, lowering=lowering
        )
    found = {order.kernel.rpartition("Ptrgmem_")[2]: order for order in trace.orders}
    return {
        name: ([f"{f.code} {f.severity}" for f in one.findings], one.problem) for name, one in found.items()
    }


def ran(job: tuple[str, int]) -> str:
    """What a variant computes: right, differs, hangs, faults."""
    command = [sys.executable, "-m", "tests.order.fresh", job[0], str(job[1])]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _, errors = process.communicate(timeout=RUN_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return "hangs"
    if process.returncode == 0:
        return "right"
    last = (errors.strip().splitlines() or ["no message"])[-1]
    return f"differs: {last}" if "runs differ" in last else f"fails: {last}"


def main() -> None:
    """Print the table, and write what was seen."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=400.0)
    parser.add_argument("--no-run", action="store_true")
    given = parser.parse_args()
    start = time.monotonic()
    jobs = [(name, how) for name, (codes, _, _) in TOLD.items() for how in range(len(codes) + 1)]
    rows = []
    with ThreadPoolExecutor(given.jobs + 1) as pool:
        codes_of = pool.submit(told)
        late = start + given.seconds - RUN_SECONDS
        runs = pool.map(
            lambda job: "" if given.no_run else ran(job) if time.monotonic() < late else "no time", jobs
        )
        for (name, how), run in zip(jobs, runs, strict=True):
            codes, problem = codes_of.result().get(f"{name}_{how}", ([], "not traced"))
            wrong = [code for code in codes if code.endswith("wrong")]
            wanted = TOLD[name][0][how - 1] if how else ""
            as_wanted = any(code.startswith(wanted) for code in codes) if how else not wrong and not problem
            rows.append(
                {"kernel": name, "variant": how, "told": codes, "not_checked": problem, "wanted": wanted,
                 "as_wanted": as_wanted, "runs": run}
            )  # fmt: skip
            verdict = "as wanted" if as_wanted else "NOT as wanted"
            print(f"{name:<22} {how} {verdict} {','.join(codes)} {problem} | {run}", flush=True)
    right, broken = [row for row in rows if not row["variant"]], [row for row in rows if row["variant"]]
    summary = {
        "right variants": len(right),
        "right, and silent": sum(row["as_wanted"] for row in right),
        "broken variants": len(broken),
        "broken, and told": sum(row["as_wanted"] for row in broken),
        "right variants with right results": sum(row["runs"] == "right" for row in right),
        "broken variants that show": sum(row["runs"] not in ("right", "", "no time") for row in broken),
    }
    print(summary)
    if given.out:
        write({**head("benchmarks.order_fresh"), "summary": summary, "kernels": rows}, given.out)


if __name__ == "__main__":
    main()
