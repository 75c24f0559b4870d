"""The errors that users of CuTe meet, each with its cause and its repair; `answers` finds them in a pasted text.

An entry is a row of a text file (`rows`, `entry.Known`); `tables` hold them by who prints the error. `matching` says which of them
a text matches, `answering` what they then say, `unmatched` what is said where no entry is about the text.
The verifier's messages about `cute.copy`, which name operands, are read by `sources.diagnostics` instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from layoutcheck.catalogue import (
    answering,
    blamed,
    calls,
    cpp_causes,
    demands,
    devices,
    evidence,
    folding,
    frames,
    guards,
    laws,
    libraries,
    matching,
    origin,
    questions,
    snippets,
    spoken,
    symptoms,
    tables,
    telling,
    unmatched,
    whose,
)
from layoutcheck.catalogue.answering import Answer as Answer
from layoutcheck.catalogue.entry import CLEAN, ELSEWHERE, UNKNOWN
from layoutcheck.catalogue.rows import SENTENCES
from layoutcheck.catalogue.tables import ENTRIES as ENTRIES

MOST_ANSWERS = 3
_RAISED, _ASSERTED = tables.called("dsl.raised"), tables.called("dsl.asserted")
_RAISED_BY_PYTHON = tables.called("elsewhere.raised")
_LIBRARY = tables.called("elsewhere.library-raises")
_VERIFIER = tables.called("dsl.other-verifier")
_EVALUATED, _NO_RESULT = tables.called("symptom.evaluated"), tables.called("symptom.no-result")
_COUNTED, _QUESTION = tables.called("symptom.counted"), tables.called("question")
# which no library raises
_OF_THE_DSL = _RAISED, _ASSERTED, _RAISED_BY_PYTHON, answering.CODED, answering.CODE_ALONE, _VERIFIER
_REFUSALS = ("cpp.launch-refused", "cpp.problem-refused", "cuda.invalid-launch")
# Those that have many causes.
_OF_LAWS = (*whose.FAULTS, *_REFUSALS, "cpp.copy-does-not-vectorize", "cpp.shape-div")
_OUT_OF_MEMORY = re.compile(
    r"(?i)\b(?:CUDA (?:error|warning): )?out of memory\b|\bcudaErrorMemoryAllocation\b|OutOfMemoryError"
)
_NAME = re.compile(r"(?:[\w ]+ )?[Ee]rror|ICE|INTERNAL COMPILER ERROR")  # which is no message
_STOPPED = re.compile(r"(?<![.])[.]$")  # the end of a sentence
_NAMED_ALONE = "The text names the error and not its message: paste the compiler's lines, from 'error:' on"
_WHY = re.compile(r"(?i)\b(?:why|what causes|reason)\b")
_MEMORY_FIRST = "the text says '{said}' as well: memory ran out, and what else fails may only follow: free some first (a smaller batch or gpu_memory_utilization, other processes on the GPU)"


def answers(text: str, place: str | None = None) -> list[Answer]:
    """The answers to the errors in the text, most specific first; none where the text is not known.

    Errors that another tool answers come only where nothing else is found.
    """
    if folding.is_binary(text):
        return []
    text = folding.quiet(folding.alone(text))
    folded = folding.fold(text)
    found = _evaluated(_answers(text, folded, place), text, folded, place)
    if not found:
        return []
    first, *rest = (_plain(one, text) for one in found)
    alike = [one.title for one in rest if (one.cause, one.remedy) == (first.cause, first.remedy)]
    others = [one for one in rest if _said(one) != _said(first) and one.title not in alike]
    first = replace(first, facts=(*first.facts, *(f"the same cause: {title}" for title in alike)))
    first = _claimed(_addressed(first, folded), text, folded)
    return [blamed.led(first, text, folded), *others]


def _claimed(answer: Answer, text: str, folded: str) -> Answer:
    """The answer to what a person writes, with the cause and the repair that the text states itself, where it does not tell them.

    Of a refusal of which the text has the name alone it asks for the message.
    """
    if not symptoms.is_prose(folded) or answer.entry.level == CLEAN:
        return answer
    if answer.entry in tables.DSL and _NAME.fullmatch(answer.quote):
        answer = replace(answer, remedy=f"{answer.remedy}. {_NAMED_ALONE}")
    told = " ".join((answer.title, answer.quote, answer.cause, *answer.facts))
    if "ext itself says" in told or (answer.entry is _QUESTION and questions.asks(text)):
        return answer
    claims = (one for one in (_STOPPED.sub("", said) for said in laws.claims(text)) if one not in told)
    return replace(answer, facts=(*answer.facts, *(f"{spoken.CLAIM}{one}" for one in claims)))


def _plain(answer: Answer, text: str) -> Answer:
    """The answer without the words that it does not know why, where a person asks for something else than a reason."""
    told = answer.cause.removeprefix(SENTENCES["OPEN"]).lstrip()
    asks = answer.entry.level in (UNKNOWN, "slow") and questions.asks(text) and not _WHY.search(text)
    return replace(answer, cause=told) if asks else answer


def _said(answer: Answer) -> str:
    """The message that a title repeats behind what is said of it: "refused: MESSAGE"."""
    return answer.title.partition(": ")[2] or answer.title


def _evaluated(found: list[Answer], text: str, folded: str, place: str | None) -> list[Answer]:
    """The answers with what the calls come to that stand in the text, of the algebra on layouts; alone where another tool would answer."""
    evaluated = told = tuple(snippets.results(text))
    entry, plain = _COUNTED, not found or found[0].entry is symptoms.LAYOUTS
    if not told and plain:
        told = spoken.worked_out(folded)  # no error is known: what its numbers come to answers
    if not told:
        return found
    if not plain and found[0].entry.level != ELSEWHERE:
        first = found[0]
        new = tuple(
            one
            for one in told
            if not any(fact in one for fact in first.facts)
            and (one.partition(f"{calls.NO_RESULT}: ")[2][1:] or one) not in first.cause
        )
        return [replace(first, facts=(*new, *first.facts)), *found[1:]]
    refused = next((one for one in told if calls.NO_RESULT in one), "")
    first = refused or told[0]
    if evaluated:
        entry = _NO_RESULT if refused else _EVALUATED
    said = telling.line(text) or answering.shortened(folded, answering.MOST_QUOTED)
    answer = answering.of_parts(entry, {"said": first}, said, folded, place)
    return [replace(answer, facts=tuple(one for one in told if one != first) if evaluated else answer.facts)]


def _addressed(answer: Answer, folded: str) -> Answer:
    """The answer with what comes first, memory that ran out, and whose program the text is of, where no sentence names it."""
    out = _OUT_OF_MEMORY.search(folded)
    if out and answer.entry.level != CLEAN and not _OUT_OF_MEMORY.search(f"{answer.title} {answer.quote}"):
        answer = replace(answer, facts=(_MEMORY_FIRST.format(said=out[0]), *answer.facts))
    entry = answer.entry
    numbers = () if entry.level == CLEAN or entry is _QUESTION else spoken.numbers(folded)
    figures_say = tuple(one for one in numbers if one != answer.title and one not in answer.cause)
    causeless = entry.name in (*whose.FAULTS, *devices.INVALID) or (entry.general and entry is not _COUNTED)
    answer = replace(answer, facts=tuple(one for one in answer.facts if one not in figures_say))
    if figures_say and causeless:
        cause = "" if spoken.is_open(answer) else f" {answer.cause.removeprefix(SENTENCES['OPEN']).lstrip()}"
        answer = replace(answer, cause=f"The text's numbers say: {'; '.join(figures_say)}.{cause}")
    elif figures_say:
        answer = replace(answer, facts=(*figures_say, *answer.facts))
    where = origin.find(folded)
    said = " ".join((answer.title, answer.cause, answer.remedy, *answer.facts))
    if (
        answer.entry.level == CLEAN
        or where.maker is None
        or where.maker.project in said
        or "/" not in where.maker.project
        # the user's edit of its example
        or (where.maker.project == whose.CUTLASS and cpp_causes.told(folded))
    ):
        return answer
    by = "" if where.evidence == origin.BY_WORDS else f" ({where.evidence})"
    theirs = f"{answer.remedy}. What is {where.maker.name}'s own{by} goes to {where.maker.project}"
    return replace(answer, remedy=theirs.removeprefix(". "))


def _answers(text: str, folded: str, place: str | None) -> list[Answer]:
    """The answers to the errors in a text, whose white space `folded` has as single spaces: by its most specific evidence."""
    where = origin.find(folded)
    matches = matching.found(folded)
    paste = Paste(text, folded, place, where, matches, evidence.weighed(matches, where, folded))
    return next(filter(None, (way(paste) for way in _WAYS)), [])


class Paste(NamedTuple):
    """A text, `folded`, with who prints it, the entries that it matches, and those of them that stand, the most specific first."""

    text: str
    folded: str
    place: str | None
    where: origin.Origin
    matches: list[evidence.Match]
    standing: list[evidence.Match]

    @property
    def states(self) -> bool:
        """Whether an entry that stands names a cause, or that nothing is wrong."""
        return any(map(evidence.states, self.standing))


def _by_warning(paste: Paste) -> list[Answer]:
    """A compiler's warning in a text that has no error: what the entry says, and that the program is made."""
    if not paste.matches or not symptoms.is_warned(paste.folded, paste.matches[0][1]):
        return []
    (entry, match), *_ = paste.matches
    told = answering.of_entry(entry, match, paste.folded, paste.place, paste.text)
    parts = {"said": told.title, "cause": told.cause, "help": told.remedy}
    parts["project"] = paste.where.project or unmatched.UNNAMED.project
    return [answering.of_parts(symptoms.WARNING, parts, match[0], paste.folded, paste.place)]


