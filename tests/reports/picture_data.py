"""What the SVG of a picture says, read back out of its data-* attributes and its geometry."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

from layoutcheck.reports.pictures.runs import Run
from layoutcheck.reports.pictures.svg import Picture

Element = Any

TOKEN = re.compile(r"(-?[0-9]+):(-?[0-9]+)\+([0-9]+)(?:x([0-9]+)/(-?[0-9]+)/(-?[0-9]+))?\Z")


def decode(text: str) -> list[Run]:
    """The runs of `pictures.runs.encode`. Raises ValueError for anything else."""
    out: list[Run] = []
    for token in text.split():
        found = TOKEN.match(token)
        if found is None:
            raise ValueError(f"not a run: {token!r}")
        instruction, offset, units, count, dinstruction, doffset = (int(part or 0) for part in found.groups())
        out += [(instruction + k * dinstruction, offset + k * doffset, units) for k in range(count or 1)]
    return out


def parsed(picture: Picture) -> Element:
    """The picture as a tree; whatever is no XML does not get past here."""
    return ET.fromstring(picture.svg())


def of_class(root: Element, name: str) -> Iterator[Element]:
    for node in root.iter():
        if name in (node.get("class") or "").split():
            yield node


def runs(panel: Element) -> dict[int, list[tuple[int, int, int]]]:
    """Thread -> (instruction, offset, units) of a panel; each stroke is where its run says."""
    pitch, cell, first = (int(panel.get(f"data-{key}")) for key in ("pitch", "cell", "first"))
    private = panel.get("data-private") == "1"
    starts = [start for _, start, _ in decode(panel.get("data-starts"))]
    out: dict[int, list[tuple[int, int, int]]] = {}
    for path in panel.iter():
        if path.get("data-runs") is None:
            continue
        thread = int(path.get("data-thread"))
        mine = decode(path.get("data-runs"))
        strokes = re.findall(r"M(-?\d+) (-?\d+)\.5h([\d.]+)", path.get("d"))
        assert len(strokes) == len(mine)
        for (_, offset, units), (x, y, wide) in zip(mine, strokes, strict=True):
            row, column = starts[int(y)], int(x) * cell + first
            assert offset - offset % cell == (column if private else row + column), (offset, row, column)
            assert not private or row == thread
            assert round(float(wide) + 0.1) == -(-units // cell)
            assert private or offset // pitch == (offset + units - 1) // pitch
        out[thread] = mine
    return out


def cells(detail: Element) -> Iterator[tuple[int, int, bool, list[tuple[int, int, int]], int]]:
    """(owner, offset, asked for, [(thread, instruction, value)], how many more) of every enlarged cell."""
    for rect in detail.iter():
        if rect.get("data-offset") is None:
            continue
        by = [tuple(map(int, re.split("[:.]", word))) for word in (rect.get("data-by") or "").split()]
        place = (int(rect.get("data-owner")), int(rect.get("data-offset")))
        yield *place, rect.get("data-asked") == "1", by, int(rect.get("data-more") or 0)  # type: ignore[misc]
