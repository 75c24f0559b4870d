"""The files of a project that its other files import: helpers that make layouts and copies, and constants.

Read and never run. A module is looked for where Python would find it: beside the file that imports it, beside
the script, and in the folders above them up to the project's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from layoutcheck.errors import InputError
from layoutcheck.patching.repaired import read

MOST_MODULES = 40
MOST_CHARACTERS = 2_000_000  # of all of them: what is read is parsed


def imported(paths: Iterable[str], main: Path, project: Path) -> dict[str, str]:
    """The texts of the project's files that the files at `paths` import, and those import; nearest first."""
    queue = [(Path(path), _parsed(Path(path))[1]) for path in paths]
    seen, found = {file for file, _ in queue}, dict[str, str]()
    size = 0
    for file, tree in queue:
        for module in _modules(file, tree, main, project):
            if module in seen or len(found) >= MOST_MODULES or size > MOST_CHARACTERS:
                continue
            seen.add(module)
            text, inner = _parsed(module)
            if inner is not None:
                found[str(module)] = text
                size += len(text)
                queue.append((module, inner))
    return found


def _parsed(file: Path) -> tuple[str, ast.Module | None]:
    """A file's text and its tree; no tree of what is no Python."""
    try:
        text = read(str(file))
        return text, ast.parse(text)
    except (InputError, SyntaxError, ValueError):
        return "", None


def _modules(file: Path, tree: ast.Module | None, main: Path, project: Path) -> Iterator[Path]:
    for node in ast.walk(tree) if tree is not None else ():
        wanted: list[tuple[str, int]] = []
        if isinstance(node, ast.Import):
            wanted = [(name.name, 0) for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            inside = [f"{node.module}.{name.name}" if node.module else name.name for name in node.names]
            wanted = [(name, node.level) for name in ([node.module] if node.module else []) + inside]
        for name, level in wanted:
            yield from _found(name, level, file, main, project)


def _found(name: str, level: int, file: Path, main: Path, project: Path) -> Iterator[Path]:
    """The file of a module; `level` is the number of dots before its name."""
    if level:
        folders = [file.parents[level - 1]] if level <= len(file.parents) else []
    else:
        above = (folder for folder in (*main.parents, *file.parents) if folder.is_relative_to(project))
        folders = [file.parent, main.parent, *dict.fromkeys(above)]
    for folder in folders:
        base = folder.joinpath(*name.split("."))
        for path in (base.with_name(f"{base.name}.py"), base / "__init__.py"):
            if path.is_relative_to(project) and path.is_file():
                real = path.resolve()
                if real.is_relative_to(project):
                    yield real
                return
