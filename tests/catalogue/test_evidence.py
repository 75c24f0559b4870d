"""Of several errors in one paste the most specific is told, and of those the first."""

from __future__ import annotations

import re

import pytest

from layoutcheck.catalogue import evidence, origin
from layoutcheck.catalogue.entry import CLEAN, ELSEWHERE, Known
from layoutcheck.catalogue.literals import Words

TEXT = "first second third"
OPEN = origin.Origin(origin.OPEN)


def match(at: str, level: str = "rejected", *, general: bool = False, name: str = "x") -> evidence.Match:
    found = re.search(at, TEXT)
    assert found
    return Known(f"{name} {at}", Words(at), "", "", "", level, general=general), found


SPECIFIC, OTHERS = match("third"), match("second", ELSEWHERE)
KIND, OTHER_KIND = match("first", general=True), match("first", ELSEWHERE, general=True)
FINE = match("second", CLEAN, general=True)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ([OTHER_KIND, OTHERS, SPECIFIC], [SPECIFIC]),  # CuTe's own, wherever it stands
        ([KIND, OTHERS], [OTHERS]),  # a cause before a kind of error
        ([OTHER_KIND, KIND], [KIND]),
        ([KIND, FINE], [FINE]),  # a tool that says that nothing is wrong
        ([SPECIFIC, match("second")], ["second", "third"]),  # in the text's order
        ([SPECIFIC, match("third")], [SPECIFIC]),  # the same words, read twice
        ([], []),
    ],
)
def test_the_heaviest_evidence_is_told(found: list[evidence.Match], told: list[evidence.Match | str]) -> None:
    kept = evidence.weighed(found, OPEN, TEXT)
    assert [one if one in told else one[1][0] for one in kept] == told


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('error: head_dim must be 64\n  File "a.py", line 3, in f\n    g(x)', "error: head_dim must be 64"),
        ('  File "a.py", line 3, in f\n    raise E("error: head_dim must be 64")', ""),  # a frame's source
        ("a.py:3: in f\n    g(x)\nanything", ""),
    ],
)
def test_the_line_outside_of_the_frames_is_found(text: str, line: str) -> None:
    assert evidence.stated(text) == line
