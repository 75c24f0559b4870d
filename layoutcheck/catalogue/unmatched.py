"""What is said of a text that no entry of its own answers: by the statement that raises it, its traceback, its words."""

from __future__ import annotations

import re
from dataclasses import replace

from layoutcheck.catalogue import (
    answering,
    codes,
    demands,
    evidence,
    filling,
    folding,
    frames,
    laws,
    machines,
    meanings,
    origin,
    owners,
    questions,
    raised,
    reasons,
    refused,
    results,
    spoken,
    steps,
    symptoms,
    tables,
    telling,
)
from layoutcheck.catalogue.answering import Answer
from layoutcheck.catalogue.entry import Known
from layoutcheck.digits import many

_VERIFIER = tables.called("dsl.other-verifier")
_RAISED, _ASSERTED = tables.called("dsl.raised"), tables.called("dsl.asserted")
_RAISED_BY_PYTHON = tables.called("elsewhere.raised")
_PYTHON, _CUT = tables.called("elsewhere.python"), tables.called("elsewhere.cut-traceback")
_NAMED, _FOREIGN = tables.called("elsewhere.named"), tables.called("elsewhere.other-program")
_TABLE, _QUESTION = tables.called("clean.table"), tables.called("question")
# as they tell a fault, without its error
_DIFFERS = tables.called("results-differ")
_COMPARES = re.compile(
    r"\(?(?:actual|out\w*|result\w*|got) ?== ?(?:expected|ref\w*|golden|gold)\w*\)? is false|torch\.all\(.{1,80}\) is false"
)
_OF_PEOPLE = tables.called("symptom.wrong"), tables.called("symptom.hang")
_QUOTED = re.compile(r"['\"`]([A-Z][^'\"`]{15,200})['\"`]")  # a message in a line of its reader
_DEMANDS = re.compile(r"\b(?:must (?:be|have|not)|expect(?:s|ed)|should be)\b")
_MOST_TOLD = 3  # lines of a log
_MOST_WORDS = 24
_SUBJECT = 160  # characters of a question
_SAID = re.compile(r"\b(?:error|warning): (?:unknown: )?|\bop ")
_WORDS = re.compile(
    r"(?i)\b(?:[tsgr]mem|tma|im2col|gather4|scatter4|k-major|num_cta|vec_size|sf_?\w*|shape_?[mnk]|s2t|[ug]?mma\w*|ldsm|stsm|utccp|memref|copy_bits|swizzle|coord\w*|tiler|layouts?|fragments?|cluster"
    r"|multimem\S*|mbarrier\S*|tcgen05\S*|pred|smem_desc\w*|atom|composition|scale|rank)\b|\[C[0-9]+\]|[A-D] to have rank|expects A/B"
)  # of CuTe's compiler
_DEMAND = 200  # characters of a demand that stands alone
_REPORTED = re.compile(
    r"(?i)error|exception|traceback|failed|\?|: \w+: |\b(?:I|we|my)\b"
)  # with what prints it, or by a person
_DEMANDED = re.compile(
    r"\b(?:must|MUST|can only be)\b|\b[Rr]equires?\b|\b[Oo]nly (?:[\w-]+ ){0,4}?support|\b(?:does|do)(?: not|n't) (?:\w+ )?(?:support|match|divide)|not supported|\bcannot\b|\bExpected?\b"
)
_OF_TEMPLATES = re.compile(
    r"\bSM(?:70|75|80|89|90|100|103|120)_\w+|\b(?!AssertionError)[A-Z][a-z]\w*(?:Layout|Shape|Stride|Tile|Atom|Copy|Mma|MNKL?)\w*|\b(?:Smem|Gmem|Element|Tile_|BLK_|CTA_|Sm[0-9]+)\w+|\b(?:[rsgt]mem|RF|register) resident\b|\bEVT\b|\b(?:MN|K)[- ]major inputs|\bPingpong kernel|\bCooperative kernels?|\bCpAsync main"
)
_TOLD = re.compile(r"\b(?:I|[Mm]y|[Ww]e|[Oo]ur)\b")  # a person tells it
_STATED = "The message is all that the text says of the cause; it is none of CuTe's, CUDA's or their tools'."
_NO_ERROR = "It states no error that is known here: its project answers what it supports and which options it has. A layout, copy or barrier is judged where it stands in numbers."
UNNAMED = owners.Owner("no project", "the project whose file, command or process name stands before it")


def of_program(owner: owners.Owner, text: str, folded: str, place: str | None) -> Answer:
    """The answer to a message of a program without kernels."""
    said = telling.line(text) or folded[: answering.MOST_QUOTED]
    return answering.of_parts(_FOREIGN, {**owner._asdict(), "said": said}, said, folded, place)


