"""Coverage: of the destination, what is never copied, copied twice, outside, or gets other contents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from layoutcheck.copies.moves import NOTHING
from layoutcheck.copies.offsets import IntArray
from layoutcheck.reports.pictures import svg
from layoutcheck.reports.pictures.memory import Map, cut, memory_map
from layoutcheck.reports.pictures.panel import BLOCK, SMALLEST, cells_of, label_rows
from layoutcheck.reports.pictures.runs import encode, pieces
from layoutcheck.reports.pictures.scene import Scene, local
from layoutcheck.reports.pictures.svg import WIDTH, Picture

# In the order in which they are drawn over each other, and the words of the legend.
KINDS = {
    "once": "as asked",
    "twice": "written more than once",
    "outside": "written, though not asked for",
    "other": "with other contents",
    "never": "asked for, never written",
}
_LEFT, _TOP, _BIGGEST, _HIGHEST = 60.0, 22.0, 14.0, 300.0
_MAX_RUNS = 20_000


@dataclass(frozen=True, slots=True)
class Covered:
    """The addresses of the destination, by what becomes of them: sorted, each in one kind only."""

    kinds: dict[str, IntArray]


def covered(scene: Scene) -> Covered:
    """What becomes of every address of the destination; the last writer decides its contents."""
    asked_at, asked_from = _last(scene.asks("dst"), scene.asks("src"))
    if not scene.intent.zeros:  # a TMA load is asked for zeros outside of its tensor
        asked_at, asked_from = asked_at[asked_from != NOTHING], asked_from[asked_from != NOTHING]
    written = scene.moves("dst").reshape(-1)
    got_at, got_from = _last(scene.moves("dst"), scene.moves("src"))
    _, times = np.unique(written[written >= 0], return_counts=True)
    where = np.minimum(np.searchsorted(got_at, asked_at), got_at.size - 1)
    there = got_at[where] == asked_at
    other: npt.NDArray[np.bool_] = there & (got_from[where] != asked_from)
    again = there & ~other & (times[where] > 1)
    return Covered(
        {
            "once": asked_at[there & ~other & ~again],
            "twice": asked_at[again],
            "outside": np.setdiff1d(got_at, asked_at, assume_unique=True),
            "other": asked_at[other],
            "never": asked_at[~there],
        }
    )


def _last(at: IntArray, of: IntArray) -> tuple[IntArray, IntArray]:
    """Each address once, ascending, with what the last one of that address has."""
    flat, source = at.reshape(-1)[::-1], of.reshape(-1)[::-1]
    inside = flat >= 0
    address, first = np.unique(flat[inside], return_index=True)
    return address, source[inside][first]


def coverage_picture(scene: Scene) -> Picture | None:
    """The destination by what becomes of it; None where all of it is as asked, written once."""
    found = covered(scene).kinds
    if not any(found[kind].size for kind in KINDS if kind != "once"):
        return None
    map_ = memory_map(scene, "dst")
    scale = min(_BIGGEST, (WIDTH - _LEFT - 10) / map_.columns, _HIGHEST / map_.rows)
    blocks = scale < SMALLEST or sum(len(pieces(at)) for at in found.values()) > _MAX_RUNS
    scale = max(scale, SMALLEST / 2) if map_.columns * SMALLEST / 2 < WIDTH - _LEFT else scale
    body = []
    for kind, addresses in found.items():
        if addresses.size:
            body.append(_kind(scene, map_, kind, addresses, scale, blocks))
    high = map_.rows * scale
    frame = svg.element("rect", width=map_.columns * scale, height=high, class_="lc-frame")
    data = {"data_origin": scene.origin("dst")}
    drawn = svg.element("g", frame, *body, transform=svg.at(_LEFT, _TOP), class_="lc-coverage", **data)
    labels = label_rows(map_.labels(), scale, _LEFT, _TOP)
    unit = scene.units
    counts = ", ".join(f"{at.size} {unit} {KINDS[kind]}" for kind, at in found.items() if at.size)
    return Picture(
        "coverage",
        "The destination after the copy" if scene.reached else "The destination if the copy ran",
        f"{counts[0].upper()}{counts[1:]}.",
        _TOP + high + 26,
        "".join([*labels, drawn, _legend(found, _TOP + high + 18)]),
        {kind: int(at.size) for kind, at in found.items()},
    )


def _kind(scene: Scene, map_: Map, kind: str, addresses: IntArray, scale: float, blocks: bool) -> str:
    runs = pieces(addresses)
    owner, offset = local(scene, "dst", runs[:, 0])
    offset, units, owner = _rows(map_, offset, runs[:, 1], owner)
    row, column, _ = cells_of(map_, offset, units, owner)
    if blocks:
        each = max(1, int(np.ceil(BLOCK / scale)))
        keys = np.unique(np.stack((row // each, column // each), axis=1), axis=0)
        d = "".join(f"M{c * each} {r * each + each / 2:g}h{each}" for r, c in keys.tolist())
        path = svg.element("path", d=d, class_=f"lc-run lc-{kind}", style=f"stroke-width:{each}",
                           data_kind=kind, data_units=int(addresses.size), data_each=each)  # fmt: skip
    else:
        first_row, first_column = map_.place(offset, owner)
        wide = np.maximum(1, -(-units // map_.cell))
        d = "".join(
            f"M{c} {r}.5h{w}"
            for r, c, w in zip(first_row.tolist(), first_column.tolist(), wide.tolist(), strict=True)
        )
        data = encode(list(zip(owner.tolist(), offset.tolist(), units.tolist(), strict=True)))
        path = svg.element("path", d=d, class_=f"lc-run lc-{kind}", data_kind=kind, data_runs=data)
    return svg.element("g", path, transform=f"scale({svg.number(scale)})")


def _rows(
    map_: Map, offset: IntArray, units: IntArray, owner: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """The runs, cut where the map's rows end."""
    if map_.private:
        return offset, units, owner
    runs = cut(np.stack((offset, units, owner), axis=1), 0, map_.pitch)
    return runs[:, 0], runs[:, 1], runs[:, 2]


def _legend(found: dict[str, IntArray], y: float) -> str:
    out, x = [], _LEFT
    for kind, words in KINDS.items():
        if found[kind].size:
            d = f"M{svg.number(x)} {svg.number(y - 4)}h14"
            out.append(svg.element("path", d=d, class_=f"lc-run lc-{kind}", style="stroke-width:10"))
            out.append(svg.text(x + 20, y, words, "lc-s"))
            x += 36 + 5.6 * len(words)
    return "".join(out)
