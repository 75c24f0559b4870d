"""A Python traceback of which nothing else is known: who raised it, and where the user's own line is."""

from __future__ import annotations

import re
from typing import NamedTuple

_FRAME = re.compile(r'File "(?P<file>[^"\n]{1,400})", line (?P<line>[0-9]+), in (?P<function>[\w.<>]+)')
_RAISED = re.compile(r"(?:^| )(?P<kind>[A-Za-z_][\w.]*(?:Error|Exception|Interrupt)): (?P<said>\S.{0,160})")
_PACKAGE = re.compile(r"(?:site|dist)-packages/(\w+)")


class Frames(NamedTuple):
    """`package` that raised it ("your program" for the user's own file), what it `said`, the user's `place`, `whose`.

    `whose` says who answers such an error.
    """

    package: str
    said: str
    place: str
    whose: str


def find(folded: str) -> Frames | None:
    """The last exception below the last frame; None where the text is no traceback."""
    frames = list(_FRAME.finditer(folded))
    raised = list(_RAISED.finditer(folded, frames[-1].end())) if frames else []
    if not raised:
        return None
    kind = raised[-1]["kind"]
    inside = _PACKAGE.search(frames[-1]["file"])
    # The DSL leaves its own frames out; the error's class names it.
    package = inside[1] if inside else kind.split(".")[0] if "." in kind else None
    own = [frame for frame in frames if not _PACKAGE.search(frame["file"]) and "<" not in frame["file"]]
    place = f"{own[-1]['file']}:{own[-1]['line']} calls it" if own else "the text has no frame of your own"
    said = f"{kind}: {raised[-1]['said']}".strip()
    if package is None:
        return Frames("your program", said, place, "what that line computes raises it, and no library")
    return Frames(package, said, place, f"the project {package} answers what it raises")
