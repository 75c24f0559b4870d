"""Operand layouts of NVIDIA's helpers beside ours, where these are better: both counted by ncu.

    python -m benchmarks.synthesis_layouts OUT --find [--processes 2] [--most 60]
    python -m benchmarks.synthesis_layouts OUT [--processes 12]

The first finds the pairs, for which it needs the DSL but no GPU, and writes OUT/pairs.json; the second runs
them, and needs torch, the DSL, an sm_90 GPU and ncu. Where threads take fewer wavefronts or cycles into our
layout of a wgmma operand than into the helper's (`tests.synthesis.nvidia_layouts`), the best plans of both
are run as `benchmarks.synthesis_plans` runs plans: bits, then counters. The copy engine's wavefronts are no
counter of ncu. Writes OUT/synthesis_layouts.json, anew after each `BATCH` of pairs.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write
from benchmarks.synthesis_counters import METRICS, counters, predicted
from benchmarks.synthesis_plans import _children, extents, matches, said

Row = dict[str, Any]
BATCH = 30
"""Pairs that run at once; after each the file is written."""
TIMES = ("us", "rounds_us")
"""Not kept: so small a source takes as long as its launch."""
TENSOR_BYTES = 1 << 25
"""Of a source: counters need no long run, and each process keeps the tensors of all its plans."""


def better(row: Row) -> list[Row]:
    """Of each engine whose plan into our layout is better than that into theirs, both plans' programs."""
    from layoutcheck.algebra.notation import parse_layout, parse_swizzle
    from layoutcheck.machine.canonical import canonical
    from layoutcheck.machine.dtypes import dtype
    from layoutcheck.synthesis.copies import judged
    from layoutcheck.synthesis.plans import Plan
    from layoutcheck.synthesis.reading import read
    from layoutcheck.synthesis.request import TileRequest
    from layoutcheck.synthesis.search import search
    from layoutcheck.synthesis.shared import Shared
    from layoutcheck.synthesis.wanted import TURNED_BY_WGMMA
    from tests.synthesis.test_nvidia import MOST, NAMES, best, by_engine, run_of

    name, tile = NAMES[row["dtype"]], (row["tile"][0], row["tile"][1])
    if row["unit"] != "wgmma" or (row["major"] == "MN" and name not in TURNED_BY_WGMMA):
        return []
    layout, pointer = parse_layout(row["layout"]), parse_swizzle(row["swizzle"])
    if canonical(layout, name, row["major"], pointer, "wgmma").verdict != "legal":
        return []
    space, ours = best("wgmma", tile, name, row["major"])
    fast = 1 if row["major"] == "K" else 0
    theirs = Shared(
        layout, dtype(name), fast, run_of(layout, fast), pointer if pointer.bits else None, 0, "NVIDIA's"
    )
    found = by_engine(search(space._replace(layouts=[theirs]), 1, MOST).found)
    div = 128 // dtype(name).bits
    src = f"(?,?{{div={div}}}):(?{{div={div}}},1)" if fast else f"(?{{div={div}}},?):(1,?{{div={div}}})"
    request = {
        "tile": tile, "src": src, "to": "wgmma.A", "dst": None, "dtype": name, "major": row["major"],
        "threads": 128, "stages": 1,
    }  # fmt: skip
    wanted = read(TileRequest(**request))
    request["tensor_bytes"] = TENSOR_BYTES
    pairs = []
    for engine, one in found.items():
        mine = ours[engine]
        if engine == "tma":
            continue
        if mine.counts.wavefronts < one.counts.wavefronts or mine.key[0] < one.key[0]:
            plans = []
            for which, plan in (("ours", mine), ("theirs", one)):
                answer = judged(plan, wanted)
                if answer.refusal:
                    break
                plans.append((which, Plan(plan, wanted, answer.steps, answer.reports)))
            pairs.append({"helper": row["helper"], "engine": engine, "request": request, "plans": plans})
    return [made(pair) for pair in pairs if len(pair["plans"]) == 2]


def made(pair: Row) -> Row:
    """With the programs and what is predicted of them."""
    from layoutcheck.fixes.code import dtype_code
    from layoutcheck.synthesis.moved import Ending
    from layoutcheck.synthesis.program import program, takes_keep

    rows: list[Row] = []
    for which, plan in pair["plans"]:
        wanted = plan.wanted
        m, k = extents(pair["request"], wanted.element_bytes)
        tiles = m // wanted.tile[0] * (k // wanted.tile[1])
        code, look = (program(plan.found, plan.steps, wanted, end) for end in (Ending.KEEP, Ending.LOOK))
        rows.append(
            {
                "which": which,
                "shared": str(plan.shared),
                "cycles": plan.found.cycles,
                "wavefronts": plan.counts.wavefronts,
                "predicted": {key: value * tiles for key, value in predicted(plan, (m, k)).items()},
                "code": code,
                "timed": look,
                "counting": look,
                "dtype": dtype_code(wanted.dtype).removeprefix("cutlass."),
                "keep": takes_keep(wanted, Ending.LOOK),
                "request": pair["request"],
            }
        )
    return {**{key: pair[key] for key in ("helper", "engine")}, "rows": rows}


