"""Launch bounds of synthesised programs on a GPU: what ptxas does with them, and how long they take.

    python -m benchmarks.synthesis_bounds OUT [--plans 100] [--seed 81] [--processes 17]

needs torch, the DSL and an sm_90 GPU. The plans are those of `benchmarks.synthesis_plans`, each as it is and
with `min_blocks_per_mp=1` in its launch: then ptxas need not keep registers for other blocks. Both are
compiled, checked bit for bit and timed together. Writes OUT/synthesis_bounds.json.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.evidence import head, write
from benchmarks.synthesis_plans import COMPILE_SECONDS, MOST_PLANS, _children, extents, requests, tau

Row = dict[str, Any]
BOUNDS = {"none": ("", ""), "one": ("stream=stream", "stream=stream, min_blocks_per_mp=1")}
"""What is put for what."""
MIXED = {"none": ("", ""), "one": ("cute.arch.sync_warp()", "pass")}
"""The same of `--mixed`: ptxas may store what some loads bring before others begin."""


def plans_of(request: Row, first: int, bounds: dict[str, tuple[str, str]]) -> list[Row]:
    """Up to `MOST_PLANS` plans with each of the bounds, with what the compiler makes of them."""
    from layoutcheck.errors import InputError
    from layoutcheck.fixes.code import dtype_code
    from layoutcheck.synthesis.compiled import items, made_of
    from layoutcheck.synthesis.demand import demand
    from layoutcheck.synthesis.moved import Ending
    from layoutcheck.synthesis.pace import pace
    from layoutcheck.synthesis.plans import synthesize
    from layoutcheck.synthesis.program import blocks_of, program, takes_keep
    from layoutcheck.synthesis.reading import read
    from layoutcheck.synthesis.request import TileRequest

    try:
        found = synthesize(read(TileRequest(**{k: v for k, v in request.items() if k != "seed"})))
    except InputError as error:
        print(f"{request}: {error.message}", file=sys.stderr)
        return []
    wanted, plans = found.wanted, found.plans
    chosen = random.Random(request["seed"]).sample(range(len(plans)), min(MOST_PLANS, len(plans)))
    m, k = extents(request, wanted.element_bytes)
    tiles = m // request["tile"][0] * (k // request["tile"][1])
    asked, rows = [], []
    for place in sorted(chosen):
        plan = plans[place]
        [item] = items([(plan.found, plan.steps)], wanted)
        for bound, put in bounds.items():
            name = f"plan_{first + len(rows):03d}"
            kept, looked = (
                _put(program(plan.found, plan.steps, wanted, end), *put)
                .replace("def kernel(", f"def {name}(")
                .replace("    kernel(", f"    {name}(")
                for end in (Ending.KEEP, Ending.LOOK)
            )
            asked.append({**item, "code": _put(item["code"], *put)})
            rows.append(
                {
                    "name": name, "bound": bound, "request": request, "kind": plan.kind, "rank": place,
                    "shared": None if plan.shared is None else str(plan.shared), "tiles": tiles,
                    "blocks": blocks_of(wanted, (m, k)), "expected_us": _us(tiles, plan.cycles),
                    "code": kept, "timed": looked, "counting": looked,
                    "dtype": dtype_code(wanted.dtype).removeprefix("cutlass."),
                    "keep": takes_keep(wanted, Ending.LOOK),
                }
            )  # fmt: skip
    try:
        answers = _compiled(asked)
    except subprocess.SubprocessError as error:
        print(f"{request}: {error}", file=sys.stderr)
        return []
    for row, answer in zip(rows, answers, strict=True):
        made = made_of(answer)
        needs = demand(plans[row["rank"]].found, wanted, made)
        row |= {"compiled": made, "demand": needs._asdict(), "predicted_us": _us(tiles, pace(needs)[0])}
    return rows


def _us(tiles: int, cycles: float) -> float:
    from layoutcheck.machine.cost import CLOCK_GHZ, SMS

    return tiles / SMS * cycles / CLOCK_GHZ / 1000


def _put(text: str, old: str, new: str) -> str:
    return text.replace(old, new) if old else text


def _compiled(asked: list[Row]) -> list[Row]:
    """The task's answers, of a process that is no fork."""
    path = os.pathsep.join(str(Path(one).absolute()) for one in sys.path)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.synthesis_plans", folder, "--compile"],
            input=json.dumps(asked), capture_output=True, text=True, cwd=folder, check=True,
            env=os.environ | {"PYTHONPATH": path}, timeout=2 * COMPILE_SECONDS,
        )  # fmt: skip
    found: list[Row] = json.loads(done.stdout.splitlines()[-1])
    return found


def summary(rows: list[Row]) -> Row:
    """How often as long the bounded programs take, and the order of the plans of each bound."""
    kinds: dict[str, Row] = {}
    for row in rows:
        plan = kinds.setdefault(json.dumps([row["request"], row["rank"]]), {})
        plan[row["bound"]] = row
    both = [plan for plan in kinds.values() if all("us" in plan.get(bound, {}) for bound in BOUNDS)]
    ratios = sorted(plan["one"]["us"] / plan["none"]["us"] for plan in both)
    firsts: dict[str, dict[str, float]] = {}
    for plan in both:
        of = firsts.setdefault(json.dumps(plan["one"]["request"]), dict.fromkeys(BOUNDS, math.inf))
        of.update({bound: min(of[bound], plan[bound]["us"]) for bound in BOUNDS})
    best = sorted(of["one"] / of["none"] for of in firsts.values())
    orders = {}
    for bound in BOUNDS:
        mine = [row for row in rows if row["bound"] == bound and "us" in row]
        guessed = [row | {"predicted_us": row["expected_us"]} for row in mine]
        orders[bound] = {"tau": tau(mine)[0], "pairs": tau(mine)[2], "tau_expected": tau(guessed)[0]}
    return {
        "both": len(both),
        "right": sum(row.get("wrong") == 0 for row in rows),
        "ran": len(rows),
        "ratio": math.exp(fmean(map(math.log, ratios))),
        "least": ratios[0],
        "most": ratios[-1],
        "best": best,
        "orders": orders,
    }


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("out", type=Path)
    options.add_argument("--plans", type=int, default=100)
    options.add_argument("--seed", type=int, default=81)
    options.add_argument("--processes", type=int, default=17)
    options.add_argument("--mixed", action="store_true", help="beside programs that mix loads and stores")
    given = options.parse_args()
    asked = requests(given.seed, given.plans)
    with ProcessPoolExecutor(given.processes) as pool:
        firsts = range(0, MOST_PLANS * len(BOUNDS) * len(asked), MOST_PLANS * len(BOUNDS))
        bounds = repeat(MIXED if given.mixed else BOUNDS)
        groups = [group for group in pool.map(plans_of, asked, firsts, bounds) if group]
    shares = [
        [row for group in groups[n :: given.processes] for row in group] for n in range(given.processes)
    ]
    rows, _ = _children([share for share in shares if share], [])
    rows.sort(key=lambda row: str(row["name"]))
    found = {
        **head("benchmarks.synthesis_bounds", "torch"),
        "seed": given.seed,
        **summary(rows),
        "plans": rows,
    }
    write(found, given.out / "synthesis_bounds.json")
    print({name: value for name, value in found.items() if name != "plans"})
    print([row["failed"] for row in rows if "failed" in row])
    return int(any(row.get("wrong") != 0 for row in rows))


if __name__ == "__main__":
    sys.exit(main())
