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
    for side in SIDES:
        body.append(svg.text(0, y + 14, NAMES[side], "lc-p"))
        space = scene.copy.side(side).space
        body.append(
            svg.text(0, y + 28, space if space != "rmem" else f"registers of T{vector.thread}", "lc-u lc-s")
        )
        right = np.array_equal(vector.asked[side], vector.moved[side])
        for kind, values in (("asked", vector.asked[side]), ("moved", vector.moved[side])):
            label = "layouts ask" if kind == "asked" else ("moved" if scene.reached else "would be moved")
            rows, more = value_windows(scene, side, values, span)
            for number, (start, cells) in enumerate(rows):
                if number == 0:
                    body.append(
                        svg.text(
                            84, y + 14, label, "lc-s" + (" lc-b" if kind == "moved" and not right else "")
                        )
                    )
                body.append(svg.text(_LEFT - 8, y + 14, f"{start:+}", "lc-s lc-e lc-u"))
                body.append(_row(side, kind, start, cells, span, wide, y))
                y += _ROW
            if not rows:
                body.append(svg.text(84, y + 14, label, "lc-s"))
            if more:
                body.append(svg.text(_LEFT, y + 12, more, "lc-s lc-u"))
                y += _ROW - 4
        y += 12
    faults = [
        f" The {NAMES[side]}'s address {offender.used * 8 // scene.unit_bits - scene.origin(side):+} is not "
        f"a multiple of {offender.asked}: the access faults."
        for side in SIDES
        if (offender := scene.comparison.first.get(f"misaligned_{side}"))
        and offender.used is not None
        and scene.reached
    ]
    count = vector.moved["src"].shape[0]
    size = vector.moved["src"].shape[1] * scene.unit_bits
    return Picture(
        "strip",
        f"One instruction, byte by byte: thread {vector.thread}, instruction {vector.instruction}",
        f"{count} value{'s' * (count != 1)} of {size} bits, numbered and coloured. Each row is {span} "
        f"{scene.units} of memory. If the two rows of a side differ, "
        f"the machine does not do what the layouts say.{''.join(faults)}",
        y,
        "".join(body),
        {"thread": vector.thread, "instruction": vector.instruction, "unit-bits": scene.unit_bits},
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
