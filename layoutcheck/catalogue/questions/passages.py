"""Passages of layoutcheck's own documents, and which of them speak of what a text asks.

A passage is a law (`laws.txt`), the page of a rule (docs/rules), a section or a row of a table of docs/guides, or a function
of the layout algebra. A word that few passages have says more than one that many have (BM25 [Robertson and Zaragoza, 2009]); a
name says most; what a passage is about weighs more than what it mentions.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from layoutcheck.catalogue.figures import TYPES
from layoutcheck.catalogue.law import LAWS, Law
from layoutcheck.catalogue.questions.asking import Asked
from layoutcheck.digits import is_number
from layoutcheck.markdown import page_file, rule_files

_ROOT = Path(__file__).parents[2]
_GUIDES = _ROOT / "guides", _ROOT.parent / "docs" / "guides"  # of a wheel, of a checkout
_LEFT_OUT = ("ci",)  # a guide that is about no fact of layouts
_RULES = "rules", "order/rules", "operands/rules"
_TOKEN = re.compile(r"[A-Za-z_][\w.]*\w|[A-Za-z]|[0-9]+")
_PARTS = re.compile(r"[_.]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_ENDING = re.compile(r"(?:ations?|ments?|ing|ed|es|ly|e|s)$")
_SHORTEST = 4  # letters of a stem, and of a word's beginning
_IDENTIFIER = re.compile(r"\w[_.]\w|[a-z][A-Z]|[a-z][0-9]|[0-9][a-z]")
_COMMON = frozenset(Path(__file__).with_name("common.txt").read_text(encoding="utf-8").split())
_OF_FINDINGS = re.compile(r"(?:^|(?<=[.:] ))[^.]*\b(?:[Tt]he (?:finding|report)|layoutcheck) [^.]*\.(?= |$)")
_PLATFORM = frozenset(("hopper", "ampere", "blackwell", "ada", "turing", "volta", "gemm", "sm80", "sm90", "sm100", "a100", "h100", "b200", "api"))  # fmt: skip
_FILES = re.compile(r"[\w./-]+\.(?:hpp|cuh?|inl|cpp|cc|h|py|md|ipynb)\b")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_SATURATES = 1.2
# Weight of a word that a passage is about, that its law is found by, that it has.
_TITLE, _DETAIL, _SAID = 2.0, 0.6, 0.6
_OF_RULE, _OTHER = 0.45, 0.8  # times, of a passage that is no answer to a question by itself
_ELSEWHERE = 0.25  # weight of a word outside of what a text asks
_NAME, _PLAIN = 1.6, 0.35  # times, of an identifier, and of a word that no passage is about
_SHORT_NAME = 1.3  # times, of an acronym
_UNKNOWN = 3.0  # weight of an identifier that no passage has
_AGAIN, _MOST_TIMES = 0.35, 3  # times, of a word that is repeated
# Of the heaviest word's weight; of its weight, what a passage keeps that has no other word.
_CHIEF, _LEAST = 0.7, 0.3
_DETAILED = 0.65  # of the words, of a passage that only mentions what is asked
# The least fit of a passage that is told. Of 79 questions (tests/data, and unread ones), of which 69 have a passage, 56 are answered by
# theirs, 6 by another and 6 by none, where the one that is asked has no part in the choice.
_FIT = 1.75
_NEAR = 0.8  # of the best one's weight that a second passage needs
MOST = 2


class Passage(NamedTuple):
    """What is said, its source, and the words that it is about; `times` is how well its kind answers a question."""

    says: str
    source: str
    about: str
    details: str = ""
    times: float = 1.0

    def __str__(self) -> str:
        return f"{self.says} ({self.source})"

    @property
    def names(self) -> set[str]:
        """The words and identifiers that it is about."""
        return {name for token in _TOKEN.findall(self.about) for name in _names(token)}


class Found(NamedTuple):
    """A passage, its weight, and the share of the subject's words that it has."""

    passage: Passage
    weight: float
    share: float

    @property
    def fit(self) -> float:
        """How well it answers: what weighs much and is of other words fits no better than what has them all and weighs little."""
        return self.weight * self.share


def stems(text: str) -> Counter[str]:
    """The words of a text, without endings; an identifier as a whole, between its dots, and by its parts."""
    found: Counter[str] = Counter()
    for token in _TOKEN.findall(text):
        found.update({*_names(token), *_parts(token)})
    return found


def _names(token: str) -> list[str]:
    """An identifier as a whole and between its dots, however it is written: "producer_commit", "ProducerCommit"."""
    each = dict.fromkeys((token, *token.split(".")))
    return [_stem(one.replace("_", "").lower()) for one in each if len(one) > 1 or one == token]


