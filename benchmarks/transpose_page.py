"""Write docs/kernels.md from the evidence: every figure on the page is read from the JSON of a run.

python -m benchmarks.transpose_page docs/evidence/transpose.json > docs/kernels.md
"""

from __future__ import annotations

import json
import math
import re
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks.transpose_accesses import BLOCKS
from benchmarks.transpose_texts import (
    BOUND,
    BOUND_TAIL,
    COSTS,
    COSTS_TAIL,
    COUNTED,
    COUNTED_TAIL,
    FRESH,
    HEAD,
    HINTS,
    HOST,
    ONE_DEVICE,
    ONE_FRESH,
    ORDER,
    ORDER_TAIL,
    ORIGIN,
    PADS,
    PADS_TAIL,
    PITCHES,
    PLACES,
    SHAPES,
    SWEEP,
    TAIL,
    TYPES,
    TYPES_FRESH,
    VARIANTS,
)
from layoutcheck.machine.cost import CLOCK_GHZ, NOTHING, SMS, pipes

ABLATED = {
    "lanes stay": "noturn",
    "no gather": "nogather",
    "no halo": "nohalo",
    "neither": "nogather+nohalo",
    "no ends": "noends",
    "no stores": "nostore",
}
"""Steps that were left out, as the page and the evidence call them."""

COPIES = ("by element", "by sector", "staged")
"""Those of `benchmarks/transpose_pads.cu` that leave pads alone."""

BYTES = {"uint8": 1, "bfloat16": 2, "float32": 4, "int64": 8}
"""Of an element."""

Rows = list[dict[str, Any]]

LONG_BYTES = 1 << 24
"""Traffic from which on twice the bytes take sgeam twice the time; below, the launch is what takes time."""


def main(path: Path) -> str:
    run = json.loads(path.read_text())
    where = run["environment"]
    forty = [json.loads(found.read_text()) for found in sorted(path.parent.glob("transpose_shapes*.json"))]
    ours = [found for found in forty if found["memcheck"]]
    padded = json.loads(path.with_name("transpose_pads.json").read_text())
    wrong = [
        f"`{plan}` at {name}"
        for found in ours
        for name, plans in found["wrong"].items()
        for plan, count in plans.items()
        if count
    ]
    text = [
        HEAD.rstrip("\n"),
        variants(run["variants"], run["variant_times"], {**where, "file": path.name}),
        ORIGIN.format(chosen=of_exchange(forty[0])),
        costs(json.loads(path.with_name("transpose_counters.json").read_text())),
        SHAPES.rstrip("\n"),
        shapes(*forty),
        FRESH,
        *[drawn_at_random(found) for found in sorted(path.parent.glob("transpose_fresh*.json"))],
        types(json.loads(path.with_name("transpose_types.json").read_text()), TYPES, padded),
        types(json.loads(path.with_name("transpose_types_fresh.json").read_text()), TYPES_FRESH, padded),
        counted(json.loads(path.with_name("transpose_plans_counted.json").read_text())),
        bound(json.loads(path.with_name("transpose_bound.json").read_text())),
        pads(padded),
        orders(json.loads(path.with_name("transpose_order.json").read_text())),
        places(json.loads(path.with_name("transpose_placement.json").read_text())),
        SWEEP,
        families(run["sweep"]),
        HINTS,
        hints(run["sweep"]),
        PITCHES.format(**run["pitches"][0], speeds=pitches(run["pitches"])).rstrip("\n"),
        TAIL.format(
            shapes=len(run["shapes"]),
            wrong=sum(c["wrong_elements"] > 0 for c in run["shapes"]),
            date=where["date"][:10],
            plans=sum(len(found) for run in ours for found in run["wrong"].values()),
            plans_wrong=len(wrong),
            names=f" ({'; '.join(wrong)}: not chosen)" if wrong else "",
            memchecked=sum(run["memcheck"]["runs"] for run in ours),
            memcheck=" and ".join({run["memcheck"]["said"][-1].strip("= ").lower() for run in ours}),
        ),
    ]
    return "\n".join(text)


def grid(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, figures to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *rows])


