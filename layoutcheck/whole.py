"""Files that are written whole: until the new content is on the disk, the earlier one stays."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

MARK = "\nlayoutcheck wrote this report\n"  # the end of a file of text, which nothing else tells from others
WRITABLE = "a new file, or an earlier one of its kind, in a folder that exists"
_NOT_OURS = "it holds something else, which would be lost"
_REPORT = re.compile(
    rb"""::(?:error|warning|notice)\s
    |\{\s*"schema_version":
    |\{\s*"\$schema":[^{]*\{\s*"tool":\s*\{\s*"driver":\s*\{\s*"name":\s*"layoutcheck"
    |<svg\s[^>]*\sclass="lc-
    |<!doctype\ html>\s*<html\s[^>]*\sclass="lc-
    |<\?xml[^>]*>\s*<testsuites\ name="layoutcheck"
    |\Z""",
    re.VERBOSE,
)
_HEAD_BYTES = 1024
_READER_SECONDS = 3.0  # that a pipe's reader may take to come
Ours = Callable[[Path], bool]


def told_by_its_beginning(head: bytes) -> bool:
    """Whether a file that begins so is a report of layoutcheck's, in any format but text; or empty."""
    return _REPORT.match(head) is not None


def is_report(file: Path) -> bool:
    """Whether a regular file is a report that layoutcheck wrote, or empty: it may be replaced."""
    with file.open("rb") as stream:
        if told_by_its_beginning(stream.read(_HEAD_BYTES)):
            return True
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - len(MARK)))
        return stream.read() == MARK.encode()


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
    if is_stream(path) or (path.is_file() and not os.access(there.parent, os.W_OK)):
        with _opened(path) as stream:
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


def _opened(path: Path) -> BinaryIO:
    """What is written in place. A pipe that nobody reads is an OSError, not a wait without an end."""
    if not path.is_fifo():
        return path.open("wb")
    deadline = time.monotonic() + _READER_SECONDS
    while (handle := _with_reader(path)) is None:
        if time.monotonic() > deadline:
            raise OSError(errno.ENXIO, "a pipe that nobody reads", str(path))
        time.sleep(0.05)
    os.set_blocking(handle, True)
    return os.fdopen(handle, "wb")


def _with_reader(path: Path) -> int | None:
    """A pipe, opened; None where nobody has opened it to read."""
    try:
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return None


def is_stream(path: Path) -> bool:
    """Whether what is written to a path goes on to somebody else: a device, a pipe, an open stream."""
    return path.parts[:2] in (("/", "dev"), ("/", "proc")) or (path.exists() and not path.is_file())


def why_unwritable(file: Path, ours: Ours = is_report) -> str:
    """Why a file cannot be written, in words mostly of the system; empty where it can be."""
    why = 0
    if file.is_dir():
        why = errno.EISDIR
    elif not file.parent.is_dir() or (file.is_symlink() and not file.exists()):
        why = errno.ENOENT
    elif not os.access(file if file.exists() else file.parent, os.W_OK):
        why = errno.EACCES
    elif file.is_file() and not is_stream(file):
        try:
            return "" if ours(file) else _NOT_OURS
        except OSError as error:
            why = error.errno or errno.EIO
    return os.strerror(why) if why else ""


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole. Raises OSError, after which the earlier content is still there."""
    with whole(path) as stream:
        stream.write(content)
