"""Who writes and who reads, by which instruction, in a person's sentences, and the law of what must stand between the two.

The actors and the laws of their pairs are rows of `pairs.txt`. A text names a pair where both actors stand in it and its
words are about order; of several pairs the one whose actors stand closest together is told.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import NamedTuple

from layoutcheck.catalogue.literals import Words, plain
from layoutcheck.catalogue.rows import rows

_ABOUT = re.compile(
    r"(?i)\b(?:races?|racy|hazards?|WAR|RAW|WAW|(?:some|at )times|random\w*|intermittent\w*|non-?determin\w*|flak\w+|occasional\w*|stale|garbage|incomplete|in[ -]flight|fence\w*|\w*barriers?|_*sync\w*|\w*waits?|waiting|then|signal\w*|order(?:ed|ing)?|overwrit\w+|now and then|(?:run|time|turn) to (?:run|time|turn)|releas\w+|arriv\w+|reus\w+|still|finish\w*|previous\w*|concurrent\w*|corrupt\w*|before|while|missing|async\w*)\b"
)  # of order in time
_AGAIN = re.compile(
    r"(?i)\b(?:next|again|re-?us\w+|over(?:writ|lap)\w*|overwrote|refill\w*|previous|later|still|WAR|free[sd]?|releas\w+|recycl\w+|in[ -]flight|ping-?pong|turns?|iterations?|loop\w*)\b"
)  # of what is written when it has been read
_TURNED = re.compile(
    r"(?i)\b(?:after|behind|once|follows)\b"
)  # between two events of which the second is first
_BEFORE = re.compile(r"(?i)\bbefore\b")
_TOO_EARLY = re.compile(
    r"(?i)^\W{0,3}(?:\w+ ){0,3}?(?:complet\w*|finish\w*|done|ends?|ended)\b"
)  # behind "A before B"
_PREVENTED = re.compile(r"(?i)\b(?:prevent|avoid|stop)\w*\b[^.;]{0,40}$")  # ahead of it
_SPOKEN = 700  # characters between two actors of one story


Event = tuple[int, int, str]  # begin and end of what names an actor, and its name


class Order(NamedTuple):
    """The law of a pair: who makes the first access and who the second, what must stand between, and its source."""

    first: str
    second: str
    says: str
    source: str
    reuse: bool
    tells: str = "this wait, fence or barrier, put between the two, makes it right"

    def __str__(self) -> str:
        return f"{self.called(self.second)} ({self.source})"

    def called(self, second: str) -> str:
        """The law, with what it calls the second access."""
        return self.says.replace("{second}", second)


class Actor(NamedTuple):
    """How sentences name who accesses memory; and how much farther off that counts, where other things are named so."""

    words: Words
    apart: int


def _read() -> tuple[dict[str, Actor], dict[tuple[str, str], Order]]:
    actors, pairs = dict[str, Actor](), dict[tuple[str, str], Order]()
    for row in rows("orders/pairs.txt"):
        first, _, others = row.name.partition(" > ")
        if not others:
            actors[first] = Actor(Words(row.field("words")), int(row.traits or 0))
        for second in filter(None, others.split(", ")):
            says = Order(first, second, row.field("says"), row.field("source"), "reuse" in row.traits)
            pairs[first, second] = says
    return actors, pairs


ACTORS, ORDERS = _read()


def told(text: str) -> Order | None:
    """The law of the two accesses that a text tells of; None where it names no pair, or does not speak of order."""
    if not _ABOUT.search(text):
        return None
    said = plain(text)
    events = [
        (match.start(), match.end(), name)
        for name, actor in ACTORS.items()
        if actor.words.may_match(said)
        for match in actor.words.pattern.finditer(text)
    ]
    found: list[tuple[bool, int, Order]] = []
    for left, right in combinations(sorted(events), 2):
        between = text[left[1] : right[0]]
        if left[2] == right[2] or len(between) > _SPOKEN:
            continue
        order, by_words = _of(left, right, text)
        if order:
            apart = len(between) + ACTORS[left[2]].apart + ACTORS[right[2]].apart
            found.append((not by_words, apart, order))
    return min(found, key=lambda one: one[:2])[2] if found else None


def _of(left: Event, right: Event, text: str) -> tuple[Order | None, bool]:
    """The law of two events of a text, in the order in which it tells them, unless its words turn that; and whether they do."""
    between = text[left[1] : right[0]]
    before = _BEFORE.search(between) is not None
    early = before and (_TOO_EARLY.search(text[right[1] :]) or _PREVENTED.search(text[: left[0]]))
    turned = bool(early) or (not before and _TURNED.search(between) is not None)
    names = (right[2], left[2]) if turned else (left[2], right[2])
    order, other = ORDERS.get(names), ORDERS.get(names[::-1])
    if order and other and not early and order.reuse != bool(_AGAIN.search(text)):
        return other, False
    return (order, bool(early)) if order else (other, False)
