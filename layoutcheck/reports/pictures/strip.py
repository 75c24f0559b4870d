"""The byte strip: the bytes one instruction touches on each side, against the values the layouts ask for."""

from __future__ import annotations

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.reports.drawing import windows
from layoutcheck.reports.pictures import svg
from layoutcheck.reports.pictures.scene import SIDES, Scene, Vector, local
from layoutcheck.reports.pictures.svg import WIDTH, Picture
from layoutcheck.reports.pictures.tv import NAMES

_LEFT, _ROW, _BYTE = 230.0, 21.0, 34.0
_MOST_ROWS = 8


def strip_picture(scene: Scene, vector: Vector) -> Picture:
    """For each side: windows of memory, the values where the layouts have them and where they are moved."""
    body: list[str] = []
    y = 6.0
    units = max(int((vector.moved[side] >= 0).sum()) for side in SIDES)
    span = max(1, min(units, 32))
    wide = min(_BYTE, (WIDTH - _LEFT - 10) / span)
    happened = "moved" if scene.reached else "would be moved"
    for side in SIDES:
        space = scene.copy.side(side).space
        where = space if space != "rmem" else f"registers of T{vector.thread}"
        body += [svg.text(0, y + 14, NAMES[side], "lc-p"), svg.text(0, y + 28, where, "lc-u lc-s")]
        asked, moved = vector.asked[side], vector.moved[side]
        differs = "" if np.array_equal(asked, moved) else " lc-b"
        for kind, values, label, bold in (
            ("asked", asked, "layouts ask", ""), ("moved", moved, happened, differs),
        ):  # fmt: skip
            rows, more = value_windows(scene, side, values, span)
            body.append(svg.text(84, y + 14, label, "lc-s" + (bold if rows else "")))
            for start, cells in rows:
                body.append(svg.text(_LEFT - 8, y + 14, f"{start:+}", "lc-s lc-e lc-u"))
                body.append(_row(side, kind, start, cells, span, wide, y))
                y += _ROW
            if more:
                body.append(svg.text(_LEFT, y + 12, more, "lc-s lc-u"))
                y += _ROW - 4
        y += 12
    count = vector.moved["src"].shape[0]
    size = vector.moved["src"].shape[1] * scene.unit_bits
    return Picture(
        "strip",
        f"One instruction, byte by byte: thread {vector.thread}, instruction {vector.instruction}",
        f"{count} value{'s' * (count != 1)} of {size} bits, numbered and coloured. Each row is {span} "
        f"{scene.units} of memory. If the two rows of a side differ, "
        f"the machine does not do what the layouts say.{_faults(scene)}",
        y,
        "".join(body),
        {"thread": vector.thread, "instruction": vector.instruction, "unit-bits": scene.unit_bits},
    )


def _faults(scene: Scene) -> str:
    """A sentence for each side whose address makes the access fault."""
    first = scene.comparison.first if scene.reached else {}
    told = ((side, first.get(f"misaligned_{side}")) for side in SIDES)
    return "".join(
        f" The {NAMES[side]}'s address {one.used * 8 // scene.unit_bits - scene.origin(side):+} is not a "
        f"multiple of {one.asked}: the access faults."
        for side, one in told
        if one and one.used is not None
    )


def value_windows(
    scene: Scene, side: str, values: IntArray, span: int
) -> tuple[list[tuple[int, dict[int, int]]], str]:
    """Windows of `span` units that hold the values: (offset, {unit in it: value}); the rest in words."""
    where: dict[int, int] = {}
    for value, units in enumerate(values):
        known = units[units >= 0]
        for offset in local(scene, side, known)[1].tolist():
            where[offset] = value
    starts = windows(where, span)
    shown = starts if len(starts) <= _MOST_ROWS else starts[: _MOST_ROWS - 1]
    rows = [(s, {k: where[s + k] for k in range(span) if s + k in where}) for s in shown]
    left = len(starts) - len(shown)
    nowhere = int((values[:, 0] < 0).sum())
    words = [f"{left} more rows"] if left else []
    words += [f"{nowhere} value{'s' * (nowhere != 1)} nowhere"] if nowhere and starts else []
    words += ["nothing: it has no view of the tile"] if not starts else []
    return rows, ", ".join(words)


def _row(side: str, kind: str, start: int, cells: dict[int, int], span: int, wide: float, y: float) -> str:
    out = [svg.rect(_LEFT, y, span * wide, _ROW - 3, "lc-cell")]
    for unit, value in cells.items():
        each = wide - (cells.get(unit + 1) != value)  # the number stands in the middle of the value
        data = {"data_side": side, "data_kind": kind, "data_offset": start + unit, "data_value": value}
        out.append(svg.rect(_LEFT + unit * wide, y, each, _ROW - 3, f"lc-fill {svg.shade(value)}", **data))
    # One number for each run of a value's units.
    for unit, value in cells.items():
        if cells.get(unit - 1) != value:
            n = 1
            while cells.get(unit + n) == value:
                n += 1
            out.append(svg.text(_LEFT + (unit + n / 2) * wide, y + 13, value, "lc-s lc-m"))
    return "".join(out)
