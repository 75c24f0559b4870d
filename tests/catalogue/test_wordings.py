"""A message is known in other wordings than the printed one: retyped, quoted, logged, wrapped."""

from __future__ import annotations

import json
import math
import re
from functools import cache
from pathlib import Path

import pytest

from layoutcheck.catalogue import ENTRIES, answers, figures, laws, spoken, tables
from layoutcheck.catalogue.literals import Words, loose, plain
from layoutcheck.errors import InputError
from layoutcheck.sources import diagnostics, several
from layoutcheck.sources.diagnostics import Diagnostic
from tests.catalogue.wordings import WAYS

EXAMPLES = list(dict.fromkeys(text for entry in ENTRIES for text, _ in entry.examples))
LINES = (Path(__file__).parent.parent / "data" / "reported.jsonl").read_text().splitlines()
# Of a hundred texts that a way changes, how many keep their first answer at least.
KEPT = {
    "lower case": 88,
    "without hyphens": 80,
    "without articles": 88,
    "without quotes": 85,
    "without double quotes": 75,
    "quotes of another kind": 85,
    "wrapped at 80 columns": 90,
}
KEPT_ELSE = 96


@cache
def first(text: str) -> str:
    """The entry that answers first, as `explain` finds it; "copy" for an error of one copy, "" for none."""

    def read(part: str) -> list[diagnostics.Diagnostic | diagnostics.Answer]:
        return diagnostics._read(part, "sm_90a", ())

    try:
        found = several.read(text, read(text), read)
    except InputError:
        return ""
    return "" if not found else "copy" if isinstance(found[0], Diagnostic) else found[0].entry.name


def kept(texts: list[str], way: str) -> tuple[int, list[tuple[str, str, str]]]:
    """How many known texts a way changes; of those whose answer differs both, and the other wording."""
    changed = [(text, other) for text in texts if (other := WAYS[way](text)) != text and first(text)]
    answers = [(first(text), first(other), other) for text, other in changed]
    return len(changed), [one for one in answers if one[0] != one[1]]


@pytest.mark.parametrize("way", WAYS)
def test_a_message_is_known_in_another_wording(way: str) -> None:
    """A few of each way; all of them, and the reports, in the sweep."""
    count, lost = kept(EXAMPLES[::24], way)
    share = 1 - KEPT.get(way, KEPT_ELSE) / 100
    assert len(lost) <= 1 + count * share + math.sqrt(count * share * (1 - share)), lost  # of a sample


@pytest.mark.sweep
@pytest.mark.parametrize("way", WAYS)
def test_each_example_and_report_is_known_in_another_wording(way: str) -> None:
    texts = EXAMPLES + [json.loads(line)["text"] for line in LINES]
    count, lost = kept(texts, way)
    share = 100 - 100 * len(lost) / max(count, 1)
    print(f"{way}: {count - len(lost)} of {count}, {share:.1f} %")
    assert share >= KEPT.get(way, KEPT_ELSE), lost


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("Warp Out-of-range Address", "warp out of range address"),
        ("out of range", "Out-Of-Range"),
        ("is not a multiple of the width", "is not multiple of width"),
        ("dead-lock", "deadlock"),
        (r"\bthe kernel (?P<how>hangs)", "kernel hangs"),
        (r"(?<=a )dead-lock", "a dead lock"),
        (r"(?<=out-of-)range", "out-of-range"),
        (r"at(?: misaligned)? address", "at address"),
        ("can't vectorize", "cant vectorize"),
        (r"no attribute '(?P<what>\w+)'", "no attribute `launch`"),
        ("Feature '(?P<what>[^']{1,80})' requires", "Feature mma with block scale requires"),
        (r"'(?P<what>\w+)' is not defined", "thing is not defined"),
    ],
)
def test_a_pattern_meets_other_wordings_of_its_letters(pattern: str, text: str) -> None:
    assert Words(pattern).search(text) is not None
    assert Words(pattern).may_match(plain(f"x {text} y"))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"cu[A-Z]\w+ failed", "custom failed"),
        ("(?-i:RAW) hazard", "raw hazard"),
        (r"(?<!a )dead-lock", "a deadlock"),
        (r"\w in | The ", "a b c"),
        (r"\wthe shape", "xshape"),
        ("Unsupported '|Negation", "Unsupported DSL type"),
        ("architecture '(?P<arch>sm_10)'", "architecture 'sm_100f'"),
        ("(?:error: )[\"'](?P<said>[^\"']{1,9})", "error: nothing is quoted"),
    ],
)
def test_what_a_pattern_writes_exactly_stays_so(pattern: str, text: str) -> None:
    assert Words(pattern).search(text) is None


def test_a_pattern_keeps_its_groups() -> None:
    assert loose(r"Invalid (?P<what>read|write) of the (?(what)x|y)") == (
        r"(?ai:Invalid[- ])(?P<what>(?ai:read)|(?ai:write))"
        r"(?ai:[- ]of[- ](?:(?:the|an?) )?)(?(what)(?ai:x)|(?ai:y))"
    )


NOTES = (
    "Sometimes stale data in the output, mostly works, and nothing is written by the second warp.",
    "The kernel is slow because of the bank conflicts in the tile that ldmatrix reads with a stride of 64.",
)
DANGLING = re.compile(r" (?:the|an?|of|in|on|at|by|with|for|to|from|into|and|or|is|are)$")


@pytest.mark.parametrize("note", NOTES)
def test_a_title_of_a_persons_words_ends_with_a_whole_one(note: str) -> None:
    """Also where the note is cut behind any of its words."""
    words = note.split()
    found = [answers(" ".join(words[:at])) for at in range(4, len(words) + 1, 2)]
    titles = {one[0].title for one in found if one}
    assert titles and [one for one in titles if DANGLING.search(one)] == []
    assert not any("package" in one for one in titles)


def test_the_numbers_of_a_text_whose_law_leads_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "Generic copy(gA_k, sA) instead of explicit cp.async: 96 GFLOPS, 5.6x slower than the previous phase "
        "where we loaded by hand. Every thread seems to copy the whole tile."
    )
    asked = list[str]()
    monkeypatch.setattr(figures, "told", lambda folded: tuple(asked.append(folded) or ()))
    spoken.numbers.cache_clear()
    (answer, *_) = answers(text)
    spoken.numbers.cache_clear()
    assert "it may be this: copy(src, dst) without a tiled copy" in answer.cause
    assert len(asked) == 1


def test_an_error_in_a_sentence_that_calls_for_no_law_is_answered() -> None:
    told = laws.told("I see this message since noon.", tables.called("cpp.shape-div"))
    assert told == laws.Told()
