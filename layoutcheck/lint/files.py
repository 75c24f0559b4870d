"""Which files are linted, and their analyses: cached, and in parallel where there is enough to do."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from layoutcheck import cells
from layoutcheck.dsl.imports import uncollected
from layoutcheck.errors import InputError
from layoutcheck.lint.analyse import Reading, analyse, from_cache
from layoutcheck.lint.cache import Cache, digest, tool_version
from layoutcheck.lint.finding import LintFinding
from layoutcheck.regular import MAX_BYTES, read_regular
from layoutcheck.settings import Settings

if TYPE_CHECKING:
    from concurrent.futures import Executor

_SKIP = frozenset(
    (".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".nox", ".eggs", "build", "dist",
     ".mypy_cache", ".pytest_cache", ".ruff_cache", "site-packages", ".ipynb_checkpoints")
)  # fmt: skip
_ENOUGH_BYTES = 3 << 20  # below this one process is done before a second has started

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class File:
    """A linted file: its path as shown, and what its text says."""

    path: str
    reading: Reading


def collect(paths: Sequence[str], settings: Settings) -> list[str]:
    """The Python files under these paths, sorted, as they will be shown. Raises InputError for no path."""
    found: dict[str, None] = {}
    for given in paths:
        path = Path(given)
        if path.is_dir():
            for each in _python(path, settings):
                if not settings.excluded(each):
                    found[each] = None
        elif path.is_file():
            # Named on the command line: linted, whatever its name and the settings.
            found[_shown(path)] = None
        else:
            name = f"'{given[:200]}'"
            what = f"{name} is not a regular file" if path.exists() else f"no file or folder {name}"
            raise InputError(what, expected="Python files, or folders that hold them")
    return sorted(found)


def _python(folder: Path, settings: Settings) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        """What cannot be looked into may hold what was asked for."""
        unread = _shown(Path(error.filename))
        if not settings.excluded(unread):
            what = f"the folder '{unread[:200]}' cannot be read: {error.strerror}"
            raise InputError(what, expected="`exclude` in the settings to name it")

    for at, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if name not in _SKIP)
        for name in names:
            if name.endswith((".py", ".pyi", cells.SUFFIX)):
                yield _shown(Path(at, name))


def _shown(path: Path) -> str:
    """The path relative to where the run started, where it lies below; with forward slashes."""
    text = path.as_posix()
    if path.is_absolute():
        try:
            text = path.relative_to(Path.cwd()).as_posix()
        except ValueError:
            return text
    return text.removeprefix("./")


def read(paths: Sequence[str], cache: Cache, workers: int, progress: Progress | None) -> list[File]:
    """The analyses of these files, in order."""
    done: dict[str, Reading] = {}
    todo: list[tuple[str, str, bytes]] = []
    version = tool_version()
    for path in paths:
        try:
            size = Path(path).stat().st_size
            raw = read_regular(path) if size <= MAX_BYTES else b"cute" + b" " * (MAX_BYTES + 1)
        except OSError as error:
            finding = LintFinding("LC910", "unknown", path, 1, 1, f"cannot be read: {error.strerror}")
            done[path] = Reading((finding,))
            continue
        key = digest(version, raw)
        known = cache.get(key, lambda stored, path=path: from_cache(stored, path))
        if known is not None:
            done[path] = known
        else:
            todo.append((path, key, raw))
    with uncollected():  # a syntax tree has no cycles, and looking for them takes as long as parsing
        fresh = _all(todo, workers, progress, len(paths))
        for (path, key, _), reading in zip(todo, fresh, strict=True):
            done[path] = reading
            cache.put(key, asdict(reading))
    return [File(path, done[path]) for path in paths]


def _one(task: tuple[str, str, bytes]) -> Reading:
    path, _, raw = task
    return analyse(raw, path)


def _all(
    todo: Sequence[tuple[str, str, bytes]], workers: int, progress: Progress | None, total: int
) -> Iterator[Reading]:
    heavy = sum(len(raw) for _, _, raw in todo)
    skipped = total - len(todo)
    pool = None if workers < 2 or heavy < _ENOUGH_BYTES else _pool(workers)
    if pool is None:
        for number, task in enumerate(todo, 1):
            if progress:
                progress("read", skipped + number, total)
            yield _one(task)
        return
    with pool:
        try:
            chunk = max(1, min(16, len(todo) // (4 * workers)))
            for number, reading in enumerate(pool.map(_one, todo, chunksize=chunk), 1):
                if progress:
                    progress("read", skipped + number, total)
                yield reading
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _pool(workers: int) -> Executor | None:
    """Processes that read; None where they cannot share semaphores (no /dev/shm that can be written)."""
    from concurrent.futures import ProcessPoolExecutor

    try:
        return ProcessPoolExecutor(workers, initializer=gc.disable)
    except (OSError, ImportError):
        return None
