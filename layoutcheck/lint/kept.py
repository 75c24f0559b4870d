"""What an earlier run of a case or program rests on: where it is kept, and whether that is as it was."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from layoutcheck.dsl.reads import VARIABLE
from layoutcheck.lint.cache import Cache, digest, tool_version
from layoutcheck.lint.cases import RegisteredCase
from layoutcheck.regular import digest_regular
from layoutcheck.settings import Settings
from layoutcheck.stored import reader
from layoutcheck.versions import installed

_SKIP = (".", "__pycache__", "venv", "node_modules")
_CONFIGURATION = (  # what pytest reads
    "pyproject.toml", "pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "setup.cfg", "tox.ini",
)  # fmt: skip
_PACKAGE = (".dist-info", ".egg-info", ".egg-link", ".pth")  # how pip marks one
_LARGE_BYTES = 16 << 20  # of a file whose digest is kept, under its size and time


def keys_of(cases: Sequence[RegisteredCase], settings: Settings) -> Iterator[str]:
    """What the runs are kept under; a function's also by all source of the project."""
    tiers = ("lowered" if settings.lowered else "types") + (
        f" order {settings.order_seconds}" if settings.order else ""
    )
    project = "" if all(case.command for case in cases) else _project(settings.root)
    python = f"{sys.version} {sys.prefix} {os.environ.get('PYTHONPATH', '')} {_installed()}"
    dsl = installed()
    for case in cases:
        what = " ".join(case.command) or f"{project} {case.function}"
        arch = f"{case.arch} or another" if case.free else case.arch
        yield digest(tool_version(), dsl, python, case.path, what, arch, tiers)


def _installed() -> str:
    """The names of the packages that are there: a program may take another way once one is installed."""
    found: set[str] = set()
    for folder in sys.path:
        if folder.endswith(("site-packages", "dist-packages")):
            with contextlib.suppress(OSError):
                found.update(name for name in os.listdir(folder) if name.endswith(_PACKAGE))  # noqa: PTH208
    return " ".join(sorted(found))


def configuration(case: RegisteredCase, settings: Settings) -> list[str]:
    """Files that are not imported and decide what a program does; they may be missing."""
    path, root = Path(case.path).resolve(), settings.root.resolve()
    if not case.command:
        return [str(path)]
    folders = [path.parent, *path.parent.parents]
    folders = folders[: folders.index(root) + 1] if root in folders else [root]
    names = [folder / name for folder in folders for name in (*_CONFIGURATION, "conftest.py")]
    return [*map(str, names), str(path)]


def imports_of(files: Sequence[str], cache: Cache) -> dict[str, str]:
    """What a stored trace holds of the modules that it imported: where their names are, and their state."""
    names = digest("imported", *files)
    cache.put(names, list(files))
    return {"imported": names, "state": _state(files, cache)}


def unchanged(stored: Any, cache: Cache) -> bool:
    """Whether every module that a stored trace imported is as it was: a dependency may be upgraded."""
    names = stored.get("imported", "") if isinstance(stored, dict) else ""
    files = cache.get(names, reader(tuple[str, ...]))
    return files is not None and _state(files, cache) == stored.get("state")


def _state(files: Sequence[str], cache: Cache) -> str:
    return digest(*(_content(file, cache) for file in files))


_contents: dict[str, str] = {}  # of files read in this process


def _content(file: str, cache: Cache) -> str:
    """A digest of a file's content, since a fresh checkout has other times, or of a variable's value."""
    if file.startswith(VARIABLE):
        value = os.environ.get(file.removeprefix(VARIABLE))
        return "unset" if value is None else digest("variable", value)
    try:
        found = os.stat(file)  # noqa: PTH116 (there are thousands)
        if stat.S_ISDIR(found.st_mode):
            return "folder"
        key = digest(f"{file} {found.st_size} {found.st_mtime_ns}")
        if key not in _contents:
            kept = (
                cache.get(key, lambda stored: bytes.fromhex(stored).hex())
                if found.st_size > _LARGE_BYTES
                else None
            )
            _contents[key] = kept or digest_regular(file)
    except OSError:
        return "gone"
    if found.st_size > _LARGE_BYTES and cache.get(key) != _contents[key]:
        cache.put(key, _contents[key])
    return _contents[key]


def _project(root: Path) -> str:
    """A digest of all Python source below the root: what a case builds may depend on any of it."""
    parts: list[str | bytes] = []
    for at, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(_SKIP))
        for name in sorted(names):
            if name.endswith(".py"):
                path = Path(at, name)
                try:
                    parts += [str(path.relative_to(root)), digest_regular(path)]
                except OSError:
                    continue
    return digest(*parts)
