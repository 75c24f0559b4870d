"""Through which of the user's own lines a place was reached."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from layoutcheck.sources.traced import Frame

_MOST = 3  # callers told
# What is installed: pytest, say, which calls the test, and the standard library's runpy.
_INSTALLED = re.compile(r"[\\/](?:site-packages|dist-packages)[\\/]|[\\/]lib[\\/]python3[.0-9]*[\\/]|\A<")


def callers(stack: Sequence[Frame], where: Frame | None = None) -> list[str]:
    """FILE:LINE of each frame of a `stack`, innermost first, without those that say nothing more.

    Frames of the function that `where` stands in are left out: the bodies of its loops repeat it. So is the
    installed code that ran the program: what no own line called. A stack of installed code alone stays,
    unless `where` is an own line.
    """
    own = [n for n, frame in enumerate((where, *stack)) if frame and not _INSTALLED.search(frame.file)]
    kept = stack[: own[-1]] if own else stack
    places = (f"{shown(frame.file)}:{frame.line}" for frame in kept if _other(frame, where))
    return list(dict.fromkeys(places))


def called_from(stack: Sequence[Frame], where: Frame | None = None) -> str:
    """`called from FILE:LINE, ...` of the innermost callers, as in `callers`; "" for none."""
    places = callers(stack, where)[:_MOST]
    return f"called from {', '.join(places)}" if places else ""


def told_of_callers(stack: Sequence[Frame], where: Frame | None = None) -> str:
    """`Called from FILE:LINE, ....`, a sentence; "" for none."""
    through = called_from(stack, where)
    return f"C{through[1:]}." if through else ""


def shown(path: str) -> str:
    """A path, relative to the working directory where it lies in it."""
    return path.removeprefix(os.path.join(os.getcwd(), ""))  # noqa: PTH109, PTH118 - text, not a path


def _other(frame: Frame, where: Frame | None) -> bool:
    """Whether the frame is of another function than `where`."""
    here = None if where is None else (where.file, where.function.split(".")[0])
    return (frame.file, frame.function.split(".")[0]) != here
