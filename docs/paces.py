"""The figures of docs/synthesis.md about the predicted order of plans, from docs/evidence/."""

from __future__ import annotations

import json
from statistics import mean, median, stdev
from typing import Any

from benchmarks.synthesis_fit import FRESH, pairs, tau
from benchmarks.synthesis_layouts import wavefronts
from benchmarks.synthesis_plans import matches
from docs.figures import bullet, filled, read, with_figures
from layoutcheck.synthesis.pace import H200

HELD = (302, 303), (101, 102, 103, 201, 202, 203)
"""Seeds whose epilogues no constant of epilogues was fitted to."""
AGAIN = 811
"""A seed that ran again in other processes."""


def with_paces(text: str) -> str:
    """The page with its figures."""
    parts = (
        ("paces", _figures),
        ("spaces", _spaces),
        ("seconds", _seconds),
        ("advice", _advice),
        ("copies", _copies),
    )
    for name, figures in parts:
        text = with_figures(text, name, figures)
    return text


def _spaces() -> str:
    """What the sweeps of tests/synthesis found, which have to hold everywhere."""
    ran = read("synthesis_sweeps")
    tried, stated, nvidia = (ran[name] for name in ("optimal", "stated", "nvidia"))
    worse = sum(len(one["wrong"]) for one in (tried, stated, nvidia))
    others = nvidia["layouts"] - nvidia["held"]
    text = (
        f"In {tried['held']} small spaces it was compared with trying every plan, and in {stated['held']} "
        "with a second model of the space as the report states it, which shares no code with the search but "
        f"the time of a plan and the packets of `cp.async`: in {worse or 'none'} of them was another "
        "plan better in time, bytes or instructions, for any kind. Of the "
        f"{nvidia['layouts']:,} layouts that NVIDIA's helpers make for operands, {nvidia['held']:,} are ones "
        f"that an MMA reads, and none of these is better; {others} are not ([evidence](evidence.md)). "
    )
    return filled(text + _counted()) + "\n"


def _counted() -> str:
    """What ncu counted where a layout of ours is better than one of NVIDIA's."""
    ran = read("synthesis_layouts")
    rows = sorted(ran["plans"], key=lambda row: str(row["name"]))
    ratios = [wavefronts(b) / wavefronts(a) for a, b in zip(rows[::2], rows[1::2], strict=True)]
    return (
        f"For wgmma, {ran['better']} times an engine's threads take fewer wavefronts or cycles into our "
        f"layout than into a helper's. {ran['pairs']} of these pairs, drawn, ran on an H200: ncu counted "
        f"fewer wavefronts of ours in {ran['fewer']}, more in {ran['more']} (its loads take fewer of L1), as "
        f"many as predicted in {ran['as_predicted']} of {ran['counted']} plans. The helper's layout takes "
        f"{min(ratios):.1f} to {max(ratios):.1f} times as many, {median(ratios):.1f} at the median."
    )


def _advice() -> str:
    """What `trace --advise` said of real scripts."""
    found = read("advice_sweep")
    ran = found["total"]
    text = (
        f"{ran['scripts']} public scripts were traced with it ({found['date']}): {ran['built_kernels']} "
        f"built kernels here, with {ran['copies']} different copies. {ran['advice']} copies were named, "
        f"and the edit of {ran['written']} was proven. Where the compiler's passes give the addresses of the "
        f"whole program, in {ran['counted_again']}, all its lines together cost less in {ran['less']} "
        "([evidence](evidence.md)). Slow copies of one thread's views, whose tiles are not known, get no "
        "advice."
    )
    return filled(text) + "\n"