def _by_program(paste: Paste) -> list[Answer]:
    """A form that only a program without kernels prints."""
    owner = paste.where.owner
    if paste.where.world != origin.FOREIGN or owner is None or paste.states:
        return []
    return [unmatched.of_program(owner, paste.text, paste.folded, paste.place)]


def _by_statement(paste: Paste) -> list[Answer]:
    """A message that a statement of the installed DSL raises."""
    if paste.states or any(entry is answering.CODED for entry, _ in paste.standing):
        return []
    stated = unmatched.of_statement(paste.where.world, paste.text, paste.folded, paste.place)
    return [stated] if stated else []


def _by_question(paste: Paste) -> list[Answer]:
    """A question that mentions a wrong result, as code in it may."""
    if len(paste.standing) != 1 or not questions.outweighs(paste.text, *paste.standing[0]):
        return []
    told = questions.find(paste.text, paste.folded)
    return [unmatched.of_question(told, paste.folded, paste.place)] if told else []


def _by_instantiations(paste: Paste) -> list[Answer]:
    """A failure of CuTe in C++ whose cause the types tell that led to it."""
    told = cpp_causes.told(paste.folded)
    if told is None:
        return []
    entry = tables.called(told.entry)
    remedy = whose.for_builder(entry, told.remedy, paste.folded)
    return [Answer(entry, told.title, told.cause, remedy, told.said, paste.place or told.place)]


