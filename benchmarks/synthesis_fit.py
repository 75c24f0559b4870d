"""The constants of `layoutcheck.synthesis.pace`, fitted to plans that ran on an H200, and judged by others.

    python -m benchmarks.synthesis_fit docs/evidence/synthesis_pace.json [--steps 6000] [--parts] [--again]
        [--free split,lost] [--judge 101,102] [--by 301]

The file has, for plans of several seeds, what each asked of the machine (`demand`, with the registers and
instructions of its compiled program) and the rounds of its time. Every fifth seed is judged by constants
that are fitted to the others; then they are fitted to all. The result goes into the same file: Kendall's tau
over the pairs of plans of one request whose times are more than 5 % apart in nearly all rounds. `--parts`
asks what an order without the compiler lacks: the requests are answered again, and of what is guessed some is
taken from the compiled programs. `--again` works out anew what the plans ask, after a change of `Demand`.
`--free` fits some constants, the others stay; `--judge` has those seeds judged, each by all others or by
those that `--by` names, and keeps what the file says of the rest.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks.synthesis_plans import APART, IN_ROUNDS
from layoutcheck.machine.cost import CLOCK_GHZ, SMS
from layoutcheck.synthesis.compiled import Compiled
from layoutcheck.synthesis.demand import Demand, demand
from layoutcheck.synthesis.pace import H200, Machine, pace
from layoutcheck.synthesis.search import Found
from layoutcheck.synthesis.wanted import Wanted

Row = dict[str, Any]
Planned = tuple[Row, Found, Wanted]
FOLDS = 5
FRESH = 831
"""The first seed that ran after the model that stands in `pace`."""
ROUND = {
    "issue": 0.5, "latency": 1000.0, "later": 0.7, "held": 1000.0, "held_async": 1000.0, "read": 0.0575,
    "write": 0.0575, "mixed": 0.02, "part": 10.0, "part_waited": 50.0, "cut": 0.25, "apart": 0.12,
    "several": 30.0, "writing": 1.5,
    "bulk": 0.1, "split": 0.5, "late": 3e-4, "met": 0.1, "lost": 50.0, "behind": 1.5,
    "kept": 50e6, "kept_tma": 50e6, "again": 2.0, "cached": 1.0, "data": 1.0,
    "row": 1.0, "thin": 1.3, "stored": 300.0, "overlap": 2.5, "written_only": 5.0, "hidden": 5.0,
}  # fmt: skip
FREE = tuple(ROUND)
"""Round numbers, so that nothing of the seed that judges is in what begins."""


def constants(machine: Machine) -> dict[str, float]:
    """Those of all mechanisms, by their names."""
    return {name: value for part in asdict(machine).values() for name, value in part.items()}


def machine_of(values: dict[str, float]) -> Machine:
    """With these constants; others as they are."""
    parts = {name: {*part} & {*values} for name, part in asdict(H200).items()}
    return Machine(
        **{
            name: replace(getattr(H200, name), **{one: values[one] for one in names})
            for name, names in parts.items()
        }
    )


def predicted_us(row: Row, machine: Machine) -> float:
    """Of the whole launch; no more blocks share an SM than there are."""
    asked = Demand(**row["demand"])
    blocks = max(1.0, min(asked.blocks, row["blocks"] / SMS))
    part = blocks / asked.blocks
    # `pace` divides by whole blocks: what fewer blocks leave of waits is set before.
    asked = asked._replace(
        blocks=blocks,  # type: ignore[arg-type]
        live_bytes=part * asked.live_bytes,
        asked_parts=part * asked.asked_parts,
    )
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


def tau(some: Sequence[tuple[Row, Row]], machine: Machine) -> float:
    """Kendall's, over these pairs."""
    agree = sum(predicted_us(fast, machine) < predicted_us(slow, machine) for fast, slow in some)
    return 2 * agree / len(some) - 1


def of_seeds(rows: Sequence[Row]) -> dict[str, float]:
    """Tau of each seed's plans."""
    seeds = sorted({row["seed"] for row in rows})
    return {
        str(seed): round(tau(pairs([row for row in rows if row["seed"] == seed]), H200), 3) for seed in seeds
    }


def halves(rows: Sequence[Row]) -> dict[str, float]:
    """Tau of the requests whose plans chose mechanisms and constants, and of the others: by their text."""
    found: dict[str, list[Row]] = {"chosen": [], "held": []}
    for row in (row for row in rows if row["seed"] < FRESH):
        request = {name: value for name, value in row["request"].items() if name != "seed"}
        number = int(hashlib.md5(json.dumps(request, sort_keys=True).encode()).hexdigest(), 16)
        found["held" if number % 2 else "chosen"].append(row)
    return {name: round(tau(pairs(some), H200), 3) for name, some in found.items()}


