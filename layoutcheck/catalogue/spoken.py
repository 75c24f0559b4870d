"""What a person is told first: what the text's own numbers or words name, then what they leave open, then advice in three lines."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from layoutcheck.catalogue import (
    accesses,
    answering,
    devices,
    edges,
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
from layoutcheck.catalogue.law import Law
from layoutcheck.catalogue.orders import Order
from layoutcheck.catalogue.rows import SENTENCES

CLAIM = "the text itself says: "
_ADVICE = 222  # characters: three lines
_LONGEST = 200  # of a sentence that is quoted
_STOP = re.compile(r"(?<=[.!?]) (?=[\w'\"`(])|(?<=[\u3002\uff01\uff1f])")
_PARTS = re.compile(r"(?<=[.;]) (?![^()]*\))")  # but within brackets
_COMMAND = re.compile(r"(?:^| )(?:```|\$ |cmake |nvcc |pip |python3? |export |#include|[^ ]+ --?\w+[ =]).*")
_FEWEST = 4  # words
_AFTER = re.compile(r";(?= [A-Z`])")  # where what stood between is left out
OPEN = (tables.called("kernel-hangs"), tables.called("results-differ"))  # which name no cause of their own
_BY_TMA = tables.called("cuda.misaligned-tma")  # the rule of TMA's addresses, before which no law stands


def is_open(answer: Answer) -> bool:
    """Whether an answer's entry names no cause of its own, or many."""
    entry = answer.entry
    unsaid = entry.cause.startswith((SENTENCES["OPEN"], SENTENCES["LAW"]))
    return unsaid or entry in OPEN or entry.name in whose.FAULTS


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
    """The answer, of a text with these laws, which says what the text tells of its cause itself, and what may be it.

    What its code decides by the entry's own rule is the cause. The likeliest law stands before what the entry may have for causes,
    unless numbers or the entry name one.
    """
    entry, first = answer.entry, next(iter(told.laws), None)
    general = whose.without_cute(entry, entry.cause.partition("{")[0].strip(), folded)
    if not is_open(answer) or entry is _BY_TMA or general not in answer.cause:
        claims = (f"{CLAIM}{one}" for one in told.claims)
        return replace(answer, facts=(*answer.facts, *claims, *told.code, *map(may_be, told.laws)))
    said = "; ".join(f"'{one.rstrip('.')}'" for one in told.claims)
    edge = next((one for one in answer.facts if one.startswith(edges.LEAVES)), "")
    answer = replace(answer, facts=tuple(one for one in answer.facts if one is not edge))
    opened = f"The text itself says: {said}." if said else "" if edge else SENTENCES["OPEN"]
    opened = f"{edge[:1].upper()}{edge[1:]}. {opened}".rstrip() if edge else opened
    before, _, behind = answer.cause.partition(general)
    decided = next((one for one in told.code if entry.rule and f"({entry.rule})" in one), "")
    if decided:
        cause, remedy = f"The code that stands in the text tells it: {decided}.", _short(answer.remedy)
        facts = tuple(one for one in told.code if one != decided)
    elif first and told.leads and not numbers(folded):
        cause, remedy = f"{opened} By its words it may be this: {first}{_tells(first)}", _short(answer.remedy)
        facts = (*told.code, *map(may_be, told.laws[1:]))
    else:
        unsaid = general.startswith(SENTENCES["OPEN"])
        short = f"{opened} What it may be by its words stands below." if first and unsaid else ""
        cause = short or f"{opened} {general.removeprefix(SENTENCES['OPEN']).lstrip()}{behind}"
        facts, remedy = (*told.code, *map(may_be, told.laws)), answer.remedy
    return replace(answer, cause=f"{before}{cause}", facts=(*answer.facts, *facts), remedy=remedy)


def may_be(law: Law | Order) -> str:
    """A law that a text may be about, and what one sees where it is."""
    return f"may be: {law}{_tells(law)}"


def _tells(law: Law | Order) -> str:
    return f" It is this where {law.tells}." if law.tells else ""


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


def quoted(folded: str, said: str, prose: str) -> str:
    """The person's sentence in which these words stand, of the prose if it has them, without a command; "" where it is none."""
    folded = prose if said in prose else folded
    start, end = folded.find(said), folded.find(said) + len(said)
    ends = [0, *(stop.end() for stop in _STOP.finditer(folded)), len(folded)]
    first = max(one for one in ends if one <= start)
    said = folded[first : min((one for one in ends if one >= end), default=len(folded))].strip()
    if len(said) > _LONGEST:
        start = folded.rfind(" ", 0, max(first, start - _LONGEST // 2) + 1) + 1
        said = answering.shortened(folded[start:], _LONGEST)
    said = _COMMAND.sub("", said)
    return said if len(said.split()) >= _FEWEST and symptoms.is_prose(said) else ""