def find(processes: int, most: int) -> Row:
    """Pairs of plans, at most so many, drawn from the different ones."""
    from tests.synthesis.test_nvidia import rows as layouts

    begun = time.monotonic()
    with ProcessPoolExecutor(processes) as pool:
        pairs = [pair for some in pool.map(better, layouts(), chunksize=4) for pair in some]
    distinct: dict[str, Row] = {}
    for pair in pairs:
        distinct.setdefault(repr([(row["shared"], row["code"], row["dtype"]) for row in pair["rows"]]), pair)
    said(begun, f"{len(pairs)} pairs where ours is better, {len(distinct)} different")
    chosen = random.Random(1).sample(list(distinct.values()), min(most, len(distinct)))
    for pair, place in product(range(len(chosen)), range(2)):
        row, name = chosen[pair]["rows"][place], f"plan_{2 * pair + place:03d}"
        row["name"] = name
        for which in ("code", "timed", "counting"):
            row[which] = (
                row[which].replace("def kernel(", f"def {name}(").replace("    kernel(", f"    {name}(")
            )
    return {"better": len(pairs), "different": len(distinct), "chosen": chosen}


def ran(pairs: list[Row], processes: int) -> list[Row]:
    """Their plans, with what ncu counted of them."""
    plans = [
        {"helper": pair["helper"], "engine": pair["engine"], **row} for pair in pairs for row in pair["rows"]
    ]
    shares = [share for share in (plans[n::processes] for n in range(processes)) if share]
    found, _ = _children(shares, [])
    ncu = [
        "ncu", "--clock-control", "none", "--cache-control", "none", "--profile-from-start", "off", "--csv",
        "--page", "raw", "--metrics", ",".join(METRICS.values()),
    ]  # fmt: skip
    profiled, printed = _children(shares, ncu)
    counted = counters(printed)
    under = {row["name"]: row.get("guarded", False) for row in profiled}
    return [
        {key: value for key, value in row.items() if key not in TIMES}
        | {"counted": counted.get(row["name"]), "guarded": under.get(row["name"], False)}
        for row in found
    ]


def summary(rows: list[Row]) -> Row:
    """Of the plans that ran, and of the pairs of which both were counted, those where ncu's order is ours."""
    seen = [row for row in rows if row["counted"]]
    pairs: dict[int, dict[str, Row]] = {}
    for row in seen:
        pairs.setdefault(int(row["name"][5:]) // 2, {})[row["which"]] = row
    whole = [pair for pair in pairs.values() if len(pair) == 2]
    return {
        "ran": len(rows),
        "right": sum(row.get("wrong") == 0 for row in rows),
        "counted": len(seen),
        "as_predicted": sum(matches(row) for row in seen),
        "pairs": len(whole),
        "fewer": sum(wavefronts(pair["ours"]) < wavefronts(pair["theirs"]) for pair in whole),
        "more": sum(wavefronts(pair["ours"]) > wavefronts(pair["theirs"]) for pair in whole),
    }


def wavefronts(row: Row) -> float:
    """Of shared memory, as ncu counted them."""
    return sum(row["counted"].get(name, 0.0) for name in ("shared_store", "cp_async"))


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("out", type=Path)
    options.add_argument("--find", action="store_true")
    options.add_argument("--processes", type=int, default=12)
    options.add_argument("--most", type=int, default=60)
    given = options.parse_args()
    file = given.out / "pairs.json"
    if given.find:
        write(find(given.processes, given.most), file)
        return 0
    begun, asked = time.monotonic(), json.loads(file.read_text(encoding="utf-8"))
    about = head("benchmarks.synthesis_layouts", "torch")
    rows: list[Row] = []
    for first in range(0, len(asked["chosen"]), BATCH):
        rows += ran(asked["chosen"][first : first + BATCH], given.processes)
        plans = sorted(rows, key=lambda row: row["name"])
        found = {name: asked[name] for name in ("better", "different")} | summary(rows)
        write({**about, **found, "plans": plans}, given.out / "synthesis_layouts.json")
        said(begun, str(found))
    for row in rows:
        if "failed" in row or row.get("wrong") or not row["counted"] or not matches(row):
            print(
                {key: row.get(key) for key in ("name", "failed", "wrong", "shared", "predicted", "counted")}
            )
    return int(any(row.get("wrong") != 0 for row in rows))


if __name__ == "__main__":
    sys.exit(main())
