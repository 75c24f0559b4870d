"""Reasons that differ in their example alone are told once, with what they count together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import layoutcheck as lc
from layoutcheck.findings import Finding
from layoutcheck.reports import order
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
    KernelFinding,
    KernelPlace,
    OrderReport,
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


def test_copies_that_are_found_alike_are_told_once() -> None:
    """With the kernels that all at a line are in, and the other lines; another finding has its own report."""
    given = (("bf16", 8, 3), ("f16", 8, 3), ("f16", 4, 3), ("f16", 8, 7), ("f16", 8, 9))
    copies, reports = [], []
    for number, (dtype, align, line) in enumerate(given):
        made = lc.check("8:1", "8:1", "cp.async", bits=128, dtype=dtype, src_align=align, dst_align=16)
        reports.append(made)
        copies.append(TracedCopy(made.copy, "", Frame("k.py", line, 5), (), f"k{number}", "sm_90a"))
    each = [Distinct(one, 1, (one.kernel,)) for one in copies]
    judged = JudgedTrace(Trace(tuple(copies)), list(zip(each, reports, strict=True)))
    text = render(judged, Style())
    assert (text.count("rejected[LC101]"), text.count("--> k.py:3:5")) == (2, 2)
    assert "--> k.py:3:5 (2 alike; in 2 kernels) and at 2 more places: :7, :9" in text
    assert "5 copies at 3 places, 5 distinct: 5 rejected of 2 causes" in text
    everything = render(judged, Style(everything=True))
    assert everything.count("rejected[LC101]") == 5 and "more places" not in everything
    found = located(judged)
    assert [(one.line, "8 B" in one.title) for one in found] == [(3, True), (3, False)]
    assert [[place[:2] for place in one.related] for one in found] == [[("k.py", 7), ("k.py", 9)], []]


def test_what_a_store_leaves_is_a_line_of_the_summary(tmp_path: Path) -> None:
    """A note: it changes no verdict and no annotation; with the line that launches."""
    (tmp_path / "k.py").write_text("\nf(\n    x).launch(grid)\n")
    report = lc.check("8:1", "8:1", "universal", bits=128, dtype="f16", src_align=16, dst_align=16)
    report = replace(report, findings=(Finding("LC203", "note", "nothing at index 3 of mode 0", "so"),))
    for lines in ((3, 1), (1, 2)):
        stack = tuple(Frame(str(tmp_path / "k.py"), line, 1, "host") for line in lines)
        one = TracedCopy(report.copy, "", Frame("k.py", 9), stack, "cutlass_host_8", "sm_90a")
        judged = JudgedTrace(Trace((one,)), [(Distinct(one, 1, (one.kernel,)), report)])
        said = [line.strip() for line in render(judged, Style(width=200)).splitlines() if "LC203" in line]
        at = 3 if 3 in lines else 1
        assert said == [f"note[LC203] k.py:9: nothing at index 3 of mode 0; launched at k.py:{at}"]
        assert not located(judged) and judged.verdicts() == {"legal": 1}


def test_findings_of_one_statement_are_one_report() -> None:
    """Told as the number of the wait that suits all; a wait at another line, and another rule, are others."""
    frames = {line: KernelPlace("waits", Frame("k.py", line)) for line in range(1, 9)}

    def made(code: str, first: int, second: int, wait: int, most: int) -> KernelFinding:
        facts = {"cause": "wait-count", "pending": 2, "most": most}
        places = (frames[first], frames[second], frames[wait])
        return KernelFinding(code, "wrong", f"to {most}", f"{first} {second}", places, facts)

    waits = [made("LC501", 1, 4, 3, 1), made("LC501", 2, 5, 3, 0), made("LC501", 1, 6, 7, 1)]
    report = OrderReport("k", "sm_90a", (*waits, made("LC502", 2, 6, 3, 1)), threads=32, events=9)
    text = "\n".join(line for _, lines in order.render([report], Style()) for line in lines)
    assert text.count("wrong[LC501]") == 2 and text.count("wrong[LC502]") == 1
    assert "wrong[LC501]: to 0" in text and "  and at 1 more place: :4 after :1" in text
    assert any("4 wrong of 3 causes" in line for line in order.counts([report], Style()))
    first = next(one for one in order.located([report]) if one.title == "to 0")
    assert first.message == "2 5 and at 1 more place: :4 after :1"
    assert [place[1] for place in first.related] == [2, 5, 3, 1, 4, 3]
    everything = "\n".join(
        line for _, lines in order.render([report], Style(everything=True)) for line in lines
    )
    assert everything.count("wrong[LC") == 4


def test_a_condition_of_the_caller_is_not_told_as_left_out() -> None:
    told = ((f"{ON_THE_CALLER}{TAIL}", 2), ("no layout", 1))
    said = list(element_counts([ElementReport("k", "sm_90a", (), "", 3, 2, told)], Style(width=100)))
    assert said[1:] == [
        f"    2 accesses rest on the caller to stay in bounds: {TAIL}",
        "    not checked: 1: no layout",
    ]
