"""The errors that users of CuTe meet, each with its cause and its repair; `answers` finds them in a pasted text.

An entry is data (`entry.Known`); `tables` hold them by who prints the error.
The verifier's messages about `cute.copy`, which name operands, are read by `sources.diagnostics` instead.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from layoutcheck.catalogue import (
    answering,
    coded,
    codes,
    conditions,
    demands,
    devices,
    figures,
    filling,
    folding,
    frames,
    installed,
    laws,
    libraries,
    named,
    origin,
    owners,
    raised,
    reasons,
    refused,
    steps,
    symptoms,
    tables,
    telling,
    whose,
)
from layoutcheck.catalogue.answering import Answer as Answer
from layoutcheck.catalogue.entry import CLEAN, ELSEWHERE, Known
from layoutcheck.catalogue.tables import ENTRIES

MOST_ANSWERS = 3
_OTHER = tables.called("dsl.other-exception")
_RAISED, _ASSERTED = tables.called("dsl.raised"), tables.called("dsl.asserted")
_RAISED_BY_PYTHON = tables.called("elsewhere.raised")
_PYTHON, _CUT = tables.called("elsewhere.python"), tables.called("elsewhere.cut-traceback")
_NAMED, _FOREIGN = tables.called("elsewhere.named"), tables.called("elsewhere.other-program")
_LIBRARY, _TABLE = tables.called("elsewhere.library-raises"), tables.called("clean.table")
_SPOKEN = (tables.called("clean.verified"), tables.called("clean.success"))  # which a person's words may be
_DIED = tables.called("dsl.compiler-died")
_NAME = tables.called("dsl.name-undefined")
_VERIFIER = tables.called("dsl.other-verifier")
_NOTICED = 0.02  # of the wavefronts
_NO_OVERLOAD = tables.called("cpp.no-overload")
_ERROR_TYPE = tables.called("cpp.error-type")
# which no library raises
_OF_THE_DSL = _RAISED, _ASSERTED, _RAISED_BY_PYTHON, answering.CODED, answering.CODE_ALONE, _VERIFIER
_OPEN = (tables.called("kernel-hangs"), tables.called("results-differ"))  # which name no cause of their own
_OF_LAWS = (*whose.FAULTS, "cpp.copy-does-not-vectorize", "cpp.shape-div")  # which have many causes
# as they tell a fault, without its error
_OF_PEOPLE = tables.called("symptom.wrong"), tables.called("symptom.hang")
# whose words may say that it is over
_TOLD_BY_PEOPLE = *(entry.name for entry in (*_OPEN, _DIED)), *whose.FAULTS
_OF_CLAIMS = ("dsl.compiler-died", "dsl.launcher-died")  # in which no law is broken
_OF_PARSER = re.compile(
    r"error(?: C[0-9]+)?: (?:expected (?:an?|unqualified|primary|initializer)\b|this declaration has no|syntax error)"
)  # what follows from a name that is not known
_MOST_ERRORS = 40  # of a compile that are looked at
_IN_A_FUNCTION = re.compile(r"\bNameError in `\w+`")  # as the DSL alone words it
_QUOTED = re.compile(r"['\"`]([A-Z][^'\"`]{15,200})['\"`]")  # a message in a line of its reader
_DEMANDS = re.compile(r"\b(?:must (?:be|have|not)|expect(?:s|ed)|should be)\b")
_MOST_TOLD = 3  # lines of a log
_MOST_WORDS = 24
_SAID = re.compile(r"\b(?:error|warning): (?:unknown: )?|\bop ")
_WORDS = re.compile(
    r"(?i)\b(?:[tsgr]mem|tma|im2col|gather4|scatter4|k-major|num_cta|vec_size|sf_?\w*|shape_?[mnk]|s2t|[ug]?mma\w*|ldsm|stsm|utccp|memref|copy_bits|swizzle|coord\w*|tiler|layouts?|fragments?|cluster"
    r"|multimem\S*|mbarrier\S*|tcgen05\S*|pred|smem_desc\w*|atom|composition|scale|rank)\b|\[C[0-9]+\]|[A-D] to have rank|expects A/B"
)  # of CuTe's compiler
_OUT_OF_MEMORY = re.compile(
    r"(?i)\b(?:CUDA (?:error|warning): )?out of memory\b|\bcudaErrorMemoryAllocation\b|OutOfMemoryError"
)
_MEMORY_FIRST = "the text says '{said}' as well: memory ran out, and what else fails may only follow: free some first (a smaller batch or gpu_memory_utilization, other processes on the GPU)"
_STATED = "The message is all that the text says of the cause; it is none of CuTe's, CUDA's or their tools'."
_NO_ERROR = "The text tells no error. Which types, sizes and GPUs the library has kernels for, and which it compiles at the first call, its own documentation lists."
_LAWLESS = "No law here fits its words: the commands below look at what it is about."
_ROW = re.compile(r"\|[^|]{0,60}\|")  # of a table
_NOTE = 400  # characters of a note that is no whole sentence
_UNNAMED = owners.Owner("no project", "the project whose file, command or process name stands before it")


def answers(text: str, place: str | None = None) -> list[Answer]:
    """The answers to the errors in the text, most specific first; none where the text is not known.

    Errors that another tool answers come only where nothing else is found.
    """
    if folding.is_binary(text):
        return []
    folded = folding.fold(text)
    found = _answers(text, folded, place)
    return [_addressed(found[0], folded), *found[1:]] if found else []


def _addressed(answer: Answer, folded: str) -> Answer:
    """The answer with what comes first, memory that ran out, and whose program the text is of, where no sentence names it."""
    out = _OUT_OF_MEMORY.search(folded)
    if out and answer.entry.level != CLEAN and not _OUT_OF_MEMORY.search(f"{answer.title} {answer.quote}"):
        answer = replace(answer, facts=(_MEMORY_FIRST.format(said=out[0]), *answer.facts))
    figures_say = (*devices.staged(folded), *figures.told(folded)) if answer.entry.level != CLEAN else ()
    answer = replace(answer, facts=(*figures_say, *answer.facts)) if figures_say else answer
    where = origin.find(folded)
    said = " ".join((answer.title, answer.cause, answer.remedy, *answer.facts))
    if answer.entry.level == CLEAN or where.maker is None or where.maker.project in said:
        return answer
    told = f"the text is of {where.maker.name} ({where.evidence}): {where.maker.project} answers for what is its own"
    return replace(answer, facts=(*answer.facts, told))


def _answers(text: str, folded: str, place: str | None) -> list[Answer]:
    """The answers to the errors in a text, whose white space `folded` has as single spaces."""
    read = filter(None, (list(_matches(text)) for text in _readings(folded)))
    found = next(read, [])
    if [entry.name for entry, _ in found] == [_OTHER.name]:
        found = next(read, found)
    where = origin.find(folded)
    if found and symptoms.is_warned(folded, found[0][1]):
        entry, match = found[0]
        return [_of_warning(entry, match, where, folded, place, text)]
    found = where.own(found)
    better = {name for entry, _ in found for name in entry.instead_of}
    found = [match for match in found if match[0].name not in better]
    kept = [match for match in found if not match[0].general]
    kept = kept or [match for match in found if match[0].level == CLEAN]
    if where.world == origin.FOREIGN and where.owner and not kept:
        said = telling.line(text) or folded[: answering.MOST_QUOTED]
        parts = {**where.owner._asdict(), "said": said}
        return [answering.of_parts(_FOREIGN, parts, said, folded, place)]
    if not kept and not any(entry is answering.CODED for entry, _ in found):
        others = where.world not in (origin.DSL, origin.OPEN)
        statement = None if others else raised.find(folded)
        statement = statement or (None if where.world == origin.LIBRARY else raised.in_lines(_told(text)))
        if statement:
            return [_of_statement(statement, folded, place)]
        uncoded = None if others else coded.find(folded)
        if uncoded:
            return [answering.of_parts(answering.CODED, _of_code(uncoded), uncoded.said, folded, place)]
    verified = None if found or where.world not in (origin.DSL, origin.OPEN) else _verified(folded)
    if verified:
        cause, helps = refused.answer(verified)
        parts = {"said": verified, "cause": cause, "help": helps}
        return [answering.of_parts(_VERIFIER, parts, verified, folded, place)]
    traceback = None if found else frames.find(folded)
    if traceback and traceback.at:
        return [_of_assertion(traceback, folded, place)]
    if traceback:
        return [_of_traceback(traceback, folded, place)]
    if not found:
        return _of_words(text, folded, place)
    kept = kept or found
    ours = [match for match in kept if match[0].level != ELSEWHERE] or kept
    ordered = _apart(sorted(ours, key=lambda match: match[1].start()))
    first, *rest = [
        answering.of_entry(entry, match, folded, place, text) for entry, match in ordered[:MOST_ANSWERS]
    ]
    if first.entry not in _OPEN and first.entry.name not in (*_OF_LAWS, *_OF_CLAIMS):
        return [first, *rest]
    prose, lawless = symptoms.is_prose(folded), first.entry.name in _OF_CLAIMS
    about = laws.told(text, first.entry, lawless=lawless) if prose else laws.beside(text, first.entry)
    about = () if not prose and (lawless or where.world == origin.COMPILER) else about
    read = symptoms.read(folded) if prose else ()
    return [replace(first, facts=(*first.facts, *read, *about)), *rest]


def _apart(ordered: list[tuple[Known, re.Match[str]]]) -> list[tuple[Known, re.Match[str]]]:
    """The matches without those that read the very words of an earlier one."""
    kept: dict[tuple[int, int], tuple[Known, re.Match[str]]] = {}
    for one in ordered:
        kept.setdefault(one[1].span(), one)
    return list(kept.values())


def _of_warning(
    entry: Known, match: re.Match[str], where: origin.Origin, folded: str, place: str | None, text: str
) -> Answer:
    """The answer to a compiler's warning in a text that has no error: what the entry says, and that the program is made."""
    told = answering.of_entry(entry, match, folded, place, text)
    parts = {"said": told.title, "cause": told.cause, "help": told.remedy}
    parts["project"] = where.project or _UNNAMED.project
    return answering.of_parts(symptoms.WARNING, parts, match[0], folded, place)


