"""Which findings of the order check show on a GPU:

    python -m benchmarks.order_confirm [NAME ...] [--out FILE]

Each kernel of tests/order/reported.py is run by `layoutcheck confirm --order` as before its fix: without
delays, then with `nanosleep` at the lines of each finding, seed after seed, until a result is wrong. As
after its fix it is run with the same delays: its results must stay right. compute-sanitizer's racecheck
sees both in the same run. Needs a GPU and compute-sanitizer. A first run has 60 s, others five times the
longest before and 10 s at least, racecheck 60 s.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

from benchmarks.evidence import head, write
from layoutcheck.errors import InputError
from layoutcheck.gpu.process import machine_here
from layoutcheck.gpu.races import RaceRun, Races, confirm_order, plan, run_delayed

SCRIPT = Path("tests/order/reported.py")
SECONDS = 60.0  # of a first run, which compiles
LAST = ("never_initialised", "peers_mbarrier", "second_tile", "foreign_tail")  # may hang
_HAZARDS = re.compile(r"RACECHECK SUMMARY: (\d+) hazard")
ROW = "{:<20} {:<28} {:>8} {:>6}  {:>12}  {:>18}"


def racecheck(name: str, how: int) -> int | str:
    """The hazards that compute-sanitizer counts, or what became of it."""
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not Path(tool).exists():
        return "not installed"
    command = [tool, "--tool", "racecheck", sys.executable, str(SCRIPT), name, str(how)]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "hangs"
    found = _HAZARDS.search(ran.stdout + ran.stderr)
    return int(found[1]) if found else "no summary"


def one(name: str, machine: dict[str, Any], seeds: Sequence[int]) -> dict[str, Any]:
    """Both variants of a kernel."""
    program = f"{SCRIPT} {name} 1"
    races = confirm_order(program, machine, seeds=seeds, timeout_s=SECONDS, workers=2, launch=False)
    right = [SCRIPT.as_posix(), name, "0"]
    plans = [plan(tried.finding, seed) for tried in races.tried for seed in seeds]
    twins = run_delayed(right, plans, timeout_s=SECONDS) if plans else ()
    usual = races.usual or run_delayed(program.split(), [()], timeout_s=SECONDS)
    return {
        "kernel": name,
        "told": sorted({tried.finding.code for tried in races.tried}),
        "usual": _ends(usual),
        "findings": [_finding(races, i) for i in range(len(races.tried))],
        "fixed": {"runs": len(twins), "delays": sum(ran.put for ran in twins), "ends": _ends(twins)},
        "racecheck": {"before": racecheck(name, 1), "after": racecheck(name, 0)},
    }


def _finding(races: Races, number: int) -> dict[str, Any]:
    tried = races.tried[number]
    shown = tried.shown
    delays = [] if shown is None else [
        f"{Path(d.file).name}:{d.line}: warps {d.warps:#x}, blocks {d.blocks:#x}, {d.nanoseconds} ns"
        for d in shown.delays
    ]  # fmt: skip
    return {
        "code": tried.finding.code, "title": tried.finding.title, "runs": len(tried.runs),
        "seed": None if shown is None else shown.seed, "delays": delays, "ends": _ends(tried.runs),
        "problem": tried.problem,
    }  # fmt: skip


def _ends(runs: Sequence[RaceRun]) -> list[str]:
    return ["hangs" if r.status is None else "right" if not r.failed else r.said or "fails" for r in runs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    given = parser.parse_args()
    machine = machine_here()
    if machine.get("why"):
        raise SystemExit(f"no GPU: {machine['why']}")
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path.cwd()), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    names = given.names or re.findall(r'^    "(\w+)": Report\(', SCRIPT.read_text(), re.MULTILINE)
    rows: list[dict[str, Any]] = []
    lock = Lock()

    def row(name: str) -> None:
        try:
            found = one(name, machine, range(given.seeds))
        except InputError as error:
            found = {"kernel": name, "problem": str(error)}
        with lock:
            rows.append(found)
            rows.sort(key=lambda found: names.index(found["kernel"]))
            if given.out is not None:  # what was found stays, whatever becomes of the run
                write({**head("benchmarks.order_confirm"), "kernels": rows}, given.out)

    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(row, sorted(names, key=lambda name: name in LAST)))
    print(ROW.format("kernel", "told", "usual", "shown", "fixed", "racecheck"))
    for found in rows:
        print(_line(found))


def _line(found: dict[str, Any]) -> str:
    if "problem" in found:
        return f"{found['kernel']:<20} {found['problem']}"
    usual = f"{sum(end != 'right' for end in found['usual'])}/{len(found['usual'])}"
    seeds = ["not tried" if one["problem"] else str(one["seed"]) for one in found["findings"]]
    fixed = f"{sum(end != 'right' for end in found['fixed']['ends'])}/{found['fixed']['runs']} bad"
    checked = f"{found['racecheck']['before']} / {found['racecheck']['after']}"
    return ROW.format(found["kernel"], ",".join(found["told"]), usual, ",".join(seeds), fixed, checked)


if __name__ == "__main__":
    main()
