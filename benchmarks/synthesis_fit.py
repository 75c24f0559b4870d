"""The constants of `layoutcheck.synthesis.pace`, fitted to plans that ran on an H200, and judged by others.

    python -m benchmarks.synthesis_fit docs/evidence/synthesis_pace.json [--steps 12]

The file has, for plans of several seeds, what each asked of the machine (`demand`, with the registers and
instructions of its compiled program) and the rounds of its time. The constants are fitted to all seeds but
one, and judged by that one, in turn; then to all. The result goes into the same file: Kendall's tau over the
pairs of plans of one request whose times are more than 5 % apart in nearly all rounds.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from itertools import combinations, repeat
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.synthesis_plans import APART, IN_ROUNDS
from layoutcheck.machine.cost import CLOCK_GHZ, SMS
from layoutcheck.synthesis.demand import Demand
from layoutcheck.synthesis.pace import Constants, pace

Row = dict[str, Any]
FREE = (
    "issue", "latency", "later", "held", "held_async", "read", "write", "mixed", "run", "run_waited",
    "run_beside", "run_write", "part", "part_tma", "part_waited", "part_beside", "part_write", "kept",
    "kept_tma", "again", "pages", "crowd", "cached", "data", "row", "thin", "stored", "drained", "overlap",
    "hidden",
)  # fmt: skip

START = Constants(
    issue=0.27, latency=1000.0, later=0.7, held=1000.0, held_async=1000.0, read=0.0575, write=0.0575,
    mixed=0.02, run=3.0, run_waited=8.0, run_beside=6.0, run_write=3.0, part=10.0, part_tma=10.0,
    part_waited=50.0, part_beside=20.0, part_write=20.0, kept=50e6, kept_tma=50e6, again=2.0, pages=100e3,
    crowd=0.2, cached=1.0, data=1.0, row=1.0, thin=1.3, stored=300.0, drained=2000.0, overlap=2.5, hidden=5.0,
)  # fmt: skip
"""Round numbers, so that nothing of the seed that judges is in what begins."""
SOFT, NEAR, ALONE, STAY = 0.08, 0.08, 0.15, 0.004
"""Errors of ratios beyond `SOFT` count linearly, and pairs that are `NEAR` count most. What a time itself
weighs, and how much constants stay near where they began."""


def predicted_us(row: Row, machine: Constants) -> float:
    """Of the whole launch; no more blocks share an SM than there are."""
    asked = Demand(**row["demand"])
    blocks = max(1.0, min(asked.blocks, row["blocks"] / SMS))
    part = blocks / asked.blocks
    # `pace` divides by whole blocks: what fewer blocks leave of waits and of streams is set before.
    asked = asked._replace(
        blocks=blocks,
        live_bytes=part * asked.live_bytes,
        streams=part * asked.streams,
        asked_rows=part * asked.asked_rows,
    )  # type: ignore[arg-type]
    return float(row["tiles"] / SMS * pace(asked, machine)[0] / CLOCK_GHZ / 1000)


def pairs(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """(Faster, slower) plans of one request."""
    found = []
    for a, b in combinations(rows, 2):
        if (a["seed"], a["request"]) != (b["seed"], b["request"]):
            continue
        fast, slow = sorted((a, b), key=lambda row: float(row["us"]))
        above = sum(y > x for x, y in zip(fast["rounds_us"], slow["rounds_us"], strict=True))
        if slow["us"] > APART * fast["us"] and above >= IN_ROUNDS * len(fast["rounds_us"]):
            found.append((fast, slow))
    return found


def tau(some: Sequence[tuple[Row, Row]], machine: Constants) -> float:
    """Kendall's, over these pairs."""
    agree = sum(predicted_us(fast, machine) < predicted_us(slow, machine) for fast, slow in some)
    return 2 * agree / len(some) - 1


