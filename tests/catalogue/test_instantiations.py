"""Failures of CuTe in C++ that real compiles printed: each program had the one fault that is named.

CUDA 13.0, CUTLASS of August 2026. The programs are CUTLASS's tutorials with one edit. A text is cut behind
the user's own line.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from layoutcheck.catalogue import answers, cpp_causes, cpp_stack, folding
from layoutcheck.catalogue.rows import rows
from tests.thinned import thinned

DATA = Path(__file__).parent.parent / "data" / "instantiations.jsonl"
REPORTED = [json.loads(line) for line in DATA.read_text().splitlines()]
TOLD = [cpp_causes.told(folding.fold(report["text"])) for report in REPORTED]


@pytest.mark.parametrize("report", REPORTED, ids=[report["says"][0][:40] for report in REPORTED])
def test_the_types_of_the_text_tell_what_its_author_did(report: dict[str, object]) -> None:
    (answer, *_) = answers(str(report["text"]))
    said = " ".join((answer.title, answer.cause, answer.remedy, answer.place or ""))
    assert [part for part in report["says"] if part not in said] == [], said  # type: ignore[attr-defined]
    assert answer.place is not None and ".cu:" in answer.place  # the user's own line, and no header's


def test_every_way_is_seen() -> None:
    kinds = {row.field("title")[:20] for row in rows("meanings/instantiations.txt")}
    seen = {told.title for told in TOLD if told}
    unseen = {kind for kind in kinds if not any(_begins(title, kind) for title in seen)}
    assert unseen == {"the destination of t", "the TMA's shared til"}  # made by no program of the data


def _begins(title: str, kind: str) -> bool:
    return re.match(re.sub(r"\\\{\w*(?:\\\})?", ".*", re.escape(kind)), title) is not None


@pytest.mark.parametrize("report", thinned(REPORTED[::5], 3))
def test_a_text_that_is_cut_anywhere_is_answered(report: dict[str, str]) -> None:
    text = report["text"]
    for cut in range(40, len(text), max(len(text) // 12, 1)):
        answers(text[:cut])


def test_a_failure_is_read_with_its_frames() -> None:
    text = (
        '/c/include/cute/layout.hpp(3): error: static assertion failed with "No" detected during: '
        'instantiation of "auto cute::f(const T &) [with T=cute::tuple<cute::_8, int>]" at line 5 '
        "of /c/include/cute/a.hpp "
        'instantiation of "void k<N>() [with N=4]" at line 7 of /me/k.cu '
        '/me/k.cu(9): error: identifier "x" is undefined'
    )
    first, second = cpp_stack.failures(text)
    assert [(frame.name, frame.line) for frame in first.frames] == [("cute::f", 5), ("k", 7)]
    assert (first.place, first.frames[0].shown("T"), first.frames[1].given) == (
        "/me/k.cu:7",
        "(8,?)",
        {"N": "4"},
    )
    assert (second.message, second.place, second.frames) == ('identifier "x" is undefined', "/me/k.cu:9", ())
