"""The tiles that a text gives in words, "sK and sV are each 64x256 bf16": extents, type, how many, and their bytes."""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutcheck.algebra import Layout
from layoutcheck.catalogue.figures import TYPES

_EXTENTS, _TYPED = r"[0-9]{1,4} ?[x×,] ?[0-9]{1,4}\)?", rf"(?:of |in )?({'|'.join(TYPES)})\b"
_TILE = re.compile(
    rf"(?i)(?<![\w.x×])(?P<rows>[0-9]{{1,4}}) ?[x×,] ?(?P<columns>[0-9]{{1,4}})\)?(?: ?{_TYPED}|(?=(?:,? and | ?\+ ?)\(?{_EXTENTS} ?{_TYPED}))"
)  # of several the last alone may have the type
_EACH = re.compile(r"(?P<names>\w+(?:, \w+)*,? and \w+) (?:are|have|take)(?: each)? \(?$")
_COLUMNS = re.compile(r"(?i)\b(?:col(?:umn)?|MN?)[- ]?major\b")
_NEAR = 60  # characters before a tile that say of how many it is


class Tile(NamedTuple):
    """`said` as the text has it; `count` of the names that share it."""

    said: str
    rows: int
    columns: int
    bits: int
    count: int

    @property
    def bytes(self) -> int:
        """Of all that share it."""
        return self.count * self.rows * self.columns * self.bits // 8

    @property
    def layout(self) -> Layout:
        """Its elements in order, row by row."""
        return Layout((self.rows, self.columns), (self.columns, 1))


def find(folded: str) -> list[Tile]:
    """The tiles of a text, each with its type, in their order."""
    found = []
    for one in _TILE.finditer(folded):
        named = _EACH.search(folded, max(0, one.start() - _NEAR), one.start())
        names = re.split(r",? and |, ", named["names"]) if named else []
        count = max(1, sum(1 for name in names if name.lower() not in TYPES))
        rows, columns, bits = int(one["rows"]), int(one["columns"]), TYPES[(one[3] or one[4]).lower()]
        found.append(Tile(one[0].strip(), rows, columns, bits, count))
    return found


def by_rows(folded: str) -> list[Tile]:
    """The tiles that lie row by row, in a text that says nothing else."""
    return [] if _COLUMNS.search(folded) else find(folded)


def summed(tiles: list[Tile]) -> str:
    """The bytes of each tile, and of all."""
    terms = " + ".join(f"{one.bytes:,} ({f'{one.count} x ' * (one.count > 1)}{one.said})" for one in tiles)
    return f"{terms} = {sum(one.bytes for one in tiles):,} B" if len(tiles) > 1 else f"{terms} B"
