"""TMA boxes and swizzle atoms: where every 16-byte piece of a tile lies in global and in shared memory.

A piece keeps its colour and its name, `row.column` of the box, on both sides, so the swizzle shows as what it
does to the columns. Rows of shared memory are 128 bytes: all banks once. Dashed lines part the boxes (one
instruction each), full lines the swizzle's atoms, after which its pattern repeats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.copies.offsets import IntArray
from layoutcheck.reports.pictures import svg
from layoutcheck.reports.pictures.memory import pitch_units
from layoutcheck.reports.pictures.panel import framed, label_rows
from layoutcheck.reports.pictures.runs import encode
from layoutcheck.reports.pictures.scene import SIDES, Scene
from layoutcheck.reports.pictures.svg import WIDTH, Picture
from layoutcheck.reports.pictures.tv import NAMES

PIECE, LINE = 16, 128
_GUTTER, _HEAD = 56.0, 40.0
_WIDE, _HIGHEST = 18.0, 330.0
_ROWS, _COLUMNS = 16, 8  # drawn in detail
_CELL_WIDE, _CELL_HIGH = 46.0, 17.0
_MOST = 32_768  # pieces


@dataclass(frozen=True, slots=True)
class Pieces:
    """16-byte pieces in the order the boxes name them; `at[side][piece]` is an address, -1 for a filled zero.

    `row` and `column` are those within the box, `wrong` pieces that the layouts want elsewhere.
    """

    at: dict[str, IntArray]
    box: IntArray
    row: IntArray
    column: IntArray
    wrong: npt.NDArray[np.bool_]


def pieces_of(scene: Scene) -> Pieces | None:
    """The pieces of a TMA copy of whole tensors; None for other copies and for rows of no whole pieces."""
    if not isinstance(scene.copy.atom, TmaCopy) or scene.copy.tma is None or scene.unit_bits != 8:
        return None
    at = {}
    for side in SIDES:
        flat = scene.moves(side)[:, 0, :].reshape(-1)
        if flat.size % PIECE or flat.size > PIECE * _MOST:
            return None
        whole = flat.reshape(-1, PIECE)
        zero = (whole < 0).all(axis=1)
        if not (np.diff(whole[~zero], axis=1) == 1).all() or (whole[~zero] < 0).any():
            return None
        at[side] = np.where(zero, -1, whole[:, 0])
    shared = _shared(scene)
    access = (scene.execution.src_accesses if shared == "src" else scene.execution.dst_accesses)[0]
    starts = access.addresses[:, 0]
    each = access.width_bytes // PIECE
    count = len(at[shared])
    index = np.arange(count)
    if count == each * len(starts):
        box = index // max(1, each)
    else:  # a store leaves out what is outside the tensor
        order = np.argsort(starts, kind="stable")
        box = order[np.maximum(np.searchsorted(starts[order], at[shared], side="right") - 1, 0)]
    other = at["dst" if shared == "src" else "src"]
    row, column = _places(scene, shared, other, box)
    return Pieces(at, box.astype(np.int64), row, column, _wrong(scene, at))


def _shared(scene: Scene) -> str:
    return "src" if scene.copy.src.space == "smem" else "dst"


def _places(scene: Scene, shared: str, global_at: IntArray, box: IntArray) -> tuple[IntArray, IntArray]:
    """Row and column of each piece within its box: rows begin where global memory jumps or a box begins."""
    index = np.arange(len(box))
    begins = np.append(True, (np.diff(global_at) != PIECE) | (np.diff(box) != 0))
    begins[1:] &= ~((global_at[1:] < 0) & (global_at[:-1] < 0) & (np.diff(box) == 0))
    inner = _row_pieces(scene, shared)
    if inner:  # the box's own extent says more than the jumps: rows may follow each other in memory
        first = np.append(0, np.flatnonzero(np.diff(box)) + 1)
        within = index - np.repeat(first, np.diff(np.append(first, len(box))))
        return within // inner, within % inner
    start = np.maximum.accumulate(np.where(begins, index, 0))
    return np.cumsum(begins) - 1, index - start


def _row_pieces(scene: Scene, shared: str) -> int:
    """Pieces of one row of a box by the tensor map, where every element of the box is moved."""
    from layoutcheck.atoms.tma.plan import plan

    made = plan(scene.copy, scene.copy, scene.run.src_base if shared == "dst" else scene.run.dst_base)
    whole = made.boxes * made.implied.box_elements == scene.moves(shared).shape[0]
    return made.implied.inner_bytes // PIECE if whole and made.implied.inner_bytes % PIECE == 0 else 0


def _wrong(scene: Scene, at: dict[str, IntArray]) -> npt.NDArray[np.bool_]:
    """Pieces whose first byte the layouts want elsewhere, or not at all."""
    to, of = (scene.asks(side).reshape(-1) for side in ("dst", "src"))
    of = np.where(of < 0, -1, of)
    order = np.argsort(to, kind="stable")
    place = np.minimum(np.searchsorted(to[order], at["dst"]), len(to) - 1)
    named = to[order][place] == at["dst"]
    out: npt.NDArray[np.bool_] = ~named | (of[order][place] != at["src"])
    return out


def tma_picture(scene: Scene) -> Picture | None:
    """Boxes and swizzle atoms; None where `pieces_of` has none."""
    found = pieces_of(scene)
    if found is None:
        return None
    shared = _shared(scene)
    swizzle = scene.memref(shared).swizzle
    body: list[str] = []
    deepest = 0.0
    x = _GUTTER
    details = []
    for side in SIDES:
        grid = _Grid(scene, found, side, side == shared)
        scale = min(_WIDE, (WIDTH / 2 - _GUTTER - 12) / grid.columns)
        high = max(1.2, min(12.0, _HIGHEST / grid.rows))
        space = scene.memref(side)
        shown = f"{space.space} {space.dtype}{f' {space.swizzle}' if space.swizzle else ''} {space.layout}"
        body.append(svg.text(x, 11, NAMES[side], "lc-p"))
        body.append(svg.text(x, 25, shown if len(shown) < 66 else shown[:63] + "...", "lc-s lc-u"))
        body.append(grid.whole(x, _HEAD, scale, high))
        deepest = max(deepest, grid.rows * high)
        details.append((grid, x))
        x += WIDTH / 2
    y = _HEAD + deepest + 40
    body += [grid.detail(left, y) for grid, left in details]
    lowest = max(min(grid.rows, _ROWS) for grid, _ in details) * _CELL_HIGH
    boxes = int(found.box.max()) + 1
    zeros, wrong = int((found.at["src"] < 0).sum()), int(found.wrong.sum())
    words = f" {zeros} pieces outside the tensor arrive as zeros." if zeros else ""
    words += f" {wrong} pieces are not where the layouts want them." if wrong else ""
    atoms = ""
    if swizzle is not None and swizzle.bits:
        atoms = f"; full lines are its atoms of {swizzle.period} bytes"
    return Picture(
        "tma",
        f"TMA: {boxes} box{'es' * (boxes != 1)} of {np.count_nonzero(found.box == 0) * PIECE} bytes",
        f"Each cell is a piece of 16 bytes, with one colour and name (row.column of its box) on both sides. "
        f"A row of shared memory is 128 bytes. Dashed lines are boxes, one instruction each{atoms}.{words}",
        y + lowest + 10,
        "".join(body),
        {"boxes": boxes, "pieces": len(found.box)},
    )


class _Grid:
    """The pieces of one side in rows of memory."""

    def __init__(self, scene: Scene, pieces: Pieces, side: str, shared: bool) -> None:
        self.pieces, self.side, self.shared = pieces, side, shared
        self.origin = scene.origin(side)
        self.pitch = LINE if shared else max(PIECE, pitch_units(scene.memref(side), 8))
        self.known = np.flatnonzero(pieces.at[side] >= 0)
        at = pieces.at[side][self.known] - self.origin
        self.starts, self.row = np.unique(at // self.pitch, return_inverse=True)
        self.first = 0 if shared else int((at % self.pitch).min())
        self.column = (at % self.pitch - self.first) // PIECE
        self.columns = LINE // PIECE if shared else int(self.column.max()) + 1
        swizzle = scene.memref(side).swizzle
        self.atom_rows = swizzle.period // LINE if shared and swizzle is not None and swizzle.bits else 0

    @property
    def rows(self) -> int:
        """Rows that are drawn."""
        return len(self.starts)

    def whole(self, x: float, y: float, wide: float, high: float) -> str:
        """All pieces, small."""
        box, column = self.pieces.box[self.known], self.pieces.column[self.known] % svg.HUES
        column = np.where(self.pieces.at["src"][self.known] < 0, -1, column)  # zeros
        at = self.pieces.at[self.side][self.known] - self.origin
        paths = []
        for number, hue in sorted(set(zip(box.tolist(), column.tolist(), strict=True))):
            mine = np.flatnonzero((box == number) & (column == hue))
            d = "".join(
                f"M{c} {r}.5h.94"
                for r, c in zip(self.row[mine].tolist(), self.column[mine].tolist(), strict=True)
            )
            runs = [(int(self.known[i]), int(at[i]), PIECE) for i in mine]
            paths.append(
                svg.element(
                    "path",
                    d=d,
                    class_=f"lc-run {'lc-once' if hue < 0 else f'lc-c{hue}'}",
                    data_thread=number,
                    data_runs=encode(runs),
                )
            )
        inner = svg.element("g", *paths, transform=f"scale({svg.number(wide)} {svg.number(high)})")
        lines = self._lines(wide, high, self.rows, self.columns)
        starts = [int(start) * self.pitch for start in self.starts]
        return framed(
            [inner, lines, *self._labels(high, self.rows)], (self.columns * wide, self.rows * high), x, y,
            f"pieces in the {NAMES[self.side]}", starts, side=self.side, kind="box", private=0,
            origin=self.origin, unit_bits=8, pitch=self.pitch, cell=PIECE, first=self.first,
            columns=self.columns, scale=wide, high=high,
        )  # fmt: skip

    def _labels(self, high: float, rows: int) -> list[str]:
        return label_rows([f"{int(start) * self.pitch:+}" for start in self.starts[:rows]], high, 0, 0)

    def _lines(self, wide: float, high: float, most: int, columns: int) -> str:
        """The boxes' outlines, and the lines between the atoms, of the first `most` rows and `columns`."""
        out = []
        for number in np.unique(self.pieces.box):
            mine = self.pieces.box[self.known] == number
            if not mine.any():
                continue
            low, last = int(self.row[mine].min()), int(self.row[mine].max())
            left, right = int(self.column[mine].min()), min(int(self.column[mine].max()) + 1, columns)
            last = min(last + 1, most)
            if last > low and right > left:
                size = (right - left) * wide, (last - low) * high
                out.append(svg.rect(left * wide, low * high, *size, "lc-asked"))
        if self.atom_rows:
            lines = range(self.atom_rows, min(self.rows, most), self.atom_rows)
            d = "".join(f"M0 {svg.number(i * high)}h{svg.number(columns * wide)}" for i in lines)
            out.append(svg.element("path", d=d, class_="lc-window") if d else "")
        return "".join(out)

    def detail(self, x: float, y: float) -> str:
        """The first rows, every piece named."""
        rows, columns = min(self.rows, _ROWS), min(self.columns, _COLUMNS)
        at = self.pieces.at[self.side][self.known] - self.origin
        out = [svg.text(0, -20, f"the first {rows} rows of {columns * PIECE} bytes, enlarged", "lc-s lc-u")]
        out += [
            svg.text((c + 0.5) * _CELL_WIDE, -5, self.first + c * PIECE, "lc-t lc-m lc-u")
            for c in range(columns)
        ]
        out += self._labels(_CELL_HIGH, rows)
        for i in np.flatnonzero((self.row < rows) & (self.column < columns)):
            piece = int(self.known[i])
            left, top = int(self.column[i]) * _CELL_WIDE, int(self.row[i]) * _CELL_HIGH
            zero = self.pieces.at["src"][piece] < 0
            name = "zero" if zero else f"{int(self.pieces.row[piece])}.{int(self.pieces.column[piece])}"
            wrong = bool(self.pieces.wrong[piece])
            hue = int(self.pieces.column[piece]) % svg.HUES
            class_ = "lc-cell" if zero else f"lc-fill lc-c{hue}"
            data = {"data_box": int(self.pieces.box[piece]), "data_wrong": int(wrong)}
            box = (left, top, _CELL_WIDE - 1, _CELL_HIGH - 1)
            out.append(svg.rect(*box, class_, data_piece=piece, data_at=int(at[i]), **data))
            style = "lc-s lc-m" + (" lc-b" if wrong else "")
            out.append(svg.text(left + _CELL_WIDE / 2, top + 12, f"{name}{' !' if wrong else ''}", style))
        out.append(self._lines(_CELL_WIDE, _CELL_HIGH, rows, columns))
        return svg.element("g", *out, class_="lc-pieces", data_side=self.side, transform=svg.at(x, y))
