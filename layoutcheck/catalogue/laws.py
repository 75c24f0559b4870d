"""Which laws a person's report calls for: of what it is about, with the details and the symptom that it tells.

No report says which law is broken; its words make some likelier. A word that few laws have says more than one that many have,
and what the report itself says of its cause or repair says most.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from typing import NamedTuple

from layoutcheck.catalogue import orders, snippets, whose
from layoutcheck.catalogue.entry import ELSEWHERE, Known
from layoutcheck.catalogue.law import LAWS, SHORT, Law, normal, words_of

MOST = 3
_LONGEST = 6000  # characters of a text that are read
_FEWEST = 1.5  # weight of a law that is told
_PLAIN, _NOTE = 3.5, 1200  # weight of one that is told beside a printed error; characters of a short text
_LEADS = 3.0  # weight of one that is told before what the symptom may have for causes
_CLEAR = 1.25  # and how many times that of the next: of two that fit alike either may be the one
_DETAILED = 0.5  # weight of the details that it needs, where any law has some
_FEWEST_WORDS = 2  # of the text that speak for it, each for itself
_SHARE = 0.57  # of the best one's weight that another law needs
_EXPLAINS, _OTHER = 1.25, 0.6  # times, for a law that explains the symptom, and for one that explains others
_NAMED, _MOST_NOUNS = 1.4, 1.6  # of its weight: of a law that needs no detail, and however many are named
_CLAIMED, _TITLED = 2, 1.5  # times that a word of the report's own cause, or of its first line, counts
_SAYS, _MOST_SAYS, _RARE = 0.3, 1.0, 3  # of a word of the law itself, of all of them, and laws that have it
_FEW_LAWS = 6  # that are about one thing
# the symptom of a text that tells none, of one in which something is refused
_NONE, _REFUSED = "ask", "build"
_REFUSES = re.compile(
    r"(?i)\b(?:fail(?:s|ed|ing)?|refus\w+|reject\w+|error|asserts?|assertion|unsupported|cannot|can't|(?:does|do|did|will|would)(?: not|n't) (?:compile|build|work|accept|support)\w*|not (?:supported|allowed|possible))\b"
)
_LEFT_WAITING = ("release", "stores", "init")
_OF_LAYOUT = re.compile(
    r"(?i)swizzl|\blayout|\bstride|transpos|permut|\bmajor\b|multicast|descriptor (?:field|offset)|\bLBO\b|elect"
)
_KINDS = {
    "wrong": ("symptom.wrong", "results-differ", "symptom.nothing-ran"),
    "race": ("symptom.race",),
    "hang": ("symptom.hang", "kernel-hangs", "symptom.barrier"),
    "fault": whose.FAULTS,
    "slow": ("symptom.slow", "symptom.conflicts", "symptom.spills"),
    "build": ("symptom.compiler", "symptom.resources"),
}
_GPU = re.compile(r" (?:hopper|ampere|volta|turing|ada|[a-z]?[0-9]{2,4}|sm ?[0-9]+) ?$")
_EVERYDAY = frozenset(words_of(
    "a c d p s v both only does example max bug state target error kernel with failed not 0 for file "
    "runtime assert call type tensor python size tile value memory function shared block work shape "
    "argument launch thread when k m n 4 8 first all if one same how why second more output local device "
    "element number load large small copy use wrong result test compile 16 32 64 128 sm each what stage "
    "expect must different cutlass cute gemm layout conv stride store matmul attention fix add after norm "
    "synchronize version constexpr int warp per some CuTe|DSL CuTeDSL cutlass.cute cute.jit cute.kernel"
))  # fmt: skip  # which say little of what a text is about
_LITTLE = 0.3  # of another word's weight
_NOUNS = Counter(word for law in LAWS for word in law.nouns)
_DETAILS = Counter(word for law in LAWS for word in law.details)

# What a report says of its own cause or repair; a guess is told where nothing firmer stands.
_CLAIM = re.compile(
    r"(?i)\b(?:root[- ]cause\w*|the (?:cause|reason|culprit|(?:actual |real )?(?:problem|issue|bug)) (?:is|was|seems|appears|might be|may be)|caused by|bisect\w*|introduced (?:in|by|with)|regress\w+|turns? out"
    r"|(?:I|we) (?:suspect|tracked|narrowed)\w*|suspect\w*|work-?arounds?|hypothesis|traced to"
    r"|(?:works?|fixed|fixes|solved|resolved|right|correct|passes|fine|helps|disappears?|goes away|gone)\b[^.]{0,40}\b(?:if|when|after|by|with|without|once|only|unless)\b"
    r"|(?:if|when|after|once) (?:I|we) (?:\w+ )?(?:chang|remov|add|replac|insert|set|us|switch|disabl|revert|permut|adjust|comment|increas|reduc|decreas)\w*"
    r"|(?:remov|add|replac|insert|chang|disabl|switch|set|us|permut)ing\b[^.]{1,60}\b(?:help|fix|work|solve|make|give|resolve|avoid)s?)"
)
_NO_CLAIM = re.compile(
    r"^(?://|#include|[\w.*&<>, ]+ = )|[;{}]$|(?i:\b(?:I|we) expect(?:ed)?\b)"
)  # code, a hope
_GUESS = re.compile(r"\b(?:I|[Ww]e) (?:think|guess|believe)\b")
_SINCE = re.compile(r"(?i)\b(?:because|due to)\b")
_FAULT = re.compile(
    r"(?i)\b(?:wrong|incorrect|fail\w*|crash\w*|hangs?|hung|dead-?lock\w*|slow\w*|error|corrupt\w*|race|conflict\w*|mismatch\w*|garbage|nans?|segfault\w*|illegal|mis-?align\w*|spill\w*|bug|issue|problem)\b"
)  # which a sentence with "because" explains
_SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n+")
# what is no cause
_DENIED = re.compile(r"(?i)\bnot (?:caused )?(?:by|due to|because of|from) [^.;\n]{3,160}")
_FILES = re.compile(r"[\w./~-]+\.(?:hpp|cuh?|inl|cpp|cc|h|py|md)\b")  # whose names are of what the file holds
_LONG = 220
_MOST_CLAIMS = 2


def claims(text: str) -> tuple[str, ...]:
    """The sentences in which a report says what causes or repairs its fault."""
    sentences = [" ".join(one.split()) for one in _SENTENCES.split(text[:_LONGEST])]
    sentences = [one for one in sentences if not one.endswith("?") and not _NO_CLAIM.search(one)]
    firm = [one for one in sentences if _CLAIM.search(one) or (_SINCE.search(one) and _FAULT.search(one))]
    found = firm[:_MOST_CLAIMS] or [one for one in sentences if _GUESS.search(one)][:1]
    return tuple(one if len(one) <= _LONG else f"{one[:_LONG].rpartition(' ')[0]} ..." for one in found)


def kind(entry: Known | None, text: str = "") -> str:
    """The kind of symptom that an entry tells, or a text that says something is refused; "ask" where neither does."""
    told = (name for name, entries in _KINDS.items() if entry and entry.name in entries)
    return next(told, _REFUSED if _REFUSES.search(text) else _NONE)


class Told(NamedTuple):
    """What a text says of its cause itself, with what its code decides; and the laws that it calls for, the likeliest first.

    `leads` says that the first fits well enough to be told before all else, `order` that it is the law of two accesses that the
    text names.
    """

    own: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()
    leads: bool = False
    order: bool = False


def told(text: str, entry: Known | None = None, *, lawless: bool = False) -> Told:
    """What is told of a person's text beside the symptom of its entry.

    Of two accesses that the text names it is the law of their order, where the symptom may follow from it, or what a slot that
    is not free decides. No law is told of an entry that is `lawless`.
    """
    own = (*(f"the text itself says: {one}" for one in claims(text)), *snippets.facts(text))
    if lawless or (entry and entry.level == ELSEWHERE):
        return Told(own)
    symptom = kind(entry, text)
    order = orders.told(text) if entry and symptom != "slow" else None
    if symptom == "hang" and order and order.first not in _LEFT_WAITING:
        order = None  # what a slot holds decides who comes to the next barrier
    alone = order and symptom != "hang" and not _OF_LAYOUT.search(text)
    weighed = [] if alone else _found(text, symptom)
    found: list[Law | orders.Order] = [law for law, _ in weighed]
    first, second = (*(fit for _, fit in weighed), 0.0, 0.0)[:2]
    leads = bool(weighed) and (symptom == _NONE or first >= max(_LEADS, _CLEAR * second))
    if order:
        found = [one for one in found if str(one) != str(order)]
        at = int(symptom == "hang" and leads)  # behind a law that the words name
        found = [*found[:at], order, *found[at:]][:MOST]
    return Told(
        own, tuple(map(str, found)), leads and found[0] is not order, bool(order and symptom != "hang")
    )


class Said(NamedTuple):
    """The words of a text, `normal`: all, those of its own cause, those of its first line; and each by itself, without its ending."""

    words: str
    claimed: str
    titled: str
    each: frozenset[str]


def _said(text: str) -> Said:
    plain = _DENIED.sub(" ", _FILES.sub(" ", text[:_LONGEST]))
    lines = [one for one in plain.splitlines() if one.strip()]
    words = normal(plain)
    return Said(
        words,
        normal(_DENIED.sub(" ", " ".join(claims(text)))),
        normal(lines[0]) if len(lines) > 1 else "",
        frozenset(map(_stem, words.split())),
    )


def beside(text: str, entry: Known) -> Told:
    """What a short text with a printed error says beside it: what its code decides, and the law of its other words, if they are plain."""
    if len(text) > _NOTE:
        return Told()
    return Told(snippets.facts(text), tuple(map(str, find(text, kind(entry, text), _PLAIN)[:1])))


def find(text: str, symptom: str, fewest: float = _FEWEST) -> list[Law]:
    """The laws that a text calls for, the likeliest first; none where its words fit none well enough."""
    return [law for law, _ in _found(text, symptom, fewest)]


def own(law: Law) -> list[str]:
    """What a law is about that few others are."""
    return [noun for noun in law.nouns if _NOUNS[noun] <= _FEW_LAWS and noun not in _EVERYDAY]


def _found(text: str, symptom: str, fewest: float = _FEWEST) -> list[tuple[Law, float]]:
    """The laws that a text calls for, each with its weight.

    A text without details of any law, but with what one is about, calls for that one.
    """
    said = _said(text)
    detailed: dict[Law, float] = {}
    named: dict[Law, float] = {}
    for law in LAWS:
        nouns, details = _weights(law, said)
        if nouns and _apart(law, said.words) >= _FEWEST_WORDS:
            fit = (nouns + details) * _times(law, symptom)
            own = [
                one for one in law.nouns if _NOUNS[one] == 1 and one not in _EVERYDAY and one in said.words
            ]
            of_gpus = all(map(_GPU.search, law.nouns))  # which any text may name
            if details >= _DETAILED or (
                len(own) >= _FEWEST_WORDS and not of_gpus
            ):  # which no other law is about
                detailed[law] = fit
            if nouns >= _NAMED and not of_gpus:
                named[law] = fit
    return _best(detailed, fewest) or _best(named, fewest)


def _best(fits: dict[Law, float], fewest: float) -> list[tuple[Law, float]]:
    """The laws that fit best, if well enough, each with its weight, the likeliest first."""
    least = max(fewest, _SHARE * max(fits.values(), default=0.0))
    return [(law, fit) for law, fit in sorted(fits.items(), key=lambda one: -one[1])[:MOST] if fit >= least]


def _times(law: Law, symptom: str) -> float:
    """What the symptom adds to a law that explains it, and takes from one that explains others."""
    asked = symptom == _NONE or (symptom == _REFUSED and _NONE in law.fails)
    return _EXPLAINS if symptom in law.fails and symptom != _NONE else 1.0 if asked else _OTHER


def _apart(law: Law, words: str) -> int:
    """How many words of a text speak for a law: "swizzle" is one, however many of the law's words begin it."""
    told = [one for one in (*law.nouns, *law.details) if one in words]
    if all(one in _EVERYDAY for one in told):
        return 0
    return len({words.count(" ", 0, words.find(one)) for one in told})