def _by_entries(paste: Paste) -> list[Answer]:
    """The entries that stand."""
    if not paste.standing:
        return []
    return _of_entries(paste.standing, paste.where, paste.text, paste.folded, paste.place)


def _by_demand(paste: Paste) -> list[Answer]:
    """A demand in CUTLASS' own names that stands alone."""
    asserted = unmatched.as_assertion(paste.folded)
    return _answers(paste.text, asserted, paste.place) if asserted else []


def _by_refusal(paste: Paste) -> list[Answer]:
    """A verifier's message by itself, or a traceback."""
    refused = unmatched.of_refusal(paste.where.world, paste.text, paste.folded, paste.place)
    return [refused] if refused else []


def _by_words(paste: Paste) -> list[Answer]:
    """The line that tells most, what a person tells, the layouts."""
    return unmatched.of_words(paste.text, paste.folded, paste.place)


# What a text is answered by, the most specific evidence first: the first of them that it holds makes the headline.
_WAYS = (
    _by_warning,
    _by_program,
    _by_statement,
    _by_question,
    _by_instantiations,
    _by_entries,
    _by_demand,
    _by_refusal,
    _by_words,
)


def _of_entries(
    found: list[evidence.Match], where: origin.Origin, text: str, folded: str, place: str | None
) -> list[Answer]:
    """The answers of the entries that a text matches, in their order in it; of a fault with many causes with its laws."""
    first, *rest = [
        answering.of_entry(entry, match, folded, place, text) for entry, match in found[:MOST_ANSWERS]
    ]
    if not spoken.is_open(first) and first.entry.name not in (*_OF_LAWS, *evidence.DIED):
        site = unmatched.site(found[0][1], folded) if first.entry in tables.DSL else ()
        return [replace(first, facts=(*first.facts, *site)), *rest]
    prose, lawless = symptoms.is_prose(folded), first.entry.name in evidence.DIED
    if not prose:
        silent = lawless or where.world == origin.COMPILER
        return [spoken.led(first, laws.Told() if silent else laws.beside(text, first.entry), folded), *rest]
    quote = first.quote
    if first.entry in spoken.OPEN:
        quote = spoken.quoted(folded, found[0][1][0], questions.prose(text))
    first = replace(first, quote=quote, facts=(*first.facts, *symptoms.read(folded)))
    return [spoken.led(first, laws.told(text, first.entry, lawless=lawless), folded), *rest]


