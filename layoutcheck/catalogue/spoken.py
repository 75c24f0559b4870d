"""What a person is told first: what the text's own numbers or words name, then what they leave open, then advice in three lines."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from layoutcheck.catalogue import (
    accesses,
    answering,
    devices,
    figures,
    laws,
    machines,
    pitches,
    stages,
    symptoms,
    tables,
    whose,
)
from layoutcheck.catalogue.answering import Answer
from layoutcheck.catalogue.meanings import named
from layoutcheck.catalogue.rows import SENTENCES

_ADVICE = 222  # characters: three lines
_LONGEST = 200  # of a sentence that is quoted
_STOP = re.compile(r"(?<=[.!?]) (?=[\w'\"`(])|(?<=[\u3002\uff01\uff1f])")
_PARTS = re.compile(r"(?<=[.;]) (?![^()]*\))")  # but within brackets
_COMMAND = re.compile(r"(?:^| )(?:```|\$ |cmake |nvcc |pip |python3? |export |#include|[^ ]+ --?\w+[ =]).*")
_FEWEST = 4  # words
_AFTER = re.compile(r";(?= [A-Z`])")  # where what stood between is left out
OPEN = (tables.called("kernel-hangs"), tables.called("results-differ"))  # which name no cause of their own
_BY_TMA = tables.called("cuda.misaligned-tma")
_SHOWN = named("shown")  # by what of a symptom one sees which law is broken


def is_open(answer: Answer) -> bool:
    """Whether an answer's entry names no cause of its own, or many."""
    entry = answer.entry
    unsaid = entry.cause.startswith((SENTENCES["OPEN"], SENTENCES["LAW"]))
    return unsaid or entry in OPEN or entry.name in whose.FAULTS


def _is_led(answer: Answer) -> bool:
    """Whether a law may stand before the cause of an answer's entry: one that is open, and not the rule of TMA's addresses."""
    return is_open(answer) and answer.entry is not _BY_TMA


@lru_cache(maxsize=8)
def numbers(folded: str) -> tuple[str, ...]:
    """What the numbers of a text decide."""
    every = (stages.told, devices.beyond, pitches.told, figures.told)
    maps = tuple(_map(folded)) if "lobal" in folded and figures.fails_by_map(folded) else ()
    return (*maps, *(fact for told in every for fact in told(folded)), *worked_out(folded))


def _map(folded: str) -> list[str]:
    from layoutcheck.catalogue import tensor_map  # of TMA's limits, which other texts do not need

    return tensor_map.faults(folded) or tensor_map.extents(folded)


@lru_cache(maxsize=8)
def worked_out(folded: str) -> tuple[str, ...]:
    """What layouts, counts and instructions of a text come to by the model."""
    every = (accesses.told, machines.told, devices.refused)
    return tuple(fact for told in every for fact in told(folded))


def led(answer: Answer, told: laws.Told, folded: str) -> Answer:
    """The answer, of a text with these laws, that leads with the first of them, unless numbers or its entry name a cause."""
    entry = answer.entry
    general = whose.without_cute(entry, entry.cause.partition("{")[0].strip(), folded)
    leads = told.order or (told.leads and _is_led(answer) and not numbers(folded))
    ruled = bool(told.laws) and leads and general in answer.cause
    if not ruled:
        return replace(answer, facts=(*answer.facts, *told.own, *told.laws))
    first, *others = told.laws
    before, _, _ = answer.cause.partition(general)
    cause = f"{before}{first} {_unsaid(laws.kind(entry, folded))}".rstrip()
    facts = (*answer.facts, *told.own, *others)
    return replace(answer, cause=cause, facts=facts, remedy=_short(answer.remedy))


def _unsaid(kind: str) -> str:
    """That the text does not show this law to be the broken one, and what would."""
    return SENTENCES["UNSAID"].replace("THIS", _SHOWN[kind]) if kind in _SHOWN else ""


def _short(remedy: str) -> str:
    """The sentences of an advice that fit three lines: the first with a command of layoutcheck, who takes a report, then those that begin it."""
    parts = _PARTS.split(remedy)
    words = ("layoutcheck trace" if "layoutcheck trace" in remedy else "layoutcheck", "eport it")
    kept = {next((at for at, part in enumerate(parts) if word in part), 0) for word in words}
    for at in range(len(parts)):
        if sum(len(parts[one]) + 1 for one in {*kept, at}) > _ADVICE:
            break
        kept.add(at)
    return _AFTER.sub(".", " ".join(parts[at] for at in sorted(kept))).rstrip(";. ")


def quoted(folded: str, match: re.Match[str]) -> str:
    """The person's sentence in which a match stands, without a command behind it; "" where it is none."""
    ends = [0, *(stop.end() for stop in _STOP.finditer(folded)), len(folded)]
    start = max(end for end in ends if end <= match.start())
    said = folded[start : min((end for end in ends if end >= match.end()), default=len(folded))].strip()
    if len(said) > _LONGEST:
        start = folded.rfind(" ", 0, max(start, match.start() - _LONGEST // 2) + 1) + 1
        said = answering.shortened(folded[start:], _LONGEST)
    said = _COMMAND.sub("", said)
    return said if len(said.split()) >= _FEWEST and symptoms.is_prose(said) else ""
