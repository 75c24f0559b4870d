"""Which laws a person's report may be about: those whose words it has.

No report says which law is broken, and none is told as the cause. A law may be it where the text names what it is about and
another word of its details, and where its break has the text's symptom. The rarer its words, the more they say.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import chain
from typing import NamedTuple

from layoutcheck.catalogue import edges, orders, snippets, whose
from layoutcheck.catalogue.entry import ELSEWHERE, Known
from layoutcheck.catalogue.law import LAWS, NAME, Law, normal, words_of

MOST = 3
_LONGEST = 6000  # characters of a text that are read
_FEW, _LAST = 2, re.compile(r"\.|::")  # laws of one name; what stands before the last part of a name
_FEWEST, PLAIN = 2, 3  # words of a text for a law: that may be it, that is told beside an error
_NOTE, _SENTENCE = 1200, 320  # characters of a short text, of a sentence that is `normal` (twice as long)
_CLEAR, _SHARE = 1.5, 0.4  # of the next one's weight, of one that stands first; of the best one's, of another
_ASKED = 1.5  # how much more a law weighs that is about what is asked
# the symptom of a text that tells none, of one in which something is refused
_NONE, _REFUSED = "ask", "build"
_REFUSES = re.compile(
    r"(?i)\b(?:fail(?:s|ed|ing)?|refus\w+|reject\w+|error|asserts?|assertion|unsupported|cannot|can't|(?:does|do|did|will|would)(?: not|n't) (?:compile|build|work|accept|support)\w*|not (?:supported|allowed|possible))\b"
)
_BY_EDGE = ("wrong", "fault", _NONE)  # what a part of a tile that nothing guards may cause
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
_EVERYDAY = frozenset(words_of(
    "a c d p s v both only does example max bug state target error kernel with failed not 0 for file "
    "runtime assert call type tensor python size tile value memory function shared block work shape "
    "argument launch thread when k m n 4 8 first all if one same how why second more output local device "
    "element number load large small copy use wrong result test compile 16 32 64 128 sm each what stage "
    "expect must different cutlass cute gemm layout conv stride store matmul attention fix add after norm "
    "synchronize performance faster slower version constexpr int warp per some CuTe|DSL CuTeDSL cutlass-dsl cutlass.cute cute.jit cute.kernel"
))  # fmt: skip  # which say nothing of what a text is about
# How much a word of a law says: the fewer laws have it, the more.
_RARE = {
    word: math.log(len(LAWS) / count)
    for word, count in Counter(chain.from_iterable({*law.nouns, *law.details} for law in LAWS)).items()
    if word not in _EVERYDAY
}

# What a report says of its own cause or repair; a guess is told where nothing firmer stands.
_CLAIM = re.compile(
    r"(?i)\b(?:root[- ]cause\w*|the (?:cause|reason|culprit|(?:act\w+ |real )?(?:problem|issue|bug)) (?:is|was|seems|appears|might be|may be)|caused by|(?:fixed|mended|resolved|solved) (?:in|since|from) v?[0-9]|[0-9] accepts (?:it|this)|bisect\w*|introduced (?:in|by|with)|regress\w+|turns? out"
    r"|(?:I|we) (?:suspect|tracked|narrowed)\w*|suspect\w*|work-?arounds?|hypothesis|traced to"
    r"|(?:works?|fixed|fixes|solved|resolved|right|correct|passes|fine|helps|disappears?|goes away|gone)\b[^.]{0,40}\b(?:if|when|after|by|with|without|once|only|unless)\b"
    r"|(?:if|when|after|once) (?:I|we) (?:\w+ )?(?:chang|remov|add|replac|insert|set|us|switch|disabl|revert|permut|adjust|comment|increas|reduc|decreas)\w*"
    r"|(?:remov|add|replac|insert|chang|disabl|switch|set|us|permut)ing\b[^.]{1,60}\b(?:help|fix|work|solve|make|give|resolve|avoid)s?)"
)
_NO_CLAIM = re.compile(r"^(?://|#|\||[\w.*&<>, ]+ = )|[;{}]$|(?i:\b(?:I|we) expect(?:ed)?\b)")  # code, a hope
# When it is right, which says what the fault depends on: "K-major A works", "one block: correct", "0/25".
_RIGHT = re.compile(
    r"(?i)(?:\b(?:is|are|was|were|works?|runs?|stays?|seems?) (?:\w+ )?(?:fine|correct|right|exact|ok|bit-identical)|(?<!to )\b(?:works?|pass(?:es)?|completes?)|\bnever (?:hangs|fails)|: (?:correct|right|fine|ok|pass)|\b0/[0-9]+)(?=\W*$|[,;:(])"
)
_HOPED = re.compile(r"(?i)\bnot\b|n't\b|\bshould\b|\bexpect\w*|\bnothing\b|\bmust\b|\bhow\b")
_GUESS = re.compile(r"\b(?:I|[Ww]e) (?:think|guess|believe)\b")
_SINCE = re.compile(
    r"(?i)\b(?:because|due to|lead(?:s|ing) to|(?:caus|leav)(?:es|ing)|result(?:s|ing) in|so that|so (?:mine|it|this|my \w+) (?:is|stays))\b"
)
_FAULT = re.compile(
    r"(?i)\b(?:wrong|incorrect|fail\w*|crash\w*|hangs?|hung|dead-?lock\w*|slow\w*|error|corrupt\w*|race|conflict\w*|mismatch\w*|garbage|(?:issue|compute|memory|latency)[- ]bound|nans?|segfault\w*|illegal|mis-?align\w*|spill\w*|bug|issue|problem)\b"
)  # which a sentence with "because" explains
_SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n+")
# what is no cause
_DENIED = re.compile(r"(?i)\bnot (?:caused )?(?:by|due to|because of|from) [^.;\n]{3,160}")
_FILES = re.compile(r"[\w./~-]+\.(?:hpp|cuh?|inl|cpp|cc|h|py|md)\b")  # whose names are of what the file holds
# of code, which has loops, constants and prints whatever its fault is
_STATEMENTS = re.compile(
    r"\b(?:if|elif|while) (?:not )?(?:cutlass\.)?const_expr\(|\bfor \w+(?:, \w+)* in [\w.]+\(|\b(?:cute\.)?printf?\(|: ?(?:cutlass\.)?Constexpr\b|\bconst_expr\("
)
_LONG = 220
_MOST_CLAIMS = 2


def claims(text: str) -> tuple[str, ...]:
    """The sentences in which a report says what causes or repairs its fault, or when there is none."""
    sentences = [" ".join(one.split()) for one in _SENTENCES.split(text[:_LONGEST])]
    sentences = [one for one in sentences if not one.endswith("?") and not _NO_CLAIM.search(one)]
    firm = [one for one in sentences if _CLAIM.search(one) or (_SINCE.search(one) and _FAULT.search(one))]
    firm += [one for one in sentences if one not in firm and _RIGHT.search(one) and not _HOPED.search(one)]
    found = firm[:_MOST_CLAIMS] or [one for one in sentences if _GUESS.search(one)][:1]
    return tuple(one if len(one) <= _LONG else f"{one[:_LONG].rpartition(' ')[0]} ..." for one in found)


def kind(entry: Known | None, text: str = "") -> str:
    """The kind of symptom that an entry tells, or a text that says something is refused; "ask" where neither does."""
    told = (name for name, entries in _KINDS.items() if entry and entry.name in entries)
    return next(told, _REFUSED if _REFUSES.search(text) else _NONE)


class Told(NamedTuple):
    """What a text says of its cause itself, what its code decides, and the laws that it may be about, the likeliest first.

    `leads` says that the words of the text fit the first far better than the next, or that it is of two accesses that the text names.
    """

    claims: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    laws: tuple[Law | orders.Order, ...] = ()
    leads: bool = False


class Fit(NamedTuple):
    """A law that a text may be about, how much its words say, and how many they are."""

    law: Law
    weight: float
    words: int


def told(text: str, entry: Known | None = None, *, lawless: bool = False) -> Told:
    """What is told of a person's text beside the symptom of its entry.

    Of two accesses that the text names it is the law of their order, where the symptom may follow from it, or what a slot that
    is not free decides. No law is told of an entry that is `lawless`.
    """
    own = Told(claims(text), snippets.facts(text))
    if lawless or (entry and entry.level == ELSEWHERE):
        return own
    symptom = kind(entry, text)
    aligned = entry is None or "misaligned" not in entry.name  # whose cause is the pitch
    edge = aligned and symptom in _BY_EDGE and edges.by_edge(" ".join(text[:_LONGEST].split()))
    order = orders.told(text) if entry and symptom != "slow" and not edge else None
    if symptom == "hang" and order and order.first not in _LEFT_WAITING:
        order = None  # what a slot holds decides who comes to the next barrier
    if order and symptom != "hang" and not _OF_LAYOUT.search(text):
        return own._replace(laws=(order,), leads=True)
    found = fits(text, symptom)
    laws: list[Law | orders.Order] = [one.law for one in found if not order or one.law.says != order.says]
    if order:
        laws.insert(int(symptom == "hang"), order)
    leads = edge or bool(order) or (symptom != "fault" and is_clear(found))
    return own._replace(laws=tuple(laws[:MOST]), leads=leads)


def beside(text: str, entry: Known) -> Told:
    """What a short text with a printed error says beside it: what its code decides, and the law of its other words, if they are plain."""
    if len(text) > _NOTE:
        return Told()
    found = fits(text, kind(entry, text), PLAIN)
    return Told((), snippets.facts(text), tuple(one.law for one in found[: is_clear(found)]))


def fits(text: str, symptom: str, fewest: int = 0, subject: str = "") -> list[Fit]:
    """The laws that a text with this symptom may be about, of each as many words as `fewest`; the likeliest first.

    One that is about what the sentences that ask name, the `subject`, is likelier; one of which they have no word has `PLAIN` words.
    """
    told = _FILES.sub(" ", text[:_LONGEST])
    told = told if symptom in (_NONE, _REFUSED) else _STATEMENTS.sub(" ", told)
    words, chief = normal(_DENIED.sub(" ", told)), normal(subject)
    may_be = (
        law for law in LAWS if symptom in (*law.fails, _NONE) or (symptom == _REFUSED and _NONE in law.fails)
    )
    found = [fit for law in may_be if (fit := _fit(law, words)) and fit.words >= fewest]
    if subject:
        found = [one for one in found if one.words >= PLAIN or _has(chief, one.law.nouns + one.law.details)]
    asked = {one: _ASKED if _has(chief, one.law.nouns) else 1 for one in found}
    every = sorted(asked, key=lambda one: -one.weight * asked[one])[:MOST]
    if symptom in _BY_EDGE and edges.by_edge(" ".join(text[:_LONGEST].split())):  # which says it plainly
        weight = _CLEAR * max((one.weight for one in every), default=1.0)
        return [Fit(_EDGE, weight, PLAIN), *(one for one in every if one.law is not _EDGE)][:MOST]
    return [one for one in every if one.weight >= _SHARE * max(other.weight for other in every)]


def keyed(text: str) -> tuple[list[Law], str]:
    """The laws of the exact names in a text which few laws have, in their order there; the text without these names."""
    tokens = (one[0] for one in NAME.finditer(text))
    found = {one: _KEYS.get(one) or _KEYS.get(_LAST.split(one)[-1], []) for one in tokens}
    keys = {one: of for one, of in found.items() if 0 < len(of) <= _FEW}
    rest = NAME.sub(lambda one: "" if one[0] in keys else one[0], text)
    return list(dict.fromkeys(law for of in keys.values() for law in of)), rest


def is_clear(found: list[Fit]) -> bool:
    """Whether the first of these laws has far more of the text's words than the next."""
    return bool(found) and (len(found) == 1 or found[0].weight >= _CLEAR * found[1].weight)


