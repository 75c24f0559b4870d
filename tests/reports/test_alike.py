"""Reasons that differ in their example alone are told once, with what they count together."""

from __future__ import annotations

from layoutcheck.reports.order import alike
from layoutcheck.sources.traced import KEPT, SMALLER

TAIL = "every dynamic extent has to be a multiple of 4"


def test_one_line_for_each_condition() -> None:
    reasons = {
        f"{TAIL}: with 513 thread 1 of block (8,64,0) reads 4 B at byte 16 of 12": 2,
        f"{TAIL}: with 65 thread 7 of block (1,0,0) writes 2 B at byte 130 of 130": 5,
        f"{TAIL}: with 65 thread 7 of block (1,0,0) writes 2 B at byte 130 of 130; {KEPT}": 1,
        f"{SMALLER}: with 64 beside 128 it is left": 4,
        "extents or grid known at run time": 3,
    }
    found = alike(reasons.items())
    assert [(one.times, len(one.reasons)) for one in found] == [(7, 2), (4, 1), (3, 1), (1, 1)]
    assert {reason for one in found for reason in one.reasons} == reasons.keys()
    first = found[0].words
    assert first.startswith(f"{TAIL}: with 65 ") and first.endswith(
        "130 of 130; 1 more such, with other numbers"
    )
    assert [one.words for one in found[1:]] == [one.reasons[0] for one in found[1:]]