def variants(found: dict[str, Any], times: Rows, where: dict[str, Any]) -> str:
    speed = {row["name"]: row for row in times}
    body = []
    for name, result in found.items():
        if "rejected" in result:
            outcome = f"rejected: {result['rejected'].split(' of atom')[0]}"
        elif "fault" in result:
            outcome = "misaligned-address fault" if "isaligned" in result["fault"] else result["fault"]
        else:
            wrong = max(result["wrong_elements"])
            outcome = f"{wrong} of {result['elements']} elements wrong" if wrong else "right"
        gb_per_s = f"{speed[name]['gb_per_s']:.0f}" if name in speed else ""
        body.append([f"`{name}`", result["expected"], outcome, gb_per_s, result["note"]])
    table = grid(["variant", "verdict", "result", "GB/s", "why"], body)
    table = table.replace("| --- | ---: | ---: | ---: | ---: |", "| --- | --- | --- | ---: | --- |")
    about = {key: where[key] for key in ("device", "file", "command")} | {"date": where["date"][:10]}
    about |= {"m": times[0]["m"], "n": times[0]["n"], "copy": speed["copy"]["gb_per_s"]}
    return VARIANTS.format(**about) + "\n" + table


def orders(run: dict[str, Any]) -> str:
    """Shares of the ceiling by length of the runs that are read or written."""
    sizes = sorted({row["m"] for row in run["rows"]})
    times = {(row["m"], row["name"]): row["us"] for row in run["rows"]}

    def share(size: int, name: str) -> float:
        return min(times[size, "copy"], times[size, "elementwise"]) / times[size, name]

    def cells(name: str) -> list[str]:
        return [f"{share(size, name):.3f}" for size in sizes]

    lengths = sorted(
        int(words[1])
        for words in (name.split() for size, name in times if size == sizes[0])
        if words[0] == "read" and words[1] != "all" and words[-1] == "all"
    )
    body = [
        [f"{length}", *cells(f"read {length} write all"), *cells(f"read all write {length}")]
        for length in lengths
    ]
    body.append(["all", *cells("read all write all"), *cells("read all write all")])
    head = ["bytes of a run", *[f"{kind}, {size}" for kind in ("reads", "writes") for size in sizes]]
    bulk = ", ".join(
        f"{share(size, 'transpose, bulk'):.3f} for {share(size, 'transpose'):.3f} at {size} x {size}"
        for size in sizes
    )
    about = {
        "device": run["device"].split(",")[0],
        "date": run["date"],
        "file": "`benchmarks/transpose_order.cu`",
    }
    return ORDER.format(**about) + "\n" + grid(head, body) + "\n" + ORDER_TAIL.format(bulk=bulk)


def places(run: dict[str, Any]) -> str:
    """The shares of the plans in one place of memory and another."""
    shares: dict[tuple[str, str], list[float]] = {}
    for m, n in by_size(run["rows"]):
        for place in sorted({row["place"] for row in run["rows"]}):
            here = {
                row["name"]: row["us"]
                for row in run["rows"]
                if (row["m"], row["n"], row["place"]) == (m, n, place)
            }
            ceiling = min(here["copy"], here["elementwise"])
            for name, us in here.items():
                shares.setdefault((name, f"{m} x {n}"), []).append(ceiling / us)
    sizes = list(dict.fromkeys(size for _, size in shares))
    plans = sorted(
        {name for name, _ in shares if name.startswith("exchange")},
        key=lambda name: -max(shares[name, sizes[0]]),
    )
    body = [
        [name, *(f"{min(shares[name, size]):.3f} to {max(shares[name, size]):.3f}" for size in sizes)]
        for name in ("copy", "elementwise", *plans[:3], *plans[-2:])
    ]
    where = run["environment"]
    text = PLACES.format(device=where["device"], date=where["date"][:10], plans=len(plans))
    return "\n".join([text, grid(["", *sizes], body)])


def types(run: dict[str, Any], text: str, padded: dict[str, Any]) -> str:
    """Other elements than those of 16 bits, beneath a text: a row for each shape, a column for each type."""
    kinds = list(dict.fromkeys(row["type"] for row in run["rows"]))
    copied = {(row["name"], row["size"]): left_alone_share(row["us"]) for row in padded["rows"]}
    cells: dict[str, dict[str, str]] = {}
    behind, leads, shares = [], [], []
    for row in run["rows"]:
        us = {name: time for name, time in row["us"].items() if name != "late"}
        ceiling, mine = min(us.pop("copy"), us.pop("elementwise")), us.pop("fastest")
        leads.append(min(us.values()) / mine)
        behind += [f"{row['type']} {row['name']} ({leads[-1]:.2f})"] if leads[-1] < 1 else []
        share = f"{ceiling / mine:.3f}"
        if has_pads(row["name"]) and (copy := copied.get((row["name"], BYTES[row["type"]]))):
            share += f" (copy {copy:.3f})"
        cells.setdefault(row["name"], {})[row["type"]] = f"{mine:.2f}, {share}, {leads[-1]:.3f}"
        shares.append((ceiling / mine, f"{row['type']} {row['name']}"))
    body = [[name, *(found.get(kind, "") for kind in kinds)] for name, found in cells.items()]
    table = grid(["M x N", *kinds], body)
    about = {"device": run["device"].split(",")[0], "date": run["date"]}
    counts = [count for plans in run["checked"].values() for count in plans.values()]
    named = re.search(r"--again (\S+)", run["command"])
    again = len(named[1].split(",")) if named else 0
    about |= {"summary": summary(leads), "behind": ", ".join(behind) or "none"}
    about |= {"drawn": len(shares) - again, "again": again}
    about["below"] = ", ".join(f"{name} ({share:.2f})" for share, name in sorted(shares) if share < 0.9)
    return text.format(**about, checks=len(counts), wrong=sum(map(bool, counts))) + "\n" + table