def _fit(law: Law, words: str) -> Fit | None:
    """How a law fits the words of a text: one that it is about, and a detail, another that no other law is about, or more.

    A program's name alone is no subject: two details say more. What stands at one place counts once: "swizzle", however many of the law's words begin it.
    """
    nouns, details = (_places(of, words) for of in (law.nouns, law.details))
    each = {**details, **nouns}
    told = sum(map(bool, each.values()))
    own = any(word in words for word in law.nouns if _NOUNS[word] == 1 and word in _RARE)
    evident = len(each) > _FEWEST or (len(each) == _FEWEST and (own or details.keys() - nouns.keys()))
    named = _has(words, law.nouns) and (any(nouns.values()) or told >= _FEWEST or len(words) < _SENTENCE)
    return Fit(law, sum(each.values()), len(each)) if named and evident and told else None


def _has(words: str, of: tuple[str, ...]) -> bool:
    return any(one in words for one in of)


def _places(of: tuple[str, ...], words: str) -> dict[int, float]:
    """At which words of a text these stand, each with what it says; everyday words count in a single sentence alone."""
    counts = of if len(words) < _SENTENCE else (one for one in of if one in _RARE)
    told = {one.replace(" ", ""): one for one in counts if one in words}  # "cudaStream" is "cuda stream"
    return dict(sorted((words.count(" ", 0, words.find(one)), _RARE.get(one, 0.0)) for one in told.values()))


_EDGE = next(law for law in LAWS if "edge" in law.fails)
_KEYS: dict[str, list[Law]] = {}
for _law in LAWS:
    for _name in dict.fromkeys(_law.names):
        _KEYS.setdefault(_name, []).append(_law)
_NOUNS = Counter(word for law in LAWS for word in law.nouns)
