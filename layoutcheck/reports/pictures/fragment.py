"""A fragment of an MMA: the operand's tile by coordinate, each element with its thread and register.

Where something was said of the registers, an element is marked whose register holds another one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from layoutcheck.errors import InputError
from layoutcheck.operands import NAMES, OperandAnswer, TiledMma
from layoutcheck.reports.blocks import Block, Cell
from layoutcheck.reports.pictures import svg
from layoutcheck.reports.pictures.svg import Picture

_MOST_ROWS, _MOST_COLUMNS = 32, 16
_WIDE, _HIGH, _GUTTER, _TOP = 52.0, 24.0, 34.0, 34.0


@dataclass(frozen=True, slots=True)
class _Tile:
    """Who has each element of a tile: thread and register, how many threads more, what is there instead."""

    letter: str
    shape: tuple[int, int]
    owner: dict[tuple[int, int], tuple[int, int]]
    more: dict[tuple[int, int], int]
    wrong: dict[tuple[int, int], tuple[int, int]]

    def window(self) -> tuple[range, range]:
        """The rows and columns that are shown, about the first wrong element."""
        row, column = min(self.wrong) if self.wrong else (0, 0)
        found = []
        for at, size, most in ((row, self.shape[0], _MOST_ROWS), (column, self.shape[1], _MOST_COLUMNS)):
            first = min(at // most * most, max(0, size - most))
            found.append(range(first, min(size, first + most)))
        return found[0], found[1]

    def said(self, at: tuple[int, int]) -> str:
        """`T5 a2`; "" where no register has it."""
        if at not in self.owner:
            return ""
        thread, register = self.owner[at]
        return f"T{thread} {self.letter.lower()}{register}"


def fragment_picture(mma: TiledMma, letter: str, answer: OperandAnswer | None = None) -> Picture:
    """The tile of operand A, B or C. InputError where it is not in registers."""
    tile = _tile(mma, letter, answer)
    rows, columns = tile.window()
    body: list[str] = []
    for i, column in enumerate(columns):
        body.append(svg.text(_GUTTER + (i + 0.5) * _WIDE, _TOP - 6, column, "lc-t lc-m lc-u"))
    for j, row in enumerate(rows):
        y = _TOP + j * _HIGH
        body.append(svg.text(_GUTTER - 6, y + _HIGH / 2 + 3, row, "lc-s lc-e lc-u"))
        body += [_cell(tile, (row, column), _GUTTER + i * _WIDE, y) for i, column in enumerate(columns)]
    whole = (len(rows), len(columns)) == tile.shape
    part = "" if whole else f" Shown: rows {rows[0]} to {rows[-1]}, columns {columns[0]} to {columns[-1]}."
    names = NAMES[letter]
    marked = (
        f" Outlined: {len(tile.wrong):,} of {tile.shape[0] * tile.shape[1]:,} elements whose register "
        f"holds the element named below it." if tile.wrong else ""
    )  # fmt: skip
    return Picture(
        f"fragment-{letter}",
        f"Fragment {letter} of {mma.atom.name}",
        f"{mma.threads} threads, a tile of {tile.shape[0]} x {tile.shape[1]}: {names[0]} down, {names[1]} "
        "across. Each colour is a thread; a cell shows thread and register, +n: n more threads have it."
        f"{marked}{part}",
        _TOP + len(rows) * _HIGH + 8,
        "".join(body),
        {"operand": letter, "wrong": len(tile.wrong)},
    )


def fragment_block(mma: TiledMma, letter: str, answer: OperandAnswer | None = None) -> Block:
    """The same for a terminal; "!" stands before a register that holds another element."""
    tile = _tile(mma, letter, answer)
    rows, columns = tile.window()
    cells = tuple(
        tuple(
            Cell(
                ("!" if (r, c) in tile.wrong else "") + tile.said((r, c)), tile.owner.get((r, c), (None,))[0]
            )
            for c in columns
        )
        for r in rows
    )
    wrong = f", {len(tile.wrong):,} wrong (!)" if tile.wrong else ""
    heading = (
        f"{letter} of {mma.atom.name}: {NAMES[letter][0]} {rows[0]}..{rows[-1]} of {tile.shape[0]} down, "
        f"{NAMES[letter][1]} {columns[0]}..{columns[-1]} of {tile.shape[1]} across{wrong}"
    )
    return Block(heading, tuple(map(str, rows)), cells, len(rows), columns[0])


def _tile(mma: TiledMma, letter: str, answer: OperandAnswer | None) -> _Tile:
    if mma.atom.where(letter) != "registers":
        raise InputError(
            f"{letter} of {mma.atom.name} is not in registers", expected="an operand that threads hold"
        )
    found = answer.elements if answer is not None else None
    taken = mma.taken(letter) if found is None else found.taken
    owner: dict[tuple[int, int], tuple[int, int]] = {}
    more: dict[tuple[int, int], int] = {}
    for thread, register in np.ndindex(*taken.shape[:2]):
        at = (int(taken[thread, register, 0]), int(taken[thread, register, 1]))
        if at in owner:
            more[at] = more.get(at, 0) + 1
        else:
            owner[at] = (thread, register)
    wrong: dict[tuple[int, int], tuple[int, int]] = {}
    if found is not None and answer is not None and answer.verdict == "wrong":
        for thread, register in np.argwhere((found.elements != taken).any(2)):
            at = (int(taken[thread, register, 0]), int(taken[thread, register, 1]))
            there = found.elements[thread, register]
            wrong.setdefault(at, (int(there[0]), int(there[1])))
    shape = (int(taken[:, :, 0].max()) + 1, int(taken[:, :, 1].max()) + 1)
    return _Tile(letter, shape, owner, more, wrong)


def _cell(tile: _Tile, at: tuple[int, int], x: float, y: float) -> str:
    thread, register = tile.owner.get(at, (0, 0))
    wrong = tile.wrong.get(at)
    known = at in tile.owner
    out = [
        svg.rect(
            x, y, _WIDE - 1, _HIGH - 1, f"lc-fill {svg.shade(thread)}" if known else "lc-cell",
            data_crd=f"{at[0]} {at[1]}", data_thread=thread if known else None,
            data_register=register if known else None,
            data_held=None if wrong is None else f"{wrong[0]} {wrong[1]}",
        )
    ]  # fmt: skip
    more = f" +{tile.more[at]}" if at in tile.more else ""
    out.append(svg.text(x + _WIDE / 2, y + 10, tile.said(at) + more, "lc-t lc-m"))
    if wrong is not None:
        held = f"{tile.letter}[{wrong[0]},{wrong[1]}]" if wrong[0] >= 0 else "nothing"
        out.append(svg.text(x + _WIDE / 2, y + 20, held, "lc-t lc-m lc-b"))
        out.append(svg.rect(x, y, _WIDE - 2, _HIGH - 2, "lc-moved"))
    return "".join(out)