def has_pads(name: str) -> bool:
    """Whether the rows of `y` have pads at the shape of this name."""
    return bool(re.search(r"\+[1-9]\d*@", name))


def left_alone_share(us: dict[str, float]) -> float:
    """The share of the quickest copy that leaves pads alone."""
    return min(us["copy"], us["elementwise"]) / min(us[name] for name in COPIES)


def costs(run: dict[str, Any]) -> str:
    """The cost model beside the clock and the counters."""
    size, where = run["size"], run["environment"]
    times = {row["name"]: row for row in run["times"]}
    counted = {row["name"]: row for row in run["variants"]}
    blocks = {name: make() for name, make in BLOCKS.items()}
    predicted = sorted(blocks, key=lambda name: blocks[name].microseconds(size))
    body = []
    for name in predicted:
        block, row, seen = blocks[name], times[name], counted[name]
        scale = block.blocks(size) / SMS / CLOCK_GHZ / 1000
        busy = [f"{cycles * scale:.0f}" for cycles in pipes(block.counts).values()]
        ours = block.blocks(size) * block.counts.wavefronts
        theirs = seen["all_wavefronts"] + seen["cp_async_wavefronts"] * (name != "fp32_elementwise")
        spread = f"{row['us_p10']:.1f} to {row['us_p90']:.1f}"
        time = block.microseconds(size)
        body.append([f"`{name}`", *busy, f"{time:.1f}", f"{row['us']:.1f}", spread, f"{theirs / ours:.2f}"])
    names = [*pipes(NOTHING), "predicted", "measured", "p10 to p90", "counted"]
    measured = sorted(blocks, key=lambda name: times[name]["us"])
    close = [
        f"`{a}` and `{b}`"
        for a, b in combinations(predicted, 2)
        if times[a]["us"] > times[b]["us"] and not apart(times[b], times[a])
    ]
    head = COSTS.format(size=size, device=where["device"], date=where["date"][:10], command=where["command"])
    tail = COSTS_TAIL.format(
        measured=", ".join(f"`{name}`" for name in measured),
        ties=", ".join(close) or "here none are out of order",
    )
    return head + "\n" + grid(["variant", *names], body) + "\n" + tail


def apart(fast: dict[str, Any], slow: dict[str, Any]) -> bool:
    """Whether one is faster than the other beyond the spread of the samples."""
    return bool(fast["us_p90"] < slow["us_p10"])


def by_size(rows: Rows) -> dict[tuple[int, int], dict[str, dict[str, Any]]]:
    sizes: dict[tuple[int, int], dict[str, dict[str, Any]]] = {}
    for row in rows:
        name = "Triton" if row["name"].startswith("triton") else row["name"]
        sizes.setdefault((row["m"], row["n"]), {})[name] = row
    return sizes


def shapes(run: dict[str, Any], other: dict[str, Any]) -> str:
    """`fastest` and what it has to beat, at every shape; share and lead of another device beside."""
    there = {row["name"]: row for row in other["rows"]}
    body = []
    for row in run["rows"]:
        ceilings, peer, lead = against(row)
        ours = row["us"]["fastest"]
        speeds = [f"{4e-3 * row['batch'] * row['m'] * row['n'] / us:.0f}" for us in (*ceilings, ours)]
        alone = f"{min(ceilings) / row['us']['late']:.3f}" if "late" in row["us"] else ""
        figures = [f"{ours:.2f}", f"{min(ceilings) / ours:.3f}", alone, f"{lead:.3f}"]
        body.append([row["name"], *speeds, *figures, peer, row["chosen"], *beside(there.get(row["name"]))])
    short = other["environment"]["device"].split()[1]
    head = ["M x N, GB/s", "copy", "elementwise", "**fastest**", "us", "share", "alone", "lead"]
    head += ["quickest peer", "plan", f"{short} share", f"{short} lead"]
    row = next(row for row in run["rows"] if "host_us" in row)
    host = HOST.format(name=row["name"], calls=", ".join(f"{k} {us:.1f}" for k, us in row["host_us"].items()))
    return "".join([one_device(run), one_device(other), "\n", grid(head, body), "\n", host]).rstrip("\n")