def _copies() -> str:
    """Copies to global memory alone, beside torch's."""
    rows = read("synthesis_copies")["rows"]
    programs = [count for row in rows for count in row["wrong"].values()]
    shares: dict[str, list[float]] = {}
    spreads = []
    for row in (row for row in rows if "us" in row and row["stages"] == 1):
        times = dict(row["us"])
        copy, best = times.pop("copy"), min(times.values())
        shares.setdefault(row["way"], []).append(copy / best)
        spreads.append(sorted(times.values())[len(times) // 2] / best - 1)
    said = ", ".join(f"{way} {min(each):.2f} to {max(each):.2f}" for way, each in shares.items())
    text = (
        "At three shapes of 128 MiB and 1 GiB, the fastest plan of a bf16 copy runs at this share of torch's "
        f"copy on an H200 ([evidence](evidence.md)): {said}. {len(programs)} programs ran, also with tails "
        f"and three stages: {sum(map(bool, programs))} moved a wrong bit. Half of the plans are within "
        f"{100 * max(spreads):.0f} % of the fastest, so their predicted order says less than that of other "
        "plans."
    )
    return filled(text) + "\n"


def _seconds() -> str:
    """How long the common tiles take."""
    ran = read("synthesis_speed")
    now = ran["new"]
    text = (
        f"{ran['tiles']} common tiles (11 extents, six readers, bf16) take {now['p50']:.2f} s of processor "
        f"time at the median and {now['max']:.2f} s at most."
    )
    return filled(text) + "\n"


def _figures() -> str:
    fitted, ran = read("synthesis_pace"), read("synthesis")
    plans, parts, fresh = fitted["plans"], fitted["parts"], ran["plans"]
    requests = {(row["seed"], json.dumps(row["request"])) for row in plans}
    right = sum(row.get("wrong") == 0 for row in fresh)
    seen = [row for row in fresh if row["counted"]]
    exact = sum(matches(row) for row in seen)
    under = sum(row["guarded"] for row in seen)
    kinds = read("synthesis_kinds")
    error, again = 100 * fitted["error"], min(ran["tau_repeated"].values())
    first, guessed = fitted["first"], parts["first"]
    each, without = [*fitted["tau"].values()], [*parts["seeds"].values()]
    halves, seeds = fitted["halves"], ", ".join(parts["seeds"])
    points = (
        f"{len(plans):,} plans of {len(requests)} requests ran on an H200 "
        f"([synthesis_pace](evidence/synthesis_pace.json)). Half of the times are within {error:.0f} % of "
        "the predicted ones.",
        f"**The first plan.** With `--compiled` it is within 5 % of the fastest plan in {first['near']} of "
        f"{first['requests']} requests; it takes {100 * first['mean'] - 100:.1f} % longer on average, "
        f"{first['most']:.2f} times as long at worst. Without, in {guessed['near']} of {guessed['requests']} "
        f"(seeds {seeds}): {100 * guessed['mean'] - 100:.1f} % and {guessed['most']:.2f}.",
        "**The order** of two plans of one request whose times are more than 5 % apart: Kendall's tau is "
        f"{fitted['all']:.2f} with `--compiled` ({min(each):.2f} to {max(each):.2f} in {len(each)} seeds; "
        f"{halves['chosen']:.2f} of the half of the requests that chose how memory is modelled, "
        f"{halves['held']:.2f} of the other half), {parts['nothing']:.2f} without ({min(without):.2f} to "
        f"{max(without):.2f}). Measured again, the plans of {len(ran['tau_repeated'])} seeds have the same "
        f"order (tau {again:.1f}). So measure the first few plans.",
        "**Without the compiler** two quantities are guessed that decide much: how many registers a thread "
        "has, and with them how many blocks share an SM; and in how many rounds it waits for its loads. "
        f"With the compiler's registers tau is {parts['registers']:.2f}, with its rounds "
        f"{parts['rounds']:.2f}, with both {parts['registers and rounds']:.2f}, with its instructions alone "
        f"{parts['instructions']:.2f}.",
        _fresh(fitted),
        _first_four(parts),
        _to_memory(plans),
        _together(),
        _bounds(),
        f"**Bits and counters.** Of the {len(fresh)} plans of seeds {', '.join(ran['pairs'])}, {right} moved "
        f"the right bits, and {exact} of {len(seen)} had the counters as predicted, {under} of them without "
        "the wavefronts of `cp.async`, which ncu counts in another way under a predicate. Where both sides "
        "of a `cp.async` conflict, the count is a lower bound. Plans with tails, conversions, 4-bit elements "
        f"and epilogues: {kinds['right']} of {len(kinds['plans'])} right "
        "([synthesis_kinds](evidence/synthesis_kinds.json)).",
    )
    return "\n" + "\n".join(map(bullet, points)) + "\n\n"


def _fresh(fitted: dict[str, Any]) -> str:
    """How much a seed says, by those that were predicted before they ran."""
    seeds = {seed: one for seed, one in read("synthesis_seeds")["seeds"].items() if int(seed) >= FRESH}
    said = []
    for name in ("tau", "tau_expected"):
        each = [one[name] for one in seeds.values()]
        every = sum(one[name] * one["pairs"] for one in seeds.values()) / sum(
            one["pairs"] for one in seeds.values()
        )
        said.append(f"{every:.2f} (seeds {min(each):.2f} to {max(each):.2f}, deviation {stdev(each):.2f})")
    rows = [row[-1] for one in seeds.values() for plans in one["plans"] for row in plans["found"]]
    ran = [row for row in fitted["plans"] if row["seed"] == AGAIN]
    again, apart = pairs(ran), mean(abs(row["again_us"] / row["us"] - 1) for row in ran)
    same = sum(a["again_us"] < b["again_us"] for a, b in again)
    return (
        f"**Seeds that were predicted before they ran**, {', '.join(seeds)}: tau is {said[0]} with "
        f"`--compiled`, {said[1]} without; {rows.count(0)} of {len(rows)} plans moved the right bits. So one "
        f"seed says little. Noise is no reason: seed {AGAIN} ran again in other processes, {same} of "
        f"{len(again)} pairs have the same order, and times part by {100 * apart:.1f} %. {_halves()}"
    )


def _halves() -> str:
    """What counters say of rows that are parts of lines."""
    rows = [row for row in read("synthesis_sectors")["plans"] if row["counted"] and "flipped" not in row]
    read_once = [row["counted"]["dram__bytes_read.sum"] / 2**30 for row in rows]
    parts = [row for row in rows if row["request"]["to"] == "registers"]
    slow, fast = (pick(row["us"] for row in parts) for pick in (max, min))
    return (
        f"Of {len(rows)} plans with rows that are parts of lines, or that turn tiles, ncu counted "
        f"{min(read_once):.2f} to {max(read_once):.2f} times the tensor's bytes from memory, "
        f"{median(read_once):.2f} at the median; yet of those to registers a gibibyte took {fast:.0f} to "
        f"{slow:.0f} us. Half a line that is asked for alone takes memory nearly as long as a whole one."
    )


def _first_four(parts: dict[str, Any]) -> str:
    """What it would be worth to compile some plans in any case."""
    few, none = parts["first 4"], parts["first"]
    return (
        f"**If the first four plans were always compiled**, tau would be {few['tau']:.2f}, and the first "
        f"within 5 % of the fastest in {few['near']} of {few['requests']} requests, for {none['near']}: on "
        f"average it takes {100 * few['mean'] - 100:.1f} % longer than the fastest, for "
        f"{100 * none['mean'] - 100:.1f} %. They are not: a common tile is to take less than a second, and "
        "an answer is not to depend on what is installed. So it is an option."
    )


def _to_memory(plans: list[dict[str, Any]]) -> str:
    """The order of plans whose tiles go to global memory alone."""
    rows = [row for row in plans if row["request"]["to"] == "gmem"]
    copies = [row for row in rows if row["request"]["src"] != "accumulator"]
    epilogues = [row for row in rows if row["request"]["src"] == "accumulator"]
    found = [(tau(some, H200), len(some)) for some in map(pairs, (rows, copies, epilogues))]
    (every, _), (copied, count), (epilogue, few) = found
    seeds = sorted({row["seed"] for row in rows})
    again = [(fast, slow) for fast, slow in pairs(epilogues) if "again_us" in fast]
    same = sum(fast["again_us"] < slow["again_us"] for fast, slow in again)
    held = {seed: tau(pairs([row for row in epilogues if row["seed"] in seed]), H200) for seed in HELD}
    figures = " and ".join(f"{value:.2f}" for value in held.values())
    return (
        f"**To global memory alone** (seeds {', '.join(map(str, seeds))}) tau is {every:.2f}: {copied:.2f} "
        f"for {count} pairs of copies, {epilogue:.2f} for {few} of epilogues. What decides about epilogues "
        "was found in the times of those before 401, its three constants were fitted to seed 301 alone: of "
        f"seeds 302 and 303, and of the six before, tau is {figures}. Measured again by other processes, "
        f"{same} of {len(again)} pairs have the same order. {_spilled()}"
    )


def _spilled() -> str:
    """What counters say of plans whose order no count explained."""
    ran = read("synthesis_spills")["plans"]
    local = [row for row in ran if row["local_stores"]]
    written = {json.dumps(row["request"]): row["sectors_written"] for row in ran if not row["local_stores"]}
    more = sorted(row["sectors_written"] / written[json.dumps(row["request"])] for row in local)
    return (
        f"Of {len(ran)} such plans that ncu counted, {len(local)}, among them the slowest of their requests, "
        f"write {more[0]:.1f} to {more[-1]:.1f} times the sectors of others: ptxas puts registers into local "
        "memory. `--compiled` reads that now; the figures of copies are from before."
    )


def _together() -> str:
    """What it brings that a warp starts all loads of a tile before it stores what they bring."""
    ran = read("synthesis_together")
    plans: dict[str, dict[str, Any]] = {}
    for row in ran["plans"]:
        key = json.dumps([row["seed"], row["request"], row["kind"], row["shared"]])
        plans.setdefault(key, {})[row["bound"]] = row
    both = [one for one in plans.values() if len(one) == 2 and one["none"]["way"] == "ld"]
    ratios = [one["one"]["us"] / one["none"]["us"] for one in both]
    best = [ratio for seed in ran["seeds"].values() for ratio in seed["best"]]
    orders = [seed["orders"]["none"] for seed in ran["seeds"].values()]
    count = sum(order["pairs"] for order in orders)
    compiled, guessed = (
        sum(order[name] * order["pairs"] for order in orders) / count for name in ("tau", "tau_expected")
    )
    right = sum(row["wrong"] == 0 for row in ran["plans"])
    seeds = {seed: one for seed, one in read("synthesis_seeds")["seeds"].items() if int(seed) < FRESH}
    pairs = sum(one["pairs"] for one in seeds.values())
    more = [
        sum(one[name] * one["pairs"] for one in seeds.values()) / pairs for name in ("tau", "tau_expected")
    ]
    wrong = [row[-1] for one in seeds.values() for rows in one["plans"] for row in rows["found"]]
    return (
        "**Loads that wait together.** A warp starts all loads of a tile, then meets a barrier of its own, "
        "then stores: ptxas, which else mixes them in up to 10 rounds, lets a thread wait once. Without the "
        f"barrier {len(both)} programs of seeds {', '.join(ran['seeds'])} take {mean(ratios):.2f} of the "
        f"time, {sum(one > 1.03 for one in ratios)} of them more than 3 % longer, "
        f"{sum(one < 0.97 for one in ratios)} less ({min(ratios):.2f} to {max(ratios):.2f}); the fastest "
        f"program of a request {min(best):.2f} to {max(best):.2f}. {right} of {len(ran['plans'])} moved the "
        f"right bits. As it was predicted then, the order with the barrier had a tau of {compiled:.2f} with "
        f"`--compiled`, {guessed:.2f} without; of eight more seeds, {', '.join(seeds)}, {more[0]:.2f} and "
        f"{more[1]:.2f} ({wrong.count(0)} of {len(wrong)} plans right). The compiled figures of seeds before "
        "them are of programs without the barrier."
    )


def _bounds() -> str:
    """What launch bounds do to the programs and to the order."""
    seeds = read("synthesis_bounds")["seeds"]
    ran = list(seeds.values())
    ratios = " and ".join(f"{one['ratio']:.2f}" for one in ran)
    best = [ratio for one in ran for ratio in one["best"]]
    least, most = min(one["least"] for one in ran), max(one["most"] for one in ran)
    faster, slower = sum(one < 0.97 for one in best), sum(one > 1.03 for one in best)
    return (
        "**Launch bounds.** With `min_blocks_per_mp=1` ptxas keeps no registers free for other blocks, and a "
        f"thread waits for all of its loads at once. A program then takes {least:.2f} to {most:.2f} of the "
        f"time, on average {ratios} (seed {' and '.join(seeds)}). In {faster} of {len(best)} requests the "
        f"fastest program is more than 3 % faster, in {slower} slower ({min(best):.2f} to {max(best):.2f}). "
        "So try it. The programs do not have it, because on average nothing is gained."
    )
