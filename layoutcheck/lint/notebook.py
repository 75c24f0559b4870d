"""Jupyter notebooks: their code cells as one Python text, and a place in it as a cell and a line.

https://nbformat.readthedocs.io/en/latest/format_description.html; IPython's magics are blanked out.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

from layoutcheck.lint.text import Unreadable, decode

_LINE_MAGIC = re.compile(r"^(\s*)([%!?]|[\w.]+\?{1,2}\s*$)")
_VALUE_MAGIC = re.compile(r"^(\s*[\w, .]+=\s*)[%!].*$")
_PYTHON_CELLS = ("time", "timeit", "capture", "prun")  # magics whose cell is Python


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell: its number, from 1 and among all cells, its text, and its first line in the whole text."""

    number: int
    text: str
    start: int = 1


@dataclass(frozen=True, slots=True)
class Notebook:
    """`text` is what the cells come to, without magics; cells that do not parse are `broken` and blank."""

    cells: tuple[Cell, ...]
    text: str
    broken: tuple[tuple[Cell, int, str], ...]

    def place(self, line: int) -> tuple[Cell, int]:
        """The cell of a line of the whole text, and the line within it."""
        cell = [each for each in self.cells if each.start <= line][-1]
        return cell, line - cell.start + 1


def read(raw: bytes) -> Notebook:
    """The notebook. Raises Unreadable for what is none."""
    cells: list[Cell] = []
    broken: list[tuple[Cell, int, str]] = []
    lines: list[str] = []
    for cell in _cells(raw):
        placed = replace(cell, start=len(lines) + 1)
        text = without_magics(cell.text)
        fault = _fault(text)
        if fault is not None:
            broken.append((placed, *fault))
            text = re.sub(r"[^\n]+", "", text)
        cells.append(placed)
        lines += text.split("\n")
    return Notebook(tuple(cells) or (Cell(1, ""),), "\n".join(lines), tuple(broken))


def cell_text(raw: bytes, number: int) -> str:
    """The text of a cell, magics and all; "" where there is none of that number."""
    try:
        return next((cell.text for cell in _cells(raw) if cell.number == number), "")
    except Unreadable:
        return ""


def _cells(raw: bytes) -> Iterator[Cell]:
    try:
        made = json.loads(decode(raw))
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise Unreadable(f"not a notebook: {error}", line, getattr(error, "colno", 1)) from None
    cells = made.get("cells") if isinstance(made, dict) else None
    if not isinstance(cells, list):
        raise Unreadable("not a notebook of format 4: it has no list 'cells'")
    for number, cell in enumerate(cells, 1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            text = "".join(map(str, source)) if isinstance(source, list) else str(source)
            yield Cell(number, text.replace("\r\n", "\n").replace("\r", "\n"))


def without_magics(text: str) -> str:
    """The text with IPython's own lines as `pass`; all of it blank where the cell is another language's."""
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and first[2:].split(" ")[0] not in _PYTHON_CELLS:
        return re.sub(r"[^\n]+", "", text)
    lines = [_VALUE_MAGIC.sub(r"\1None", line) for line in lines]
    return "\n".join(f"{found[1]}pass" if (found := _LINE_MAGIC.match(line)) else line for line in lines)


def _fault(text: str) -> tuple[int, str] | None:
    """The line of a cell that Python cannot parse, and why."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        return error.lineno or 1, error.msg
    except (ValueError, RecursionError, MemoryError) as error:
        return 1, str(error) or "nested too deep"
    return None
