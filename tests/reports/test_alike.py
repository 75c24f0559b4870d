"""Reasons that differ in their example alone are told once, with what they count together."""

from __future__ import annotations

import layoutcheck as lc
from layoutcheck.reports.order import alike, element_counts
from layoutcheck.reports.style import Style
from layoutcheck.reports.trace import JudgedTrace, located, render
from layoutcheck.sources.traced import (
    KEPT,
    ON_THE_CALLER,
    SMALLER,
    Distinct,
    ElementReport,
    Frame,
    Trace,
    TracedCopy,
)

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


def test_copies_of_a_line_that_are_found_alike_are_told_once() -> None:
    """With the kernels that all of them are in; another line, and another finding, have their own report."""
    given = (("bf16", 8, 3), ("f16", 8, 3), ("f16", 4, 3), ("f16", 8, 7))
    copies, reports = [], []
    for number, (dtype, align, line) in enumerate(given):
        made = lc.check("8:1", "8:1", "cp.async", bits=128, dtype=dtype, src_align=align, dst_align=16)
        reports.append(made)
        copies.append(TracedCopy(made.copy, "", Frame("k.py", line, 5), (), f"k{number}", "sm_90a"))
    each = [Distinct(one, 1, (one.kernel,)) for one in copies]
    judged = JudgedTrace(Trace(tuple(copies)), list(zip(each, reports, strict=True)))
    text = render(judged, Style())
    assert (text.count("rejected[LC101]"), text.count("--> k.py:3:5")) == (3, 2)
    assert "--> k.py:3:5 (2 alike; in 2 kernels)" in text
    assert render(judged, Style(everything=True)).count("rejected[LC101]") == 4
    assert [(one.line, "8 B" in one.title) for one in located(judged)] == [(3, True), (3, False), (7, True)]


def test_a_condition_of_the_caller_is_not_told_as_left_out() -> None:
    told = ((f"{ON_THE_CALLER}{TAIL}", 2), ("no layout", 1))
    said = list(element_counts([ElementReport("k", "sm_90a", (), "", 3, 2, told)], Style(width=100)))
    assert said[1:] == [
        f"    2 accesses rest on the caller to stay in bounds: {TAIL}",
        "    not checked: 1: no layout",
    ]