def beside(row: dict[str, Any] | None) -> list[str]:
    """Share and lead at a shape, or nothing if it was not timed."""
    if row is None:
        return ["", ""]
    ceilings, _, lead = against(row)
    return [f"{min(ceilings) / row['us']['fastest']:.3f}", f"{lead:.3f}"]


def one_device(run: dict[str, Any]) -> str:
    """Where a run was made, and at how many shapes it leads."""
    where = run["environment"]
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    file = "transpose_shapes.json" if "H200" in where["device"] else "transpose_shapes_h100.json"
    about = {**where, "date": where["date"][:10], "versions": versions, "file": file}
    return ONE_DEVICE.format(**about, summary=summary([against(row)[2] for row in run["rows"]]))


def summary(leads: list[float]) -> str:
    """How many shapes lead."""
    ahead = f"Ahead of the quickest peer at {sum(lead >= 1 for lead in leads)} of {len(leads)} shapes"
    level = f"within 2 % of it at {sum(0.98 <= lead < 1 for lead in leads)} more."
    return f"{ahead}, {level}"


def drawn_at_random(path: Path) -> str:
    """How the plans do at shapes that nobody chose."""
    run = json.loads(path.read_text())
    leads = {row["name"]: against(row)[2] for row in run["rows"]}
    late = ", ".join(f"{name} ({lead:.2f})" for name, lead in leads.items() if lead < 1)
    where = run["environment"] | {"date": run["environment"]["date"][:10]}
    behind = f" Behind: {late}." if late else ""
    return ONE_FRESH.format(file=path.name, summary=summary(list(leads.values())), behind=behind, **where)


def counted(run: dict[str, Any]) -> str:
    """What plans move, and what keeps them busy."""
    where, body = run["environment"], []
    for row in run["plans"]:
        plan, name = row["name"].rsplit(" ", 1)
        extents, _, kind = name.partition(":")
        side = (1 if kind else 2) * math.prod(int(extent) for extent in extents.split("x"))
        moved = [row[f"memory_{way}_bytes"] / side for way in ("read", "write")]
        asked = [32 * row[f"l2_{way}_sectors"] / side for way in ("read", "write")]
        busy = [row[f"{pipe}_percent"] for pipe in ("memory", "l2", "issue_active")]
        figures = [f"{row['microseconds']:.1f}", *(f"{share:.3f}" for share in (*moved, *asked))]
        body.append([name, plan, *figures, *(f"{percent:.0f}" for percent in busy)])
    head = [
        "M x N",
        "plan",
        "us",
        "read",
        "written",
        "sectors read",
        "sectors written",
        "memory",
        "L2",
        "issue",
    ]
    table = grid(head, body).replace("| --- | ---: |", "| --- | --- |", 1)
    return COUNTED.format(**where | {"date": where["date"][:10]}) + "\n" + table + "\n" + COUNTED_TAIL


def bound(run: dict[str, Any]) -> str:
    """Plans with a step left out, and what was made of that."""
    without, tried = (one["rows"] for one in run["runs"])
    body, reads = [], []
    copies: dict[bool, list[float]] = {False: [], True: []}
    for row in without:
        us, steps = row["us"], {name.partition(" !")[2]: time for name, time in row["us"].items()}
        if "nostore" not in steps:
            continue
        plan = next(name.partition(" !")[0] for name in us if "!" in name)
        times = [us["= " + plan], *(steps[step] for step in ABLATED.values())]
        ceiling = min(us["copy"], us["elementwise"])
        body.append([row["name"], row["type"], plan, *(f"{ceiling / time:.3f}" for time in times)])
        copies["+" in row["name"]].append(ceiling / steps["nogather+nohalo"])
        reads.append(steps["nostore"] / times[0])
    left_out = grid(["M x N", "type", "plan", "whole", *ABLATED], body)
    better = []
    for row in sorted(tried, key=lambda row: (row["type"], row["name"])):
        us, now = row["us"], row["now"]
        ceiling, best = min(us["copy"], us["elementwise"]), min(now, key=us.__getitem__)
        before = min(time for name, time in us.items() if name.startswith("= "))
        shares = [f"{ceiling / before:.3f}", f"{ceiling / us[best]:.3f}"]
        better.append([row["name"], row["type"], *shares, now[best]])
    tail = BOUND_TAIL.format(
        least=f"{min(copies[False]):.2f}",
        most=f"{max(copies[False]):.2f}",
        pads=f"{min(copies[True]):.2f}",
        reads=f"{100 * min(reads):.0f} to {100 * max(reads):.0f} %",
    )
    return "\n".join(
        [BOUND.format(**run), left_out, tail, grid(["M x N", "type", "before", "now", "plan"], better)]
    )


