"""The answer to a person's question that states no error: what the model works out of its numbers, then what the documents say.

`asking` reads what is asked, `worked` and `fragments` work out, `passages` finds what layoutcheck's own documents say of the
question's subject. The installed DSL's documentation answers for the names that the question itself has.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutcheck.catalogue import laws, named, symptoms
from layoutcheck.catalogue.entry import Known
from layoutcheck.catalogue.law import normal
from layoutcheck.catalogue.meanings import first, read
from layoutcheck.catalogue.questions import asking, passages, specs, worked
from layoutcheck.catalogue.questions.asking import Asked

_CODE = re.compile(r"\bLC[0-9]{3}\b")
_DOUBT = re.compile(
    r"(?i)\bfalse[ -](?:positive|alarm)|\breal\b|\bspurious|\bharmless|\bignore|\bis (?:it|this|that) (?:right|true|correct|a bug)|\bresults? (?:are|is) (?:right|correct|fine)"
)
_RUN = read("commands")
_PLAINLY = 6.0  # weight of a law that answers by whatever it is about
_CALLED = 2.9  # weight of a law that answers where no passage does
_MOST = 3  # facts
_PLAIN = 2.2  # fit of a passage for a question without any word of a GPU
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
    if asking.is_log(text) or not (asked.asking or symptoms.is_prose(folded) or passages.named(folded)):
        return None
    if doubted := _doubted(folded):
        return Told(asked.headline, *doubted)
    found, numbers = passages.find(asking.read(symptoms.unsettled(text))), worked.told(asked, text, folded)
    limits = specs.told(asked)
    numbers = (*numbers, *limits)
    known = passages.named(asked.subject)
    plain = found and found[0].fit >= _PLAIN
    if not symptoms.is_of_gpu(folded) and not (asked.asking and (plain or numbers or known)):
        return None
    documented = named.documented(asked.subject)
    said = [one.passage for one in found] or ([] if documented else _of_laws(text, asked))
    said = [] if limits else said[: 1 if numbers else None]
    own = [] if any(known & one.names for one in said) else documented
    printed = (*(one for one in numbers if worked.DESCRIBED in one), *worked.layouts(asked.subject))
    numbers = tuple(one for one in numbers if worked.DESCRIBED not in one)
    printed, more = printed[:1], printed[1:]  # what the text asks of its own layouts comes first
    told = [*dict.fromkeys((*numbers, *own, *printed, *map(str, said), *more, *documented))]
    if not told:
        return None
    if not asked.asking:  # a note, whose other words may call for a law
        law = map(str, laws.find(text, laws.kind(None, text), _CALLED)[:1])
        told = [*dict.fromkeys((*told, *law))]
    return Told(asked.headline, told[0], tuple(told[1:_MOST]), _helps(asked.subject, told[:_MOST], said))


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


def _of_laws(text: str, asked: Asked) -> list[passages.Passage]:
    """The law that the words of a whole text call for, if what it is about is what the text asks."""
    subject = normal(asked.subject or asked.prose)
    kind = laws.kind(None, text)
    found = laws.find(text, kind, _CALLED) if asked.asking else laws.find(text, kind)
    plain = laws.find(text, kind, _PLAINLY)
    return [
        passages.of_law(one)
        for one in found
        if any(
            noun in subject for noun in (laws.own(one) if asked.asking and one not in plain else one.nouns)
        )
    ][:1]


def _doubted(folded: str) -> tuple[str, tuple[str, ...], str] | None:
    """What decides whether a finding of layoutcheck, whose code the text has, is real."""
    code = _CODE.search(folded)
    if code is None or not _DOUBT.search(folded):
        return None
    page = next((one for one in passages.passages() if one.source == code[0]), None)
    if page is None:
        return None
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
        f"{page.about.partition(' ')[2]} {page.says} {why} ({code[0]})",
        (),
        f"{run}. `layoutcheck rule {code[0]}` has what stands behind it, and how it is silenced. A finding that is false is a fault of layoutcheck: report it",
    )


def _helps(subject: str, told: list[str], found: list[passages.Passage]) -> str:
    """What to read: the page of a passage; and what to run, by the question's subject, where no fact of its own answers it."""
    codes = list(dict.fromkeys(code for one in told for code in _CODE.findall(one)))[:1]
    guide = next((one.source for one in found if one.source.startswith("docs/")), "")
    read = [f"`layoutcheck rule {code}`" for code in codes] + ([guide] if guide else [])
    where = f"{' and '.join(read)} say{'s' * (len(read) == 1)} more" if read else ""
    run = command.cause if (command := first(_RUN, subject)) else ""
    return ". ".join(filter(None, (where, run)))