def first(rows: Sequence[Row]) -> dict[str, Any]:
    """How far the plan that is predicted to be the fastest is from the fastest of its request."""
    requests: dict[str, list[Row]] = {}
    for row in rows:
        requests.setdefault(json.dumps([row["seed"], row["request"]]), []).append(row)
    ratios = [
        min(some, key=lambda row: predicted_us(row, H200))["us"] / min(row["us"] for row in some)
        for some in requests.values()
        if len(some) > 1
    ]
    near = sum(ratio <= APART for ratio in ratios)
    return {
        "requests": len(ratios),
        "near": near,
        "mean": round(mean(ratios), 3),
        "most": round(max(ratios), 2),
    }


def loss(rows: Sequence[Row], some: Sequence[tuple[Row, Row]], machine: Machine) -> float:
    """How far ratios of times are off, how far pairs are from their order, and times themselves."""
    times = {id(row): math.log(predicted_us(row, machine)) for row in rows}
    ratio = order = 0.0
    for fast, slow in some:
        expected = math.log(slow["us"] / fast["us"])
        found = times[id(slow)] - times[id(fast)]
        ratio += min(abs(expected - found), 0.4)
        order += min(max(0.0, 0.03 - found), 0.15)
    off = sum(min(abs(times[id(row)] - math.log(row["us"])), 0.5) for row in rows)
    return ratio / len(some) + 2 * order / len(some) + 0.2 * off / len(rows)


def fitted(rows: Sequence[Row], start: Machine, steps: int, seed: int, free: Sequence[str] = FREE) -> Machine:
    """A random search of what is `free` from `start`, which stays near it: only what helps moves."""
    rng = random.Random(seed)
    some, first = pairs(rows), constants(start)

    def judged(values: dict[str, float]) -> float:
        far = sum(abs(math.log(values[name] / first[name])) for name in free)
        return loss(rows, some, machine_of(values)) + 0.0015 * far

    best, width = dict(first), 0.2
    least = judged(best)
    for step in range(steps):
        tried = dict(best)
        for name in rng.sample(free, rng.choice((1, 2, 3))):
            tried[name] *= math.exp(rng.gauss(0, width))
        now = judged(tried)
        if now < least:
            best, least = tried, now
        if step % (steps // 5 + 1) == steps // 5:
            width *= 0.7
    return machine_of(best)


RESIDENT = ("blocks", "live_bytes", "asked_parts", "l1_bytes")
"""Of a demand, what follows from the registers of a thread."""
PARTS: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "instructions": ("instructions", "own"),
    "rounds": ("rounds",),
    "registers": RESIDENT,
    "registers and rounds": (*RESIDENT, "rounds"),
    "all": (*RESIDENT, "rounds", "instructions", "own"),
}


FIRST = (2, 4)
"""Plans of a request that are compiled, if not all are."""


def planned(rows: Sequence[Row]) -> Iterator[Planned]:
    """The plans that ran, as today's search finds them: those that it does not find are left out."""
    from layoutcheck.synthesis import plans
    from layoutcheck.synthesis.reading import read
    from layoutcheck.synthesis.request import TileRequest

    plans.SEARCH_SECONDS = plans.MOST_SECONDS = 600.0  # whatever else the machine does
    requests: dict[str, list[Row]] = {}
    for row in rows:
        requests.setdefault(json.dumps(row["request"]), []).append(row)
    for text, ran in requests.items():
        request = {name: value for name, value in json.loads(text).items() if name != "seed"}
        made = plans.synthesize(read(TileRequest(**{**request, "tile": tuple(request["tile"])})))
        places = {(one.kind, str(one.shared)): one.found for one in made.plans}
        for row in ran:
            found = places.get((row["kind"], str(row["shared"])))
            if found is not None:
                yield row, found, made.wanted


def counted_again(plans: Sequence[Planned]) -> list[Row]:
    """The rows with what today's plans ask of the machine, by the programs as they were compiled."""
    found = []
    for row, plan, wanted in plans:
        instructions, alone, cycles, rounds, barriers, *loaded = row["turn"]
        made = Compiled(row["registers"], instructions, alone, barriers, cycles, rounds, *loaded)
        found.append(row | {"demand": demand(plan, wanted, made)._asdict()})
    return found


