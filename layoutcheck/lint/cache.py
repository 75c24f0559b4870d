"""What earlier runs found, by the text it was found in, the DSL's version and the tool's.

One JSON file a kind ("source", "traces"). A cache that cannot be read or written is no cache: never an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from layoutcheck.errors import InputError
from layoutcheck.regular import read_regular
from layoutcheck.whole import write_whole

_MAX_BYTES = 1 << 30
_KEEP = 20_000  # entries; the oldest go first
_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, RecursionError)


def digest(*parts: str | bytes) -> str:
    """A key for these texts."""
    made = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        made.update(len(raw).to_bytes(8, "little") + raw)
    return made.hexdigest()[:32]


@cache
def tool_version() -> str:
    """The tool itself, so that a changed rule is heard at once: its files' digests as pip recorded them.

    Of one that runs from its source, the files' names, sizes and times.
    """
    root = Path(__file__).parents[1]
    parts = _recorded(root)
    if parts:
        return digest("\n".join(parts))
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            with contextlib.suppress(OSError):
                stat = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118 (twice as fast as Path)
                parts.append(f"{name} {stat.st_size} {stat.st_mtime_ns}")
    return digest("\n".join(parts))


def _recorded(root: Path) -> list[str]:
    """The lines of pip's record on the files of the package in `root`; [] where it is not installed there."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        found = metadata.distribution(root.name)
        if Path(str(found.locate_file(root.name))).resolve() == root.resolve():
            lines = (found.read_text("RECORD") or "").splitlines()
            return sorted(line for line in lines if line.startswith(f"{root.name}/") and "sha256=" in line)
    return []


class Cache:
    """One kind's entries, read at once and written at once. `folder` None keeps nothing."""

    def __init__(self, folder: Path | None, kind: str) -> None:
        self._folder = folder
        self._file = None if folder is None else folder / f"{kind}.json"
        self._entries: dict[str, Any] = {}
        self._changed = False
        if self._file is not None:
            with contextlib.suppress(OSError, *_UNREADABLE):
                raw = b"" if self._file.is_symlink() else read_regular(self._file, _MAX_BYTES)
                stored = json.loads(raw)
                if stored["tool"] == tool_version():
                    self._entries = dict(stored["entries"])

    def get(self, key: str, read: Callable[[Any], Any] = lambda stored: stored) -> Any:
        """What `read` makes of what is stored under the key; None where nothing is that it can read."""
        with contextlib.suppress(InputError, *_UNREADABLE):
            return read(self._entries[key])
        return None

    def put(self, key: str, value: Any) -> None:
        """Store a value that JSON can hold; it may hold sets of what can be sorted."""
        if self._file is not None:
            self._entries[key] = value
            self._changed = True

    def save(self) -> None:
        """Write what changed."""
        if not self._changed or self._file is None or self._folder is None:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            _own(self._folder / ".gitignore").write_text("*\n", encoding="utf-8")
            kept = dict(list(self._entries.items())[-_KEEP:])
            text = json.dumps({"tool": tool_version(), "entries": kept}, default=sorted)
            write_whole(_own(self._file), text.encode("utf-8"))


def _own(path: Path) -> Path:
    """The path, without the link, pipe or device that a repository may have there: it leads elsewhere."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.unlink()
    return path
