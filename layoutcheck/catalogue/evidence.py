"""Which of the errors that a paste holds its answer is about: each line that is known is evidence, and has a weight.

A log repeats an error, goes on after it, and reports what follows from it. What is most specific makes the headline: an entry that
names a cause before one that only names a kind of error, CuTe's own before what another tool answers, and of the same weight the
one that stands first.
"""

from __future__ import annotations

import itertools
import re

from layoutcheck.catalogue import cpp_stack, demands, folding, tables
from layoutcheck.catalogue.entry import CLEAN, ELSEWHERE, Known
from layoutcheck.catalogue.origin import Origin

Match = tuple[Known, re.Match[str]]
DIED = ("dsl.compiler-died", "dsl.launcher-died")  # the ends of a program, which name no law
_ALONE = 80  # characters of a text that tells such an end, and nothing of whose it is
_ASSERTION = tables.called("cpp.other-assertion")
_OF_A_FRAME = re.compile(r"\s|File |Traceback|[^\n]{1,400}\.py:[0-9]+: in ")
_SUBJECTS = ("said", "what", "other")
_OF_LINES = tuple(
    entry
    for entry in tables.of("ptxas")
    if not entry.general and re.search(r"\?P<(?:said|what)>", entry.words.text)
)  # of which one log has several
_MOST_LINES = 40  # of one log that are compared
_LINE = re.compile(r"ptxas (\S{1,160}, line [0-9]+) ?; (?:error|fatal|warning|info) ?: ?$")
_BEFORE = 200  # letters before a message that may name its line
_FOLLOW = ("cpp.no-overload", "cpp.header-mix")  # to which a static assertion that fails before leads


def weighed(found: list[Match], where: Origin, folded: str) -> list[Match]:
    """The matches that stand, of the heaviest weight that any has, in their order in the text, each span once."""
    standing = _standing(where.own(found), folded)
    heaviest = min(map(_weight, standing), default=None)
    kept: dict[tuple[int, int], Match] = {}
    for one in sorted(standing, key=lambda match: match[1].start()):
        if _weight(one) == heaviest:
            kept.setdefault(one[1].span(), one)
    return list(kept.values())


def states(match: Match) -> bool:
    """Whether its entry names a cause, or that nothing is wrong, and not only a kind of error."""
    return not match[0].general or match[0].level == CLEAN


def _weight(match: Match) -> tuple[bool, bool, bool]:
    """The smaller, the more specific: whether the entry names no cause, is general, and is answered by another tool."""
    entry = match[0]
    return not states(match), entry.general, entry.level == ELSEWHERE


def _standing(found: list[Match], folded: str) -> list[Match]:
    """The matches without those that another match explains: a better entry of the same message, or an error before them."""
    told_of = folding.OF_CPP.search(folded) or folding.OF_DSL.search(folded)
    others_end = len(folded) > _ALONE and not told_of
    found = [one for one in found if not (others_end and one[0].name in DIED)]
    better = {name for entry, _ in found for name in entry.instead_of}
    kept = [one for one in found if one[0].name not in better]
    found = [*kept, *_further(found, kept, folded)]
    asserted = min((match.start() for entry, match in found if entry is _ASSERTION), default=len(folded))
    found = [one for one in found if one[0].name not in _FOLLOW or one[1].start() < asserted] or found
    second = next((one.at for one in cpp_stack.failures(folded)[1:]), len(folded))
    first = [one for one in found if one[1].start() < second]
    if not any(states(one) or one[0] is _ASSERTION for one in first):
        return found
    best = min(map(_weight, first))  # which a better known error after the first does not outweigh
    return [one for one in found if one in first or _weight(one) == best]


def _further(found: list[Match], kept: list[Match], folded: str) -> list[Match]:
    """Other messages of ptxas under the entries of those that were found: each says something else of another statement, and is in none that is kept."""
    spans = [match.span() for _, match in kept]
    told = {_subject(match) or entry.name for entry, match in kept}
    statements = {(entry, _statement(match, folded)) for entry, match in kept}
    further: list[Match] = []
    of_kept = [one for one in found if one[0] in _OF_LINES and _overlaps(one[1], spans)]
    for entry, _ in of_kept:
        for match in itertools.islice(entry.words.pattern.finditer(folded), _MOST_LINES):
            of, subject = (entry, _statement(match, folded)), _subject(match) or entry.name
            if not _overlaps(match, spans) and subject not in told and (not of[1] or of not in statements):
                told.add(subject)
                statements.add(of)
                further.append((entry, match))
    return further


def _statement(match: re.Match[str], folded: str) -> str:
    """The file and line of PTX of which ptxas says it; "" where it names none."""
    line = _LINE.search(folded, max(0, match.start() - _BEFORE), match.start())
    return line[1] if line else ""


def _overlaps(match: re.Match[str], spans: list[tuple[int, int]]) -> bool:
    """Whether a match shares letters with one of these spans."""
    return any(start < match.end() and match.start() < end for start, end in spans)


def _subject(match: re.Match[str]) -> str:
    """What a message of ptxas is about."""
    return next((value for key, value in match.groupdict().items() if key in _SUBJECTS and value), "")


def stated(text: str) -> str:
    """The first line of a text, outside of a traceback's frames, that says what a call must be; "" where none does."""
    lines = folding.unlogged(f"\n{text}").splitlines() if len(text) < folding.HEAD else []
    own = (" ".join(one.split()) for one in lines if not _OF_A_FRAME.match(one))
    return next((one for one in own if folding.WRONG.search(one) and demands.demand(one)), "")
