"""A Python traceback of which nothing else is known: who raised it, and where the user's own line is."""

from __future__ import annotations

import re
from typing import NamedTuple

_FRAME = re.compile(r'File "(?P<file>[^"\n]{1,400})", line (?P<line>[0-9]+), in (?P<function>[\w.<>]+)')
_RAISED = re.compile(r"(?:^| )(?P<kind>[A-Za-z_][\w.]*(?:Error|Exception|Interrupt)): (?P<said>\S.{0,160})")
_PACKAGE = re.compile(r"(?:site|dist)-packages/(\w+)")


class Frames(NamedTuple):
    """`package` that raised it ("your program" for the user's own file), what it `said`, the user's `place`."""

    package: str
    said: str
    place: str


def find(folded: str) -> Frames | None:
    """The last exception below the last frame; None where the text is no traceback."""
    frames = list(_FRAME.finditer(folded))
    raised = list(_RAISED.finditer(folded, frames[-1].end())) if frames else []
    if not raised:
        return None
    package = _PACKAGE.search(frames[-1]["file"])
    own = [frame for frame in frames if not _PACKAGE.search(frame["file"]) and "<" not in frame["file"]]
    place = f"{own[-1]['file']}:{own[-1]['line']} calls it" if own else "the text has no frame of your own"
    said = f"{raised[-1]['kind']}: {raised[-1]['said']}".strip()
    return Frames(package[1] if package else "your program", said, place)