def of_statement(world: str, text: str, folded: str, place: str | None) -> Answer | None:
    """The answer to a message that a statement of the DSL raises, or that has a code there; None where there is none."""
    others = world not in (origin.DSL, origin.OPEN)
    statement = None if others else raised.find(folded)
    statement = statement or (None if world == origin.LIBRARY else raised.in_lines(told(text)))
    if statement:
        return _of_statement(statement, folded, place)
    found = None if others else codes.find(folded)
    if found is None:
        return None
    fix = found.fix or filling.fix(found.code)  # of an error whose text lacks its code
    parts = {**found._asdict(), "fix": fix, **codes.told(found.code, found.said)}
    return answering.of_parts(answering.CODED, parts, found.said, folded, place)


def of_refusal(world: str, text: str, folded: str, place: str | None) -> Answer | None:
    """The answer to a verifier's message that stands by itself, or to a traceback; None where there is neither."""
    verified = None if world not in (origin.DSL, origin.OPEN) else _verified(folded)
    if verified:
        cause, helps = refused.answer(verified)
        parts = {"said": verified, "cause": cause, "help": helps}
        return answering.of_parts(_VERIFIER, parts, verified, folded, place)
    traceback = frames.find(folded)
    if traceback is None:
        return None
    traceback = traceback._replace(said=folding.without_source(text, traceback.said))
    if differ := _of_results(traceback, folded, place):
        return differ
    return (_of_assertion if traceback.at else _of_traceback)(traceback, folded, place)


def _of_results(found: frames.Frames, folded: str, place: str | None) -> Answer | None:
    """The answer to a test's assertion that compares a result with what is expected; None for any other."""
    if found.why != demands.DIFFERS.cause and not _COMPARES.fullmatch(found.said):
        return None
    answer = answering.of_parts(_DIFFERS, {}, found.said, folded, place)
    where = demands.DIFFERS.cause.partition(". ")[2]  # what the places that differ tell
    answer = replace(
        answer, cause=f"{answer.cause} {where}", facts=(*results.rounding(folded), *answer.facts)
    )
    return spoken.led(answer, laws.told(folded, _DIFFERS), folded)


def told(text: str) -> list[str]:
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
    parts["when"] = when(statement)
    parts["cause"], parts["help"] = refused.answer(said, where)
    if parts["cause"] == refused.OTHER and parts["when"]:
        parts["cause"] = ""  # which the condition tells
    if known is None and statement.asked:
        parts["help"] = f"Call it so that {statement.asked}. {parts['help']}"
    answer = answering.of_parts(entry, parts, said, folded, place)
    return replace(answer, facts=(*statement.described, *answer.facts))


def site(match: re.Match[str], folded: str) -> tuple[str, ...]:
    """Where the installed DSL raises the message that an entry matches, and on which condition; none where it does not."""
    found = raised.find(folded)
    meets = found is not None and (match[0] in found.said or found.said in match[0])
    if not (found and meets):
        return ()
    others = f" and {many(found.places - 1, 'other place')}" if found.places > 1 else ""
    return (f"the installed DSL raises it at {found.place}{others}{when(found)}",)


def _verified(folded: str) -> str | None:
    """The message of a verifier of the DSL's library that stands in the text by itself; None where there is none."""
    for start in (0, *(match.end() for match in _SAID.finditer(folded))):
        said = refused.message(folded[start : start + answering.MOST_QUOTED])
        family = next((one for one in reasons.OF_LIBRARY if one.begins(said)), None)
        if family and (folding.OF_DSL.search(folded) or _WORDS.search(said)):
            return said
    return None


def when(statement: raised.Raised) -> str:
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


def as_assertion(folded: str) -> str:
    """A short demand in CUTLASS' own names, as the compiler prints it around the message; "" for any other text."""
    short = len(folded) < _DEMAND and not _REPORTED.search(folded) and not folding.OF_DSL.search(folded)
    plain = short and _OF_TEMPLATES.search(folded) and _DEMANDED.search(folded) and '"' not in folded
    return f'error: static assertion failed with "{folded.strip()}" cute::' if plain else ""


