"""An exception of Python of which nothing else is known: who raised it, and where the user's own line is."""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutcheck.catalogue import owners

_FRAME = re.compile(r'File "(?P<file>[^"\n]{1,400})", line (?P<line>[0-9]+)(?:, in (?P<function>[\w.<>]+))?')
_RAISED = re.compile(
    r"(?:^|[ (\"'>])(?P<kind>[A-Za-z_][\w.]*(?:Error|Exception|Interrupt)): (?:(?P=kind): )?(?P<said>\S.{0,160})"
)
_ASSERTED = re.compile(
    r"\bassert (?P<condition>\S.{0,160}?)(?: \^[\^~ ]*)? (?:\[\S{1,12} )?AssertionError(?:: (?P<said>.{1,160}))?"
)
_PACKAGE = re.compile(r"(?:site|dist)-packages/(\w+)|/lib/python3\.[0-9]+/(\w+)|python/(\w+)/cython/")
_OF_DSL = re.compile(
    r"(?:nvidia_cutlass_dsl|(?:site|dist)-packages)/(?:\w+/)?cutlass/([\w/]+\.py)"
)  # the part of the path that every version has
_DSL_PACKAGES = ("nvidia_cutlass_dsl", "cutlass")
_UNKNOWN = (
    "the message alone does not say which library raises it: the last frame of the whole traceback does, "
    "and its project answers"
)


class Frames(NamedTuple):
    """`package` that raised it ("your program" for the user's own file), what it `said`, the user's `place`, `whose`.

    `whose` says who answers such an error. `function` and `at` ("cute/core.py:17") are of the last frame, where that is
    the DSL's and its assertion has no message; else "".
    """

    package: str
    said: str
    place: str
    whose: str
    function: str = ""
    at: str = ""


def find(folded: str) -> Frames | None:
    """The last exception of the text, below its last frame; None where the text has none."""
    frames = list(_FRAME.finditer(folded))
    behind = frames[-1].end() if frames else 0
    raised = list(_RAISED.finditer(folded, behind)) or list(_RAISED.finditer(folded))
    asserted = _ASSERTED.search(folded, behind)
    if asserted:
        said = asserted["said"] or f"{asserted['condition']} is false"
    elif raised:
        said = f"{raised[-1]['kind']}: {raised[-1]['said']}".strip()
    else:
        return None
    kind = "" if asserted else raised[-1]["kind"]
    package, whose = _whose(folded, frames, kind)
    own = [frame for frame in frames if not _PACKAGE.search(frame["file"]) and "<" not in frame["file"]]
    place = f"{own[-1]['file']}:{own[-1]['line']} calls it" if own else "the text has no frame of your own"
    inside = _OF_DSL.search(frames[-1]["file"]) if frames and asserted and not asserted["said"] else None
    if inside is None:
        return Frames(package, said, place, whose)
    condition = asserted["condition"] if asserted else said
    return Frames(
        package,
        condition,
        place,
        whose,
        frames[-1]["function"] or "a function",
        f"{inside[1]}:{frames[-1]['line']}",
    )


def _whose(folded: str, frames: list[re.Match[str]], kind: str) -> tuple[str, str]:
    """(what raises it, who answers): by the last frame, by the exception's module, by the words of the text."""
    inside = _PACKAGE.search(frames[-1]["file"]) if frames else None
    # The DSL leaves its own frames out; the error's class names it.
    package = next(filter(None, inside.groups())) if inside else kind.split(".")[0] if "." in kind else None
    if package in _DSL_PACKAGES:
        return "the CuTe DSL", "NVIDIA/cutlass answers what it raises"
    owner = owners.find(package or folded) or owners.find(folded)
    if owner:
        return owner.name, f"{owner.project} answers what it raises"
    if package:
        return package, f"the project {package} answers what it raises"
    if frames and not inside:
        return "your program", "what that line computes raises it, or a compiled library that it calls"
    return "a Python library", _UNKNOWN
