"""The answer to a person's question that states no error: what the model works out of its numbers, then what the documents say.

`asking` reads what is asked, `worked` and `fragments` work out, `specs` has the limits that are asked for; a law is told whose
words the text has. The installed DSL's documentation answers for the names that the question itself has.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutcheck.catalogue import laws, named, symptoms
from layoutcheck.catalogue.entry import TRACE, Known
from layoutcheck.catalogue.meanings import first, read
from layoutcheck.catalogue.questions import asking, specs, worked
from layoutcheck.markdown import page_file

_CODE = re.compile(r"\bLC[0-9]{3}\b")
_DOUBT = re.compile(
    r"(?i)\bfalse[ -](?:positive|alarm)|\breal\b|\bspurious|\bharmless|\bignore|\bis (?:it|this|that) (?:right|true|correct|a bug)|\bresults? (?:are|is) (?:right|correct|fine)"
)
_RUN = read("commands")
_MOST, _NOTE = 3, 60  # facts, characters of a note of a few words
_RULES = "The law nearest to its words, which need not answer it: "
_ABOUT = "No error or question that is known here stands in the text. It may be about this: "
_OF_DSL = re.compile(r"@cute\.(?:kernel|jit)\b|\bimport cutlass\b")  # a program that can be traced
_MORE = "The line that a program prints of the fault, or the layouts as it prints them, (shape):(stride), tell more than their description: paste them"
# which a question may mention
_WEAK = (
    "symptom.wrong",
    "symptom.slow",
    "symptom.conflicts",
    "symptom.resources",
    "symptom.spills",
    "symptom.barrier",
    "results-differ",
)


class Told(NamedTuple):
    """The subject of a question; what answers it first; what else does; what to run or read."""

    subject: str
    answer: str
    others: tuple[str, ...]
    helps: str


def find(text: str, folded: str) -> Told | None:
    """What answers the question, or the note, of a text; None where nothing has enough of its words."""
    asked = asking.read(text)
    functions = tuple(worked.functions(asked.subject))
    documented = (*functions, *named.documented(asked.subject))
    keyed, rest = laws.keyed(asked.subject)
    meant = bool(keyed) and asking.is_bare(rest) and not (asked.prose or asked.code)
    fits = laws.fits(symptoms.unsettled(text), "ask", subject=asked.subject)
    found = keyed if meant else [one.law for one in fits] or keyed
    note = symptoms.is_prose(folded) or (found and len(text) < _NOTE and "|" not in text)
    if asking.is_log(text) or not (asked.asking or documented or note):
        return None
    if doubted := _doubted(folded):
        return Told(asked.headline, *doubted)
    numbers, limits = worked.told(asked, text, folded), specs.told(asked)
    others = specs.besides(asked) if limits or not numbers else ()
    numbers = (*numbers, *limits)
    if not symptoms.is_of_gpu(folded) and not (asked.asking and (found or numbers or documented)):
        return None
    printed = (*(one for one in numbers if worked.DESCRIBED in one), *worked.layouts(asked.subject))
    numbers = tuple(one for one in numbers if worked.DESCRIBED not in one)
    said = tuple(map(str, found[: 1 if numbers or documented else 2]))
    printed, more = printed[:1], printed[1:]  # what the text asks of its own layouts comes first
    last = (*others, *more, *documented) if limits else (*more, *documented, *others)
    told = [*dict.fromkeys((*numbers, *functions, *printed, *said, *last))]
    if not told:
        return None
    opened = "" if meant or told[0] not in said else _RULES if asked.asking else _ABOUT
    helps = _helps(asked.subject, told[:_MOST])
    if opened:
        run = TRACE if _OF_DSL.search(text) else ""
        helps = ". ".join(filter(None, (helps, run, _MORE if opened is _ABOUT else "")))
    return Told(asked.headline, f"{opened}{told[0]}", tuple(told[1:_MOST]), helps)


def prose(text: str) -> str:
    """The sentences of a text, without its code; those that ask stand first."""
    title, asking_, other, _ = asking.read(text)
    return " ".join((title, *asking_, other))


def asks(text: str) -> bool:
    """Whether a sentence of a text asks something."""
    return bool(asking.read(text).asking)


def outweighs(text: str, symptom: Known, match: re.Match[str]) -> bool:
    """Whether a text asks to understand something, and only mentions a symptom behind it."""
    asked = asking.read(text)
    if symptom.name in _WEAK and specs.told(asked):
        return True
    chief = asked.title or next(iter(asked.asking), "")
    if symptom.name not in _WEAK or not asked.understands:
        return False
    inside = any(match[0] in one for one in asked.asking)
    return "? " in match[0] or (match[0] not in chief and (bool(asked.title) or not inside))


def _doubted(folded: str) -> tuple[str, tuple[str, ...], str] | None:
    """What decides whether a finding of layoutcheck, whose code the text has, is real."""
    code = _CODE.search(folded)
    if code is None or not _DOUBT.search(folded):
        return None
    try:
        title, _, page = page_file(code[0]).partition("\n\n")
    except OSError:  # no rule has this code
        return None
    means = " ".join(page.partition("## What it means\n")[2].partition("\n## ")[0].split())
    ordered = code[0].startswith("LC5")
    why = (
        "Right results prove nothing here: the order of accesses that nothing orders changes with timing, block and GPU."
        if ordered
        else "The finding names what it was worked out from: types, layouts, addresses; it is false only if one of these is."
    )
    run = (
        "`layoutcheck confirm --order 'SCRIPT'` delays one of the two accesses on a GPU: a result that changes proves it"
        if ordered
        else "`layoutcheck confirm` runs the copy on a GPU and compares each element"
    )
    return (
        f"{title.partition(code[0])[2].strip()} {means} {why} ({code[0]})",
        (),
        f"{run}. `layoutcheck rule {code[0]}` has what stands behind it, and how it is silenced. A finding that is false is a fault of layoutcheck: report it",
    )


def _helps(subject: str, told: list[str]) -> str:
    """What to read, the rule that an answer names; and what to run, by the question's subject."""
    codes = list(dict.fromkeys(code for one in told for code in _CODE.findall(one)))[:1]
    run = command.cause if (command := first(_RUN, subject)) else ""
    return ". ".join(filter(None, (*(f"`layoutcheck rule {one}` says more" for one in codes), run)))