def _parts(token: str) -> list[str]:
    return [_stem(one.lower()) for one in _PARTS.split(token) if len(one) > 1]


def _stem(word: str) -> str:
    cut = _ENDING.sub("", word) if word.isalpha() else word
    return cut if len(cut) >= _SHORTEST else word


@cache
def passages() -> tuple[Passage, ...]:
    """All of them."""
    return (*_laws(), *_rules(), *_guides(), *_functions())


def _laws() -> Iterator[Passage]:
    yield from map(of_law, LAWS)


def of_law(law: Law) -> Passage:
    """A law as a passage."""
    times = 1.0 if "ask" in law.fails else _OTHER
    every = [noun.split() for noun in law.nouns]
    about = " ".join("_".join(words) for words in every)  # as they are written in code
    details = (*law.details, *(" ".join(words) for words in every if len(words) > 1))
    return Passage(law.says, law.source, about, " ".join(details), times)


def _rules() -> Iterator[Passage]:
    for folder in _RULES:
        for name in rule_files((str(_ROOT / folder),)):
            title, summary, text = page_file(name[:5]).split("\n\n", 2)
            means, why = (_OF_FINDINGS.sub("", _section(text, name)) for name in ("What it means", "Why"))
            label = title.removeprefix("# ")
            yield Passage(_opening(means), label.split()[0], label, f"{summary} {why}", _OF_RULE)


def _section(doc: str, name: str) -> str:
    return " ".join(doc.partition(f"## {name}\n")[2].partition("\n## ")[0].split())


def _opening(said: str, most: int = 420) -> str:
    """The first sentences of a text."""
    return (
        said
        if len(said) <= most
        else said[: said.rfind(". ", 0, most) + 1] or f"{said[:most].rpartition(' ')[0]} ..."
    )