def in_sources(found: list[Answer], text: str, sources: Sequence[Path] = ()) -> list[Answer]:
    """The answers with what the sources of libraries say: which statement raises the message, on which condition.

    `sources` are folders that the user names; installed libraries are read where the text is none of the DSL's.
    """
    if found and (found[0].entry.level not in (ELSEWHERE, "rejected") or found[0].entry in _OF_THE_DSL):
        return found
    folded = folding.fold(text)
    if not folding.WRONG.search(folded) and not sources:
        return found
    statement = libraries.find(folded, unmatched.told(text), sources)
    if statement is None:
        return found
    said = statement.raised
    library = " ".join(filter(None, (statement.package, statement.version)))
    if found and not (found[0].entry.general and found[0].entry.level == ELSEWHERE):
        fact = f"{library} raises it at {said.place}{unmatched.when(said)}"
        return [replace(found[0], facts=(*found[0].facts, fact)), *found[1:]]
    return [_of_library(statement, library, folded)]


def _of_library(statement: libraries.Statement, library: str, folded: str) -> Answer:
    """The answer to a message that a statement of a library raises."""
    said, owner = statement.raised, libraries.project(statement)
    demand = None if said.told or said.condition else demands.demand(said.said)
    helps = (
        f"Call it so that {said.asked}"
        if said.asked
        else demand.helps
        if demand
        else guards.met_by(said.condition)
    )
    traceback = frames.find(folded)
    calls = traceback.place if traceback else ""
    parts = {
        "library": library,
        "said": said.said,
        "function": said.called or "A check",
        "at": said.place,
        "when": unmatched.when(said),
        "cause": f" {demand.cause}" if demand else "",
        "help": helps or "Read the statement: its branch says what leads to it",
        "whose": f"{calls}report to {owner.project} what stays"
        if owner and calls
        else f"Report to {owner.project} what stays"
        if owner
        else calls.rstrip("; "),
    }
    answer = answering.of_parts(_LIBRARY, parts, said.said, folded, None)
    return replace(answer, facts=(*said.described, *answer.facts))