def parted(plans: Sequence[Planned]) -> dict[str, Any]:
    """Tau of today's plans, with these parts of their demands from the compiler; of each seed, with none."""
    guesses = [(row, demand(found, wanted)) for row, found, wanted in plans]
    guessed = [row | {"demand": guess._asdict()} for row, guess in guesses]
    found: dict[str, Any] = {"plans": len(guesses), "seeds": of_seeds(guessed), "first": first(guessed)}
    for name, taken in PARTS.items():
        mixed = [
            row | {"demand": guess._asdict() | {part: row["demand"][part] for part in taken}}
            for row, guess in guesses
        ]
        found[name] = round(tau(pairs(mixed), H200), 3)
    for most in FIRST:
        mixed = first_compiled(guessed, [row for row, _ in guesses], most)
        found[f"first {most}"] = {"tau": round(tau(pairs(mixed), H200), 3), **first(mixed)}
    return found


def first_compiled(guessed: Sequence[Row], compiled: Sequence[Row], most: int) -> list[Row]:
    """The rows as `guessed`, but as `compiled` the `most` of each request whose guessed times are least."""
    requests: dict[str, list[int]] = {}
    for n, row in enumerate(guessed):
        requests.setdefault(json.dumps([row["seed"], row["request"]]), []).append(n)
    found = list(guessed)
    for places in requests.values():
        for n in sorted(places, key=lambda n: predicted_us(guessed[n], H200))[:most]:
            found[n] = compiled[n]
    return found


def a_line_each(found: dict[str, Any]) -> str:
    """As JSON, a line for each plan."""
    rest = json.dumps({name: value for name, value in found.items() if name != "plans"}, indent=1)
    plans = ",\n  ".join(json.dumps(row) for row in found["plans"])
    return f'{rest[:-2]},\n "plans": [\n  {plans}\n ]\n}}\n'


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("file", type=Path)
    options.add_argument("--steps", type=int, default=0, help="0: judge the constants that there are")
    options.add_argument("--free", help="fit these alone, such as lost,split; the others stay as they are")
    options.add_argument("--judge", help="seeds; else all, a fifth at once")
    options.add_argument("--by", help="the seeds that are fitted; else all but those that are judged")
    options.add_argument("--parts", action="store_true")
    options.add_argument("--again", action="store_true", help="what today's plans ask")
    given = options.parse_args()
    found = json.loads(given.file.read_text(encoding="utf-8"))
    plans = list(planned(found["plans"])) if given.again or given.parts else []
    if given.again:
        found["plans"] = counted_again(plans)
    rows = found["plans"]
    found["tau"] = of_seeds(rows)
    seeds = [*map(int, found["tau"])]
    found["pairs"] = {str(seed): len(pairs([row for row in rows if row["seed"] == seed])) for seed in seeds}
    if given.steps:
        known = found.get("held_out", {}) if given.judge else {}
        found["held_out"] = {name: value for name, value in known.items() if name != "all"}
        free = given.free.split(",") if given.free else FREE
        by = [int(seed) for seed in (given.by or "").split(",") if seed]
        start = machine_of({name: ROUND[name] for name in free})
        one_by_one = [[int(seed)] for seed in (given.judge or "").split(",") if seed]
        for judges in one_by_one or [seeds[n::FOLDS] for n in range(FOLDS)]:
            taken = [row for row in rows if row["seed"] in (by or {*seeds} - {*judges})]
            machine = fitted(taken, start, given.steps, judges[0], free)
            for seed in judges:
                mine = pairs([row for row in rows if row["seed"] == seed])
                found["held_out"][str(seed)] = round(tau(mine, machine), 3)
                print(f"seed {seed}, by constants of others: tau {found['held_out'][str(seed)]}", flush=True)
        counts = {seed: found["pairs"][seed] for seed in found["held_out"]}
        right = sum(count * found["held_out"][seed] for seed, count in counts.items())
        found["held_out"]["all"] = round(right / sum(counts.values()), 3)
        print(fitted([row for row in rows if row["seed"] in (by or seeds)], start, given.steps, 0, free))
    found["halves"] = halves(rows)
    found["first"] = first(rows)
    found["all"] = round(tau(pairs(rows), H200), 3)
    found["error"] = round(median(abs(predicted_us(row, H200) / row["us"] - 1) for row in rows), 3)
    if given.parts:
        found["parts"] = parted(plans)
    given.file.write_text(a_line_each(found), encoding="utf-8")
    print(
        {name: found[name] for name in ("tau", "pairs", "all", "error")},
        found.get("held_out"),
        found.get("parts"),
    )


if __name__ == "__main__":
    main()
