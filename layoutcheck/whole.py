"""Files that are written whole: until the new content is on the disk, the earlier one stays."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file's where the block ends without an exception.

    They are written beside the file, and then take its name and its permissions. What is written in place: a
    device, a pipe, an open stream (`/dev/stdout`), and a file in a folder that takes no new ones. Raises
    OSError.
    """
    there = Path(os.path.realpath(path))
    if path.is_file() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    is_stream = path.parts[:2] in (("/", "dev"), ("/", "proc")) or (path.exists() and not path.is_file())
    if is_stream or (path.is_file() and not os.access(there.parent, os.W_OK)):
        with path.open("wb") as stream:
            yield stream
        return
    beside = there.parent / f".layoutcheck-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        try:
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None
        with os.fdopen(handle, "wb") as stream:
            yield stream
        if path.is_file():
            beside.chmod(stat.S_IMODE(there.stat().st_mode))
        beside.replace(there)
    finally:
        beside.unlink(missing_ok=True)


def why_unwritable(file: Path) -> str:
    """Why the file cannot be written, in the system's words; empty where it can be."""
    why = 0
    if file.is_dir():
        why = errno.EISDIR
    elif not file.parent.is_dir():
        why = errno.ENOENT
    elif not os.access(file if file.exists() else file.parent, os.W_OK):
        why = errno.EACCES
    return os.strerror(why) if why else ""


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole. Raises OSError, after which the earlier content is still there."""
    with whole(path) as stream:
        stream.write(content)
