"""What came of `layoutcheck confirm --order`: which findings show on the machine, with which delays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from layoutcheck.digits import many
from layoutcheck.findings import json_lines
from layoutcheck.gpu.races import Delay, RaceRun, Races, Tried
from layoutcheck.reports.order import main
from layoutcheck.reports.style import Style
from layoutcheck.sources.callers import shown

_ALL = 0xFFFFFFFF


def render(races: Races, style: Style) -> str:
    """The runs without delays, then each finding with the first run that shows it."""
    machine = races.machine
    lines = [style(f"Run on a GPU: {machine.get('name', '?')} ({machine.get('arch', '?')}).", "bold"), ""]
    if not races.tried:
        kernels = many(races.kernels, "kernel")
        return "\n".join([*lines, f"nothing to confirm: the order of {kernels} shows nothing wrong", ""])
    failed = [run for run in races.usual if run.failed]
    why = f" ({_end(failed[0])})" if failed else ""
    lines.append(f"without delays: {len(failed)} of {len(races.usual)} runs fail{why}")
    for one in races.tried:
        lines += ["", *_tried(one, races, style)]
    return "\n".join([*lines, ""])


def _tried(one: Tried, races: Races, style: Style) -> Iterator[str]:
    finding, run = one.finding, one.shown
    yield style(f"{finding.severity}[{finding.code}]: ", "bold", "red") + style(finding.title, "bold")
    yield f"  --> {shown(main(finding).where.file)}:{main(finding).where.line}"
    if one.problem:
        yield from style.wrap(f"not tried: {one.problem}", "    ", "  ")
        return
    if run is None:
        yield from style.wrap(
            f"did not show in {many(len(one.runs), 'run')} with delays, which proves nothing", "    ", "  "
        )
        return
    yield from style.wrap(f"shows with seed {run.seed}: {_end(run)}", "    ", "  ")
    yield from (line for delay in run.delays for line in style.wrap(_delay(delay), "      ", "    "))
    yield f"  replay: layoutcheck confirm --order {races.program!r} --seed {run.seed}"


def _end(run: RaceRun) -> str:
    if run.status is None:
        return f"the program hangs ({run.seconds:.0f} s)"
    return f"the program ends with status {run.status}" + (f": {run.said}" if run.said else "")


def _delay(delay: Delay) -> str:
    warps = "all warps" if delay.warps == _ALL else f"warps of {delay.warps:#010x}"
    blocks = "all blocks" if delay.blocks == _ALL else f"blocks of {delay.blocks:#010x}"
    return f"{warps} in {blocks} sleep {delay.nanoseconds:,} ns before {shown(delay.file)}:{delay.line}"


def render_json(races: Races, style: Style) -> str:
    """A line of JSON for the program, then one for each finding."""
    head = {
        "program": races.program, "machine": races.machine, "kernels": races.kernels,
        "usual": [asdict(run) for run in races.usual],
    }  # fmt: skip
    lines = [head] + [
        {
            "finding": asdict(one.finding), "shown": None if one.shown is None else one.shown.seed,
            "runs": [asdict(run) for run in one.runs], "problem": one.problem,
        }
        for one in races.tried
    ]  # fmt: skip
    return json_lines(lines, ascii_=style.ascii)
