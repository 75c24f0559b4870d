"""What `trace --fix` did: each cause with the copies that it spoiled, what is left, and the diff."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from layoutcheck.patching.predicates import STRATEGY
from layoutcheck.patching.repaired import Repair, Repaired, Sketch
from layoutcheck.patching.state import RANKS
from layoutcheck.reports.style import Style
from layoutcheck.sources.traced import Frame


def render(found: Repaired, written: Sequence[str], style: Style) -> str:
    """The repairs by cause, the sketches, the diff, and which files were written."""
    lines: list[str] = []
    for repair in found.repairs:
        lines += _repair(repair, style)
    for sketch in found.sketches:
        lines += _sketch(sketch, style)
    for kernel in found.uncompiled:
        lines += _not_fixed(kernel, style)
    if not lines:
        what = "of what was seen, nothing" if found.unseen else "nothing"
        lines = [f"{what} is rejected or wrong: there is nothing to fix"]
    eased = {_place(place) for repair in found.repairs for place in repair.repaired}
    for one in found.slow:
        where = _place(one.where)
        left = f"partly fixed: {where} still has" if where in eased else f"left as it is: {where} has"
        told = f"{left} bank conflicts: {one.reason}"
        lines += style.wrap(told, "  ", "")
    if found.resting:
        first, *more = found.resting
        where = _place(first) + (f" and {len(more)} more" if more else "")
        rests = f"left as it is: {where}: whether it stays in its tensor rests on the caller's extents"
        lines += style.wrap(f"{rests}; `--by {STRATEGY}` adds a predicate", "  ", "")
    for end in found.unseen:
        lines += style.wrap(f"not everything was seen: {end}", "    ", "  ")
    diff = found.diff()
    if diff:
        lines += ["", *(_coloured(line, style) for line in diff.removesuffix("\n").split("\n"))]
    if written:
        lines += ["", f"written: {', '.join(map(_short, written))}"]
    return "\n".join(lines) + "\n"


def _repair(repair: Repair, style: Style) -> list[str]:
    """The cause's line first, then the copies that suffered from it."""
    cause = ", ".join(f"{_short(place.file)}:{place.line}" for place in repair.places)
    lines = style.wrap(f"fixed: {cause}: {repair.title}", "  ", "")
    lines[0] = style("fixed", "bold", "green") + lines[0][len("fixed") :]
    spent = repair.cycles or (0,) * len(repair.repaired)
    copies = ", ".join(
        _place(place) + (f" ({cycles:g} cycles)" if cycles else "")
        for place, cycles in zip(repair.repaired, spent, strict=True)
    )
    slowed = [
        f"slower now: {_place(place)}, from {old:g} to {new:g} cycles" for place, old, new in repair.slowed
    ]
    by = f"confirmed by: {_confirmed(repair)}"
    what = "copies" if repair.verdict in RANKS else "accesses"
    now = f"{what} now {repair.verdict}: {copies}"
    if repair.verdict in ("slow", "unknown"):
        now = f"{what} that fail no more, and are {repair.verdict}: {copies}"
    if not repair.repaired:
        now = f"the program, which ended at {_place(repair.where)}, is built; its copies are {repair.verdict}"
    return [
        *lines,
        *style.wrap(now, "    ", "  "),
        *(line for text in (*slowed, by) for line in style.wrap(text, "    ", "  ")),
    ]


_JUDGES = {
    "model": "model",
    "compiler": "compiler (the edited program was traced again)",
    "gpu": "GPU (the repaired copies ran, and their bits are right)",
    "simulator": "simulator (no GPU: the compiler's instructions for the repaired copies, interpreted)",
}


def _confirmed(repair: Repair) -> str:
    """Which of the three judges saw it, and which could not."""
    told = ", ".join(_JUDGES[name] for name in repair.confirmed_by)
    return told + (f"; not run: {repair.unrun}" if repair.unrun else "")


def _not_fixed(what: str, style: Style) -> list[str]:
    lines = style.wrap(f"not fixed: {what}", "  ", "")
    return [style("not fixed", "bold", "red") + lines[0][len("not fixed") :], *lines[1:]]


def _sketch(sketch: Sketch, style: Style) -> list[str]:
    lines = _not_fixed(f"{_place(sketch.where)}: {sketch.reason}", style)
    if sketch.fix is not None:
        lines += style.wrap(
            f"sketch, of the copy alone: {sketch.fix.strategy}: {sketch.fix.title}", "    ", "  "
        )
    return lines


def _place(frame: Frame) -> str:
    return f"{_short(frame.file)}:{frame.line}"


def _short(path: str) -> str:
    return Path(os.path.relpath(path)).as_posix()


def _coloured(line: str, style: Style) -> str:
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return style(line, colour) if colour else line