def in_sources(found: list[Answer], text: str, sources: Sequence[Path] = ()) -> list[Answer]:
    """The answers with what the sources of libraries say: which statement raises the message, on which condition.

    `sources` are folders that the user names; installed libraries are read where the text is none of the DSL's.
    """
    if found and (found[0].entry.level not in (ELSEWHERE, "rejected") or found[0].entry in _OF_THE_DSL):
        return found
    folded = folding.fold(text)
    if not folding.WRONG.search(folded) and not sources:
        return found
    statement = libraries.find(folded, _told(text), sources)
    if statement is None:
        return found
    said = statement.raised
    library = " ".join(filter(None, (statement.package, statement.version)))
    if found and not (found[0].entry.general and found[0].entry.level == ELSEWHERE):
        fact = f"{library} raises it at {said.place}{_when(said)}"
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
        else conditions.met_by(said.condition)
    )
    traceback = frames.find(folded)
    calls = traceback.place if traceback else ""
    parts = {
        "library": library,
        "said": said.said,
        "function": said.called or "A check",
        "at": said.place,
        "when": _when(said),
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


def _readings(folded: str) -> tuple[str, ...]:
    """The text, and the same without the quotes that pages add to a message or take from it."""
    bare = folded.replace("`", "")
    other = (bare, bare.replace("'", "")) if folding.WRONG.search(folded) else ()
    return tuple(dict.fromkeys((folded, *other)))


def _told(text: str) -> list[str]:
    """The last lines of a text that tell an error, each with its white space folded."""
    lines = text.splitlines() if len(text) < folding.HEAD else []
    told = [
        folding.SPACE.sub(" ", line).strip()
        for line in lines
        if folding.WRONG.search(line) or _DEMANDS.search(line)
    ]
    return [part for line in told[-_MOST_TOLD:] for part in (line, *_QUOTED.findall(line))]


def _of_statement(statement: raised.Raised, folded: str, place: str | None) -> Answer:
    """The answer to a message that a statement of the installed DSL raises."""
    said, where = refused.message(statement.said), f"{statement.place} {statement.function}"
    known = reasons.find(said, where)
    entry = _RAISED if statement.kernel or known else _RAISED_BY_PYTHON
    parts = {"said": said, "function": statement.called, "place": statement.place}
    parts["when"] = _when(statement)
    parts["cause"], parts["help"] = refused.answer(said, where)
    if known is None and statement.asked:
        parts["help"] = f"Call it so that {statement.asked}. {parts['help']}"
    answer = answering.of_parts(entry, parts, said, folded, place)
    return replace(answer, facts=(*statement.described, *answer.facts))


def _verified(folded: str) -> str | None:
    """The message of a verifier of the DSL's library that stands in the text by itself; None where there is none."""
    for start in (0, *(match.end() for match in _SAID.finditer(folded))):
        said = refused.message(folded[start : start + answering.MOST_QUOTED])
        family = next((one for one in reasons.OF_LIBRARY if one.begins(said)), None)
        if family and (folding.OF_DSL.search(folded) or _WORDS.search(said)):
            return said
    return None


def _of_code(found: coded.Coded) -> dict[str, str]:
    """The parts of the answer to a coded error whose text lacks its code."""
    fix = found.fix or filling.fix(found.code)
    return {**found._asdict(), "fix": fix, "cause": coded.cause(found.code)}


def _known_code(code: str) -> bool:
    """Whether this is a code of the DSL, by the table or by the installed DSL."""
    return codes.meaning(code) is not None or bool(installed.advice(code))


def _when(statement: raised.Raised) -> str:
    """On which condition a statement is reached, with what the message prints of it."""
    told = statement.told or (f"`{statement.condition}`" if statement.condition else "")
    values = ", ".join(statement.values)
    return (f" where {told}" if told else "") + (f". Here {values}" if values else "")


def _of_assertion(found: frames.Frames, folded: str, place: str | None) -> Answer:
    """The answer to an assertion of the DSL's Python that has no message."""
    parts = {"said": found.said, "function": found.function, "at": found.at, "place": found.place}
    where = f"{found.at} {found.function}"
    parts["cause"], parts["help"] = refused.answer(found.said, where)
    return answering.of_parts(_ASSERTED, parts, found.said, folded, place)


def _of_traceback(found: frames.Frames, folded: str, place: str | None, entry: Known = _PYTHON) -> Answer:
    """The answer to an exception of Python of which nothing else is known, or to a traceback without its end."""
    parts = found._asdict()
    if not found.place:
        parts["whose"] = found.whose[:1].upper() + found.whose[1:]
    parts["cause"] = found.why or _STATED
    return answering.of_parts(entry, parts, found.said, folded, place)


def _of_words(text: str, folded: str, place: str | None) -> list[Answer]:
    """The answer to a text in which no error is known: by the line that tells most, its symptom, its layouts."""
    where = origin.find(folded)
    symptom = symptoms.find(folded)
    warns = symptom is not None and symptom[0] is symptoms.WARNING
    part = None if warns else frames.cut(folded)
    if part:
        return [_of_traceback(part, folded, place, _CUT)]
    about = [] if warns else symptoms.topics(folded)
    prose = symptoms.is_prose(folded)
    printed = symptoms.of_layouts(folded)
    if about and prose:
        return [_of_prose(symptom, about, text, folded, place)]
    owner = where.owner
    if owner and owner.name in owners.CALLED and owners.of_words(telling.line(text) or folded) is not owner:
        owner = None  # a program that is compared with it, or calls it
    wrong = folding.WRONG.search(folding.without_zeros(folded))
    plain = not (wrong or prose or printed) and (symptom is None or symptom[0] is symptoms.SLOW)
    if plain and symptoms.is_empty(text):
        return [answering.of_parts(symptoms.NOTHING_RAN, {}, folded[: answering.MOST_QUOTED], folded, place)]
    if plain and symptoms.is_table(text):
        return [answering.of_parts(_TABLE, {}, folded[: answering.MOST_QUOTED], folded, place)]
    said = (telling.line(text) or (folded[: answering.MOST_QUOTED] if owner else "")) if wrong else ""
    found = (
        steps.meaning(said)
        if said and where.world == origin.COMPILER
        else demands.of_lines(said, telling.beside(text, said))
    )
    ours = owner or found is demands.DIFFERS or (not prose and symptoms.is_of_gpu(folded))
    told = prose and symptom is not None and symptom[0] in _OF_PEOPLE
    if said and found and not warns and ours and not told:
        parts = {**(owner or _UNNAMED)._asdict(), "kind": "an error", "said": said}
        parts |= {"cause": found.cause, "help": found.helps, "project": where.project or _UNNAMED.project}
        return [answering.of_parts(_NAMED, parts, said, folded, place)]
    note = prose or not (wrong or printed or len(folded) > _NOTE or _ROW.search(folded))
    noted = (
        note
        and symptoms.is_of_gpu(folded)
        and (laws.find(text, laws.kind(None, folded)) or named.documented(text))
    )
    if symptom or (noted and not warns):
        return [_of_prose(symptom, about or symptoms.of_kernel(folded), text, folded, place)]
    mild = prose and not said and owner is not None and owner.name not in owners.CALLED
    said = " ".join(folded.split()[:_MOST_WORDS]) if mild else said
    if said and owner:
        kind, why = ("a note", _NO_ERROR) if mild else ("an error", _STATED)
        parts = {"name": owner.name, "project": where.project, "kind": kind, "said": said, "cause": why}
        return [answering.of_parts(_NAMED, parts, said, folded, place)]
    if printed:
        entry, parts, layouts = printed
        return [replace(answering.of_parts(entry, parts, layouts[0], folded, place), facts=layouts)]
    note = note or wrong or "? " in folded
    return [_of_prose(None, about, text, folded, place)] if about and note else []


def _of_prose(
    symptom: tuple[Known, re.Match[str]] | None,
    about: list[tuple[Known, re.Match[str]]],
    text: str,
    folded: str,
    place: str | None,
) -> Answer:
    """The answer to a text that tells a symptom or is about something of a kernel: with the laws of what it names, and its layouts."""
    first = symptom or about[0]
    answer = answering.of_entry(*first, folded, place, text)
    owner = None if symptom else origin.find(folded).owner
    if owner and owner.name in owners.CALLED:
        owner = None  # which it is compared with, or calls
    if owner and owners.compiles(owner) and folding.OF_DSL.search(folded):
        owner = None  # which the writer compares the DSL with
    whose = (f"the text names {owner.name}: of its own kernels {owner.project} answers",) if owner else ()
    told = (
        ()
        if first[0] is symptoms.DEBUGGER
        else laws.told(text, first[0], first[1].groupdict().get("said") or "")
    )
    facts = (
        *answer.facts,
        *symptoms.read(folded, symptom is not None),
        *whose,
        *told,
        *(named.documented(text) if first[0] in tables.TOPICS else ()),
        *symptoms.layouts(folded),
    )
    lawless = first[0] in tables.TOPICS and not facts
    return replace(answer, facts=facts, cause=_LAWLESS if lawless else answer.cause)


def _matches(folded: str) -> Iterator[tuple[Known, re.Match[str]]]:
    lowered = folded.lower()
    told = symptoms.unsettled(folded) if symptoms.is_prose(folded) else folded
    for entry in ENTRIES:
        match = entry.words.search(told if entry.name in _TOLD_BY_PEOPLE else folded, lowered)
        if match and entry.name in answering.OF_COMPILERS and _OF_PARSER.search(match[0]):
            every = itertools.islice(entry.words.pattern.finditer(folded), _MOST_ERRORS)
            match = next((one for one in every if not _OF_PARSER.search(one[0])), match)
        if not match or not _is_known(entry, match, folded):
            continue
        if entry is answering.CODE_ALONE and match["named"] and not _known_code(match["named"]):
            continue  # a name in capitals of another program
        if entry is _NAME and not _of_compiled(folded):
            continue  # Python's own words, which say nothing of a compiled function
        if entry is answering.FEW_CONFLICTS and not 0 < answering.share(match) < _NOTICED:
            continue
        spoken = entry in _SPOKEN and symptoms.is_prose(folded)
        wrong = spoken or symptoms.tells_wrong(folding.without_zeros(folded))
        if entry.level == CLEAN and entry.general and wrong:
            continue  # lines of a text whose error is another one
        owner = origin.find(folded).owner if entry is _DIED else None
        if owner and owner.name in owners.CALLED and not folding.OF_CPP.search(folded):
            continue  # of another program
        if entry is _ERROR_TYPE and match["what"] and folding.COMPILES.search(folded, 0, match.start()):
            continue  # the error that it follows from stands before it
        if entry is _NO_OVERLOAD and not (folding.OF_CPP.search(folded) or "::" in match[0]):
            continue  # a function of the user's or another project's own
        if entry is answering.COMPANION and not installed.imported(match["function"]):
            continue
        yield entry, match


def _of_compiled(folded: str) -> bool:
    """Whether the text is about a function that the DSL compiles."""
    where, own = origin.find(folded), _IN_A_FUNCTION.search(folded) is not None
    return own or where.world == origin.DSL or (where.owner is None and bool(folding.OF_DSL.search(folded)))


def _is_known(entry: Known, match: re.Match[str], folded: str) -> bool:
    """Whether the installed DSL defines what the entry asks for, or a line of its own raises the message."""
    asked = [match[group] for group in entry.defined.split() if match[group]]
    return all(map(installed.knows, asked)) or origin.find(folded).world == origin.DSL