def _weights(law: Law, said: Said) -> tuple[float, float]:
    """How much a text's words speak for a law: those of what it is about; its details, and rare words of its own sentence."""
    nouns = sum(_told(_NOUNS, word, said) for word in law.nouns if word in said.words)
    details = sum(_told(_DETAILS, word, said) for word in law.details if word in said.words)
    own = sum(_SAYS / _OWN_IN[word] ** 0.5 for word in _OWN[law] & said.each)
    return min(nouns, _MOST_NOUNS), details + min(own, _MOST_SAYS)


def _told(of: Counter[str], word: str, said: Said) -> float:
    """What one word of a text weighs: the less, the more laws have it, and the more where the report's own cause has it."""
    often = _LITTLE if word in _EVERYDAY else 1.0
    stands = _CLAIMED if word in said.claimed else _TITLED if word in said.titled else 1
    return often * stands / of[word] ** 0.5


def _stem(word: str) -> str:
    return _ENDING.sub("", word) if len(word) > _SHORTEST_STEM else word


_ENDING, _SHORTEST_STEM = re.compile(r"(?:ing|ed|es|s)$"), 5
_EVERY = {
    law: frozenset(_stem(word) for word in normal(law.says).split() if len(word) > SHORT) for law in LAWS
}
_OWN_IN = Counter(chain.from_iterable(_EVERY.values()))
_OWN = {law: frozenset(word for word in words if _OWN_IN[word] <= _RARE) for law, words in _EVERY.items()}