def of_words(text: str, folded: str, place: str | None) -> list[Answer]:
    """The answer to a text in which no error is known: by the line that tells most, its symptom, its layouts."""
    where = origin.find(folded)
    symptom = symptoms.find(folded)
    of_others = any(machines.targets(folded)) or symptoms.is_of_whole_programs(folded)
    if symptom and symptom[0] is symptoms.SLOW and of_others:
        symptom = None  # it is slow without an instruction that the target lacks, or no kernel is told of
    warns = symptom is not None and symptom[0] is symptoms.WARNING
    if part := None if warns else frames.cut(folded, evidence.stated(text)):
        return [_of_traceback(part, folded, place, _CUT)]
    prose, printed = symptoms.is_prose(folded), symptoms.of_layouts(folded)
    wrong = folding.WRONG.search(folding.without_zeros(folded))
    owner = where.owner
    named = origin.find(telling.line(text) or folded).owner
    by_name = prose and where.evidence == origin.BY_WORDS and _TOLD.search(folded)
    if owner and named is not owner and (by_name or owner.name in owners.CALLED):
        owner = None  # what is compared with it, calls it, or passes its tensors
    asks = questions.asks(text) or (not owner and (prose or not (wrong or printed)))
    mentioned = symptom is not None and questions.outweighs(text, *symptom)
    if asks and not warns and (symptom is None or mentioned):
        told = questions.find(text, folded)
        if told or (symptom and symptom[0].level == "wrong" and "\n" in text.strip()):
            return [of_question(told, folded, place)] if told else []
    if symptom and prose and not (wrong and owner) and symptoms.is_of_gpu(folded):
        return [_of_prose(symptom, text, folded, place)]
    plain = not (wrong or prose or printed) and (symptom is None or symptom[0] is symptoms.SLOW)
    rows = symptoms.NOTHING_RAN if symptoms.is_empty(text) else _TABLE if symptoms.is_table(text) else None
    if plain and rows:
        return [answering.of_parts(rows, {}, folded[: answering.MOST_QUOTED], folded, place)]
    said = (telling.line(text) or (folded[: answering.MOST_QUOTED] if owner else "")) if wrong else ""
    of_people = prose and symptom is not None and symptom[0] in _OF_PEOPLE
    meant = None if warns or of_people or not said else _meant(said, where, owner, text, folded)
    if meant:
        parts = {**(owner or UNNAMED)._asdict(), "project": where.project or UNNAMED.project}
        parts |= {"kind": "an error", "said": said, "cause": meant.cause, "help": meant.helps}
        answer = answering.of_parts(_NAMED, parts, said, folded, place)
        found = laws.fits(text, laws.kind(None, text), laws.PLAIN) if prose else []
        return [replace(answer, facts=(*answer.facts, *(spoken.may_be(one.law) for one in found)))]
    if symptom:
        return [_of_prose(symptom, text, folded, place)]
    mild = prose and not said and owner is not None and owner.name not in owners.CALLED
    said = " ".join(folded.split()[:_MOST_WORDS]) if mild else said
    if said and owner:
        kind, why = ("a text without an error", _NO_ERROR) if mild else ("an error", _STATED)
        parts = {"name": owner.name, "project": where.project, "kind": kind, "said": said, "cause": why}
        return [answering.of_parts(_NAMED, parts, said, folded, place)]
    if printed:
        entry, parts, layouts = printed
        return [replace(answering.of_parts(entry, parts, layouts[0], folded, place), facts=layouts)]
    return []


def _meant(
    said: str, where: origin.Origin, owner: owners.Owner | None, text: str, folded: str
) -> meanings.Meaning | None:
    """What the line that tells most of an error means, where it is of a library or of a kernel."""
    if where.world == origin.COMPILER:
        found = steps.meaning(said)
        found = demands.REFUSED if found == demands.INNER and owner and owners.is_of_graphs(owner) else found
    else:
        found = demands.of_lines(said, telling.beside(text, said))
    ours = owner or found is demands.DIFFERS or (not symptoms.is_prose(folded) and symptoms.is_of_gpu(folded))
    return found if ours else None


def of_question(told: questions.Told, folded: str, place: str | None) -> Answer:
    """The answer to a question or a note: what the model works out of it, or the documents say."""
    said = answering.shortened(told.subject, _SUBJECT)
    parts = {"said": said, "fact": told.answer, "help": told.helps}
    answer = answering.of_parts(_QUESTION, parts, said, folded, place)
    return replace(answer, quote="", facts=told.others)


def _of_prose(symptom: tuple[Known, re.Match[str]], text: str, folded: str, place: str | None) -> Answer:
    """The answer to a text that tells a symptom: with the laws of what it names, and its layouts."""
    entry, match = symptom
    answer = answering.of_entry(entry, match, folded, place, text)
    others = entry is symptoms.UNTOLD and origin.find(folded).world == origin.COMPILER
    told = laws.told(text, entry, lawless=entry is symptoms.DEBUGGER or others)
    facts = (*answer.facts, *symptoms.read(folded))
    quote = spoken.quoted(folded, match[0], questions.prose(text))
    answer = spoken.led(replace(answer, quote=quote, facts=facts), told, folded)
    return replace(answer, facts=(*answer.facts, *symptoms.layouts(folded)))
