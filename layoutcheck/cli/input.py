"""What a command reads: a file, or standard input for `-`."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import IO

from layoutcheck.errors import InputError
from layoutcheck.progress import standard_input

_MAX_PASTE_BYTES = 1 << 26


def open_bytes(name: str, what: str) -> IO[bytes]:
    """A file, or stdin for '-', where `what` is waited for. Raises InputError."""
    if name == "-":
        return standard_input(what)
    try:
        return Path(name).open("rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot read '{name[:200]}': {reason}", expected="a file, or '-' for stdin"
        ) from None


def read_text(name: str, what: str = "Paste the error") -> str:
    """The text of a file, or of stdin for '-', where `what` is waited for. Raises InputError.

    UTF-8, with or without a byte order mark, or UTF-16 with one, as PowerShell's `>` writes. Bytes that are
    neither become U+FFFD.
    """
    if not name.strip():
        raise InputError("SRC is empty", expected="a layout, a file, or '-' for compiler output")
    if name[:1] in ("(", "!", "?") or "<" in name:
        raise InputError("a copy has two operands", expected="SRC and DST, '-' or a file")
    try:
        with open_bytes(name, what) as file:
            raw = file.read(_MAX_PASTE_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read '{name[:200]}': {error.strerror}") from None
    if len(raw) > _MAX_PASTE_BYTES:
        raise InputError(
            f"more than {_MAX_PASTE_BYTES >> 20} MiB of input", expected="the part around the error"
        )
    utf16 = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return raw.decode("utf-16" if utf16 else "utf-8-sig", "replace")