def pads(run: dict[str, Any]) -> str:
    """Plans beside copies that have the same pads."""
    body, checks, ahead = [], 0, 0
    for row in run["rows"]:
        us = row["us"]
        ceiling = min(us["copy"], us["elementwise"])
        padded = has_pads(row["name"])
        tilings = [name for name in us if name.startswith("triton")]
        plans = [
            name for name in us if name not in (*tilings, *COPIES, "pads written", "copy", "elementwise")
        ]
        plan, checks = min(plans, key=us.__getitem__), checks + len(plans) + len(COPIES)
        times = [min(us[name] for name in COPIES), us["pads written"], us[plan]]
        times.append(min(us[name] for name in tilings))
        shares = [f"{ceiling / time:.3f}" for time in times]
        ahead += padded and times[0] > us[plan]
        if padded:
            body.append([row["name"], str(row["size"]), f"{us[plan]:.2f}", *shares, plan])
    head = ["M x N", "bytes", "us", "copy", "copy, pads written", "best plan", "Triton", "plan"]
    about = {
        "device": run["device"].split(",")[0],
        "date": run["date"],
        "checks": checks,
        "wrong": sum(len(row["bad"]) for row in run["rows"]),
    }
    ratios = left_alone(run["counted"]["rows"])
    tail = PADS_TAIL.format(least=min(ratios), most=max(ratios), ahead=ahead, rows=len(body))
    return "\n".join([PADS.format(**about), grid(head, body), tail.rstrip("\n")])


def left_alone(rows: Rows) -> list[float]:
    """By shape: the time of the quickest copy that leaves pads alone over that of one that writes them."""
    times: dict[str, dict[str, float]] = {}
    for row in rows:
        kind, *shape = row["name"].rsplit(" ", 2)
        times.setdefault(" ".join(shape), {})[kind] = row["microseconds"]
    return [min(map(us.__getitem__, COPIES)) / us["pads written"] for us in times.values()]


def of_exchange(run: dict[str, Any]) -> str:
    """How often it is the plan that was chosen."""
    chosen = sum(row["chosen"].startswith("exchange") for row in run["rows"])
    return f"On the {run['environment']['device']} it serves {chosen} of the {len(run['rows'])} shapes below."


def against(row: dict[str, Any]) -> tuple[list[float], str, float]:
    """Microseconds of copy and elementwise kernel, the quickest peer, and its time over that of `fastest`."""
    us = row["us"]
    long = 4 * row["batch"] * row["m"] * row["n"] >= LONG_BYTES
    rivals = {
        name: time / (2 if name == "sgeam" and long else 1)
        for name, time in us.items()
        if name.startswith(("torch", "triton", "sgeam"))
    }
    peer = min(rivals, key=lambda name: rivals[name])
    return [us["copy"], us["elementwise"]], peer, rivals[peer] / us["fastest"]


def families(rows: Rows) -> str:
    names = ["exchange", "registers", "tma", "swizzled"]
    body = []
    for (m, n), here in by_size(rows).items():
        best = [max(here[name]["gb_per_s"] for name in here if name.startswith(family)) for family in names]
        cells = [f"{speed / here['copy']['gb_per_s']:.3f}" for speed in best]
        body.append([f"{m} x {n}", *cells])
    return grid(["M x N", *names], body)


def hints(rows: Rows) -> str:
    sizes = {size: here for size, here in by_size(rows).items() if size[0] >= 8192}
    plans = [name for name in next(iter(sizes.values())) if name.startswith("exchange ((128, 128)")]
    body = []
    for plan in plans:
        shares = [here[plan]["gb_per_s"] / here["copy"]["gb_per_s"] for here in sizes.values()]
        group, load, store, resident = plan.split("), ")[1].rstrip(")").replace("'", "").split(", ")
        body.append([f"{load} / {store}", group, resident, *[f"{share:.3f}" for share in shares]])
    return grid(["loads / stores", "strip", "resident threads", *[f"{m} x {n}" for m, n in sizes]], body)


def pitches(rows: Rows) -> str:
    return ", ".join(f"{row['name'].removeprefix('pad ')}: {row['gb_per_s']:.0f}" for row in rows)


if __name__ == "__main__":
    print(main(Path(sys.argv[1])), end="")
