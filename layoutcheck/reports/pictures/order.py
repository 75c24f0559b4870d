"""A finding about order: warps as lanes, time downwards, the two accesses and the edge that is missing.

    order_picture(finding)      # SVG for a page that has the style sheet of all pictures
    drawn_order(finding).svg()  # alone

Between the accesses stand the waits, barriers and fences that their warps do execute: none of them orders the
two. What a warp started and another agent does (a copy, a wgmma) has a lane of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from layoutcheck.reports.pictures.svg import WIDTH, Picture, element, text, title
from layoutcheck.sources.traced import KernelFinding

_TOP, _ROW, _DOT = 34.0, 30.0, 5.0
_MOST_LANES = 6


@dataclass(frozen=True, slots=True)
class Moment:
    """A row: what a lane does at a line. `role` is "first", "second" or "between"."""

    lane: int
    role: str
    what: str
    place: str
    turns: tuple[int, ...]


def moments(finding: KernelFinding) -> tuple[list[str], list[Moment]]:
    """The names of the lanes, and the rows from top to bottom."""
    given: Sequence[dict[str, Any]] = finding.evidence.get("timeline") or [
        {"role": "first" if i == 0 and len(finding.places) > 1 else "second", "what": place.what,
         "file": place.where.file, "line": place.where.line, "block": place.block, "warp": place.thread // 32,
         "turns": list(place.turns), "asynchronous": False}
        for i, place in enumerate(finding.places[:2])
    ]  # fmt: skip
    blocks = len({row["block"] for row in given}) > 1
    lanes: dict[str, int] = {}
    rows: list[Moment] = []
    for row in given:
        name = f"warp {row['warp']}" + f", block {row['block']}" * blocks
        if row["asynchronous"]:
            issuer = lanes.setdefault(name, len(lanes))
            rows.append(Moment(issuer, "between", "starts it", _place(row), tuple(row["turns"])))
            name += ", asynchronous"
        if name not in lanes and len(lanes) == _MOST_LANES:
            continue
        lane = lanes.setdefault(name, len(lanes))
        rows.append(Moment(lane, row["role"], row["what"], _place(row), tuple(row["turns"])))
    return list(lanes), rows


def _place(row: dict[str, Any]) -> str:
    return f"{Path(row['file']).name}:{row['line']}" if row["file"] else "unknown line"


def _label(row: Moment) -> str:
    turns = f", turn {'.'.join(map(str, row.turns))}" if row.turns else ""
    return f"{row.place} {row.what}{turns}"


def drawn_order(finding: KernelFinding) -> Picture:
    """The picture of one finding."""
    lanes, rows = moments(finding)
    wide = WIDTH / max(1, len(lanes))
    high = _TOP + _ROW * (len(rows) + 1)
    left = [wide * lane + 24 for lane in range(len(lanes))]
    most = int((wide - 44) / 6.7)
    body: list[str] = []
    for x, name in zip(left, lanes, strict=True):
        body.append(text(x - 8, 14, name, "lc-p"))
        body.append(element("line", x1=x, y1=_TOP - 10, x2=x, y2=high - 12, class_="lc-lane"))
    at = [(left[row.lane], _TOP + _ROW * (i + 0.5)) for i, row in enumerate(rows)]
    ends = {row.role: place for row, place in zip(rows[::-1], at[::-1], strict=True) if row.role != "between"}
    missing = str(finding.evidence.get("missing", ""))
    if len(ends) > 1:  # below the labels, which it would strike through
        (x1, y1), (x2, y2) = ends["first"], ends["second"]
        why = title(missing or "nothing orders the two")
        body.append(element("line", why, x1=x1, y1=y1, x2=x2, y2=y2, class_="lc-gap"))
    for row, (x, y) in zip(rows, at, strict=True):
        told = row.role != "between"
        label = _label(row)
        shown = label if len(label) <= most else label[: most - 1] + "…"
        hot = " lc-hot" * told
        body.append(element("circle", title(label), cx=x, cy=y, r=_DOT if told else 3, class_=f"lc-dot{hot}"))
        body.append(text(x + 12, y + 4, shown, "lc-halo lc-p lc-b" if told else "lc-halo lc-u"))
    caption = "A column is a warp, or what it started; time runs downwards within each column. "
    caption += (
        "The dashed line is the order that is missing" if len(ends) == 2 else "Each waits and never continues"
    )
    return Picture(
        "order", f"{finding.code}: {finding.title}", f"{caption}{f': {missing}' if missing else ''}.", high,
        "".join(body), {"code": finding.code, "lanes": len(lanes)},
    )  # fmt: skip


def order_picture(finding: KernelFinding) -> str:
    """The picture as SVG for a page that has the style sheet of all pictures."""
    return drawn_order(finding).svg(alone=False)


def drawn_text(finding: KernelFinding, width: int) -> list[str]:
    """The picture as lines of text: a column for each lane, `x` the accesses that nothing orders."""
    lanes, rows = moments(finding)
    if len({row.place.partition(":")[0] for row in rows}) == 1:
        rows = [replace(row, place=f":{row.place.partition(':')[2]}") for row in rows]
    labels = [f"{'|' if row.role == 'between' else 'x'} {_label(row)}" for row in rows]
    wide = [max([len(name), *(len(said) for said, row in zip(labels, rows, strict=True) if row.lane == lane)])
            for lane, name in enumerate(lanes)]  # fmt: skip
    if sum(wide) + 2 * len(wide) > width - 2:  # words run over the lanes beside them
        wide = list(map(len, lanes))
    lines = [""]
    for n, name in enumerate(lanes):
        lines[0] = lines[0].ljust(4 + sum(wide[:n]) + 2 * n) + name
    for row, said in zip(rows, labels, strict=True):
        line = ""
        for n in range(len(lanes)):
            start = 4 + sum(wide[:n]) + 2 * n
            if len(line) < start:
                line = line.ljust(start) + (said if n == row.lane else "|")
        lines.append(line)
    return [line[:width] for line in lines]
