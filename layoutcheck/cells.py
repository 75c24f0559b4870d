"""Names of the cells of a notebook: `FILE.ipynb:cell 3` stands where a file's path would."""

from __future__ import annotations

from layoutcheck.digits import is_number

SUFFIX = ".ipynb"
_MARK = ":cell "


def named(path: str, cell: int) -> str:
    """How a finding names a cell: `a.ipynb:cell 3`."""
    return f"{path}{_MARK}{cell}"


def file_of(path: str) -> tuple[str, int]:
    """The file of such a name and the cell, 0 of any other path."""
    file, mark, cell = path.rpartition(_MARK)
    return (file, int(cell)) if mark and file.endswith(SUFFIX) and is_number(cell) else (path, 0)


def moved(name: str, path: str) -> str:
    """The name of the same cell of the file `path`."""
    cell = file_of(name)[1]
    return named(path, cell) if cell else path
