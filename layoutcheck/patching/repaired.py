"""What a repair came to: the proven edits, the copies that are left, and the files, written all or none."""

from __future__ import annotations

import difflib
import os
import re
import tempfile
import tokenize
from dataclasses import dataclass, field
from pathlib import Path

from layoutcheck.check import Fix
from layoutcheck.errors import InputError
from layoutcheck.sources.traced import Frame


@dataclass(frozen=True, slots=True)
class Repair:
    """One edit that was proven: for which copy (`where`), by which fix, and the places that it repaired.

    `confirmed_by` begins with ("model", "compiler"): the model's verdict on the edited program's copies, and
    the verifier that saw them. Then "gpu" or "simulator", where that ran every repaired copy with the right
    bits; `unrun` says which it could not run. `cycles` are those of a block that are predicted for each place
    of `repaired`, which are none where the program failed at `where`; `slowed` are other places that take
    half more or worse, with their cycles before and after.
    """

    where: Frame
    title: str
    verdict: str
    repaired: tuple[Frame, ...]
    places: tuple[Frame, ...]
    confirmed_by: tuple[str, ...] = ("model", "compiler")
    unrun: str = ""
    cycles: tuple[float, ...] = ()
    slowed: tuple[tuple[Frame, float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Sketch:
    """A copy that no edit repaired: why, and the best fix of the copy alone, if there is one."""

    where: Frame
    reason: str
    fix: Fix | None = None


@dataclass
class Repaired:
    """The texts before and after, by path, and how they came about.

    `uncompiled` are sentences on kernels that the compiler refuses after all edits, `unseen` what ended the
    trace early. `resting` are places whose copies stay in their tensors for some extents of the caller only,
    `slow` accesses that keep their bank conflicts.
    """

    before: dict[str, str]
    after: dict[str, str]
    repairs: list[Repair] = field(default_factory=list)
    sketches: list[Sketch] = field(default_factory=list)
    slow: list[Sketch] = field(default_factory=list)
    resting: list[Frame] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    uncompiled: list[str] = field(default_factory=list)

    def diff(self) -> str:
        """The unified diff of all files, paths from where the run started."""
        out: list[str] = []
        for path, old in self.before.items():
            name = Path(os.path.relpath(path)).as_posix()
            out += difflib.unified_diff(lines(old), lines(self.after[path]), f"a/{name}", f"b/{name}")
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in out
        )

    def write(self) -> list[str]:
        """Write the changed files, all or none; their paths.

        Raises InputError where one was changed since the trace, or cannot be written.
        """
        changed = [path for path, text in self.after.items() if text != self.before[path]]
        for path in changed:
            if read(path) != self.before[path]:
                raise InputError(f"'{path}' was changed since the trace: nothing was written")
            if not (writable(Path(path)) and writable(Path(path).resolve().parent)):
                raise InputError(f"cannot write '{path}': nothing was written")
        beside: list[tuple[Path, Path]] = []
        try:
            for path in changed:
                where = Path(path).resolve()  # a link stays one
                beside.append((_beside(where, self.after[path]), where))
            for made, where in beside:
                made.replace(where)
        except BaseException as error:  # Ctrl-C, too
            for one, (made, there) in zip(changed, beside, strict=False):
                if not made.exists():  # it took the file's place
                    _beside(there, self.before[one]).replace(there)
                made.unlink(missing_ok=True)
            if not isinstance(error, OSError):
                raise
            raise InputError(f"cannot write '{where}': {error.strerror}; nothing was written") from None
        return changed


def writable(file: Path) -> bool:
    """Whether a file or folder may be written; root may write all, and what nobody may write is meant so."""
    return os.access(file, os.W_OK) and bool(file.stat().st_mode & 0o222)


def read(path: str) -> str:
    """The text of a Python file, line ends as they are. Raises InputError where there is none.

    Also where lines end with a carriage return alone: Python counts these, and other tools do not.
    """
    try:
        text = Path(path).read_bytes().decode(_encoding(path))
    except (OSError, UnicodeDecodeError, SyntaxError) as error:
        raise InputError(f"cannot read '{path}': {error}", expected="a Python file in its encoding") from None
    if alone := re.search(r"\r(?!\n)", text):
        line = len(re.findall(r"\r\n?|\n", text[: alone.start()])) + 1
        raise InputError(
            f"cannot edit '{path}': line {line} ends with a carriage return alone",
            expected="lines that end with LF or CRLF",
        )
    return text


def lines(text: str) -> list[str]:
    """The lines of a text as Python and diff count them, with their ends: form feeds end none."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def encoded(path: str | Path, text: str) -> bytes:
    """A text in the encoding of the file that is there: UTF-8, or what its first lines say."""
    return text.encode(_encoding(path))


def _encoding(path: str | Path) -> str:
    with Path(path).open("rb") as stream:
        return tokenize.detect_encoding(stream.readline)[0]


def _beside(path: Path, text: str) -> Path:
    """The text in a new file of the same folder, with the old one's permissions."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".layoutcheck-")
    made = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(encoded(path, text))
        made.chmod(path.stat().st_mode & 0o7777)
    except BaseException:
        made.unlink()
        raise
    return made
