"""Reading files of an untrusted repository: regular files only, and only inside of it."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from layoutcheck.errors import InputError

MAX_BYTES = 8 << 20
"""Larger files are data, not source; the parser would take minutes and gigabytes for them."""


def read_regular(path: str | Path, most: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file, symbolic links followed.

    Raises OSError for a device, which may never end, for a pipe, and for a file of more than `most` bytes:
    gigabytes of zeros are a small commit.
    """
    with _regular(path) as opened:
        if os.fstat(opened.fileno()).st_size > most:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return opened.read(most + 1)


def text_of(path: str | Path) -> bytes:
    """The same; none where it cannot be read."""
    try:
        return read_regular(path)
    except OSError:
        return b""


def digest_regular(path: str | Path) -> str:
    """The SHA-256 of a regular file, likewise; it is not held in memory as a whole."""
    found = hashlib.sha256()
    with _regular(path) as opened:
        while part := opened.read(1 << 20):
            found.update(part)
    return found.hexdigest()


@contextmanager
def _regular(path: str | Path) -> Iterator[BinaryIO]:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise OSError(0, "not a regular file")
        yield opened


def source_lines(text: str) -> list[str]:
    """The lines as Python and editors count them: `str.splitlines` also ends one at a form feed or U+2028."""
    lines = re.split(r"\r\n|\r|\n", text)
    return lines if lines[-1] else lines[:-1]


def regular_lines(path: str | Path) -> list[str]:
    """The lines of a regular file as text; none where it cannot be read."""
    return source_lines(text_of(path).decode("utf-8", "replace"))


def inside(root: Path, given: str, setting: str) -> Path:
    """A path that a setting gives, symbolic links followed. Raises InputError for one that leaves `root`."""
    path = root / given
    if not Path(os.path.realpath(path)).is_relative_to(root.resolve()):
        raise InputError(
            f"{setting} = '{given[:200]}' leaves the repository", expected=f"a path below {root}"
        )
    return path