def _guides() -> Iterator[Passage]:
    folder = next((one for one in _GUIDES if one.is_dir()), None)
    for path in sorted(folder.glob("*.md")) if folder else ():
        if path.stem in _LEFT_OUT:
            continue
        text = re.sub(r"```.*?```|<!--.*?-->", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        title = text.partition("\n")[0].lstrip("# ")
        for section in re.split(r"\n## ", text):
            head, _, body = section.partition("\n")
            about = f"{title} {head.lstrip('# ')}"
            lines = (line for line in body.splitlines() if line and not line.startswith(("|", "- ", "  ")))
            plain = _LINK.sub(r"\1", " ".join(lines))
            if len(plain) > 80:
                yield Passage(_opening(plain), f"docs/guides/{path.name}", about, times=_OTHER)
            for row in re.findall(r"^\|(?! *(?:---|\|)).*\|$", body, re.MULTILINE):
                first, *rest = (cell.strip() for cell in row.strip("|").split(" | "))
                if len(" ".join(rest)) > 30:
                    yield Passage(
                        f"{first}: {'; '.join(rest)}",
                        f"docs/guides/{path.name}",
                        f"{title} {first}",
                        times=_OTHER,
                    )


def _functions() -> Iterator[Passage]:
    from layoutcheck import algebra

    for name in algebra.__all__:
        doc = (getattr(algebra, name).__doc__ or "").strip()
        said, _, examples = doc.partition(">>> ")
        call, _, result = examples.partition("\n")
        if "(" not in call or not callable(getattr(algebra, name)):
            continue
        shown = (
            f" {call.removeprefix('print(').removesuffix(')' if call.startswith('print(') else '')} = {result.strip().splitlines()[0]}"
            if result.strip()
            else ""
        )
        yield Passage(
            f"{name}: {_opening(' '.join(said.split()), 300)}{shown}",
            f"layoutcheck.{name}",
            name,
            times=_OTHER,
        )


class _Index(NamedTuple):
    """The words of each passage with their weights; how rare each word is; those that passages are about."""

    words: tuple[dict[str, float], ...]
    rare: dict[str, float]
    about: frozenset[str]

    def name(self, token: str) -> str:
        """The identifier of the index that a token is: as a whole, else without its module; of "fence.proxy.async" what passages are about."""
        whole, *between = _names(token)
        begins = token.split(".")[:-1]
        shorter = _names(".".join(begins))[0] if begins and whole in self.rare else ""
        opcode = [between[0]] if between and token.partition(".")[0].isupper() else []  # UTMALDG.2D
        every = [one for one in (whole, shorter, *opcode, *between[-1:]) if one in self.rare]
        return next((one for one in every if one in self.about), every[0] if every else "")

    def known(self, word: str) -> str:
        """The word of the index that a word is, or begins with; "" where there is none."""
        if word in self.rare or not word.isalpha():
            return word if word in self.rare else ""
        begins = (word[:end] for end in range(len(word) - 1, _SHORTEST - 1, -1))
        return next((one for one in begins if one in _beginnings() and one in self.rare), "")


@cache
def _index() -> _Index:
    words, about = [], set[str]()
    for one in passages():
        weights: dict[str, float] = {word: _SAID * count for word, count in stems(one.says).items()}
        for text, weight in ((one.about, _TITLE), (one.details, _DETAIL)):
            for word in stems(text):
                weights[word] = weights.get(word, 0) + weight
        about |= set(stems(one.about))
        words.append(weights)
    often = Counter(word for weights in words for word in weights)
    rare = {word: math.log(1 + (len(words) - count + 0.5) / (count + 0.5)) for word, count in often.items()}
    return _Index(tuple(words), rare, frozenset(about) - _COMMON)


@cache
def _beginnings() -> frozenset[str]:
    """The words of the laws that are looked for as beginnings of others."""
    every = (text for law in LAWS for text in (*law.nouns, *law.details))
    return frozenset(word for text in every for word in text.split() if len(word) >= _SHORTEST)


def ranked(asked: Asked) -> list[Found]:
    """The passages that speak of what a text asks, the best first, however little they fit."""
    index = _index()
    subject = _weights(f"{asked.title} {asked.subject}", index)
    if not subject.keys() & index.about:  # "what should I do?"
        subject = _weights(f"{asked.subject} {asked.prose}", index)
    around = {word: _ELSEWHERE * w for word, w in _weights(f"{asked.prose} {asked.code}", index).items()}
    whole = sum(subject.values()) or 1.0
    query = {word: max(subject.get(word, 0), around.get(word, 0)) for word in {**around, **subject}}
    chief = _chief(subject, index)
    found = []
    for passage, words in zip(passages(), index.words, strict=True):
        weight = sum(
            w * words[word] / (words[word] + _SATURATES) for word, w in query.items() if word in words
        )
        share = sum(w for word, w in subject.items() if word in words) / whole
        weight *= (_LEAST + share) * passage.times
        if chief & passage.names or (share >= _DETAILED and chief & set(stems(passage.details))):
            found.append(Found(passage, weight, share))
    return sorted(found, key=lambda one: -one.weight)


def _chief(subject: dict[str, float], index: _Index) -> set[str]:
    """What a text is about above all: its heaviest word, and those that are nearly as heavy; nothing where no passage knows that."""
    most = max(subject.values(), default=0.0)
    return {word for word, weight in subject.items() if weight >= _CHIEF * most and word in index.about}


def _weights(text: str, index: _Index) -> dict[str, float]:
    """How much each word of a text says: the rarer it is, the more; a name more than a word of kernels, that more than another."""
    found: dict[str, float] = {}
    often: Counter[str] = Counter()
    for token in _TOKEN.findall(_FILES.sub(" ", text)):
        if token.lower() in _COMMON or is_number(token) or len(token) == 1:
            continue
        named = (
            len(token) >= _SHORTEST and _IDENTIFIER.search(token) is not None and token.lower() not in TYPES
        )
        name = index.name(token) or ("" if named else index.known(_stem(token.lower())))
        parts = [] if name else [index.known(one) for one in _parts(token) if one not in _COMMON]
        for word in filter(None, (name, *parts)):
            about = word in index.about and token.lower() not in TYPES.keys() | _PLATFORM
            kind = _NAME if named and name else 1.0 if about and not named else _PLAIN
            kind *= _SHORT_NAME if about and token.isupper() else 1.0
            found[word] = max(found.get(word, 0.0), index.rare[word] * kind)
            often[word] += 1
        if named and not name and len(token) > _SHORTEST:
            found.setdefault(f"?{token.lower()}", _UNKNOWN)
    return {word: w * (1 + _AGAIN * min(max(often[word] - 1, 0), _MOST_TIMES)) for word, w in found.items()}


def find(asked: Asked) -> list[Found]:
    """The passages that answer what a text asks, the best first; none where no passage has enough of its words.

    A second one is told where it fits nearly as well, or is about a name of the question that the first one lacks.
    """
    read = ranked(asked)
    if not read or read[0].fit < _FIT:
        return []
    best, *others = read
    names = named(asked.subject) - best.passage.names
    lacking = (one for one in others if names & one.passage.names)
    near = (one for one in others if one.weight >= _NEAR * best.weight)
    also = itertools.chain(lacking, near)
    return [best, *itertools.islice(also, MOST - 1)]


def named(text: str) -> set[str]:
    """The identifiers of a text that passages are about."""
    found = {one for token in _TOKEN.findall(text) if _IDENTIFIER.search(token) for one in _names(token)}
    return {one for one in found if len(one) > _SHORTEST} & _index().about