def fitted(rows: Sequence[Row], start: Constants, steps: int) -> Constants:
    """Levenberg and Marquardt's steps over the logarithms of constants: ratios of times within requests."""
    some = pairs(rows)
    place = {id(row): n for n, row in enumerate(rows)}
    fast, slow = (np.array([place[id(pair[side])] for pair in some]) for side in (0, 1))
    measured = np.log([row["us"] for row in rows])
    expected = measured[slow] - measured[fast]
    weight = 2 * NEAR / (NEAR + expected) / math.sqrt(len(some))
    first = asdict(start)
    begin = np.log([first[name] for name in FREE])

    def errors(at: Any) -> Any:
        machine = Constants(**first | dict(zip(FREE, np.exp(at).tolist(), strict=True)))
        found = np.log([predicted_us(row, machine) for row in rows])
        return np.concatenate(
            [
                weight * _soft(found[slow] - found[fast] - expected, SOFT),
                ALONE / math.sqrt(len(rows)) * _soft(found - measured, 2 * SOFT),
                STAY / math.sqrt(len(FREE)) * (at - begin),
            ]
        )

    at, damping = begin, 1e-3
    now = errors(at)
    for _ in range(steps):
        slopes = np.array([(errors(at + shift) - now) / 1e-3 for shift in 1e-3 * np.eye(len(FREE))]).T
        for _ in range(6):
            square = slopes.T @ slopes
            move = np.linalg.solve(square + damping * np.diag(np.diag(square)), -slopes.T @ now)
            tried = errors(at + np.clip(move, -0.7, 0.7))
            if tried @ tried < now @ now:
                at, now, damping = at + np.clip(move, -0.7, 0.7), tried, damping / 3
                break
            damping *= 4
        else:
            break
    return Constants(**first | dict(zip(FREE, np.exp(at).tolist(), strict=True)))


def _soft(error: Any, width: float) -> Any:
    """Quadratic where it is small, linear beyond: its square is Huber's loss, without the corner."""
    return np.sign(error) * np.sqrt(2 * width * width * (np.sqrt(1 + (error / width) ** 2) - 1))


def a_line_each(found: dict[str, Any]) -> str:
    """As JSON, a line for each plan."""
    rest = json.dumps({name: value for name, value in found.items() if name != "plans"}, indent=1)
    plans = ",\n  ".join(json.dumps(row) for row in found["plans"])
    return f'{rest[:-2]},\n "plans": [\n  {plans}\n ]\n}}\n'


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("file", type=Path)
    options.add_argument("--steps", type=int, default=0, help="0: judge the constants that there are")
    options.add_argument("--processes", type=int, default=2)
    given = options.parse_args()
    found = json.loads(given.file.read_text(encoding="utf-8"))
    rows = found["plans"]
    seeds = sorted({row["seed"] for row in rows})
    found["tau"] = {
        str(seed): round(tau(pairs([row for row in rows if row["seed"] == seed]), Constants()), 3)
        for seed in seeds
    }
    found["pairs"] = {str(seed): len(pairs([row for row in rows if row["seed"] == seed])) for seed in seeds}
    if given.steps:
        folds = [[row for row in rows if row["seed"] != seed] for seed in seeds]
        with ProcessPoolExecutor(given.processes) as pool:
            machines = list(pool.map(fitted, [*folds, rows], repeat(START), repeat(given.steps)))
        right = 0
        found["held_out"] = {}
        for seed, machine in zip(seeds, machines, strict=False):
            mine = pairs([row for row in rows if row["seed"] == seed])
            found["held_out"][str(seed)] = round(tau(mine, machine), 3)
            right += round(len(mine) * (1 + tau(mine, machine)) / 2)
        found["held_out_all"] = round(2 * right / len(pairs(rows)) - 1, 3)
        found["fitted"] = {name: float(f"{value:.4g}") for name, value in asdict(machines[-1]).items()}
    found["all"] = round(tau(pairs(rows), Constants()), 3)
    found["error"] = round(median(abs(predicted_us(row, Constants()) / row["us"] - 1) for row in rows), 3)
    given.file.write_text(a_line_each(found), encoding="utf-8")
    print({name: found[name] for name in ("tau", "pairs", "all", "error")})
    print({name: found.get(name) for name in ("held_out", "held_out_all", "fitted")})


if __name__ == "__main__":
    main()
