"""Which entries a text matches: by their words, and by what else must be so where those words are used otherwise as well."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from layoutcheck.catalogue import (
    answering,
    codes,
    figures,
    folding,
    installed,
    origin,
    owners,
    symptoms,
    tables,
    whose,
)
from layoutcheck.catalogue.entry import CLEAN, Known
from layoutcheck.catalogue.evidence import Match
from layoutcheck.catalogue.literals import plain
from layoutcheck.catalogue.tables import ENTRIES

_OTHER = tables.called("dsl.other-exception")
_NOTICED = 0.02  # of the wavefronts
_OPEN = "kernel-hangs", "results-differ"  # which name no cause of their own
# whose words may say that it is over
_TOLD_BY_PEOPLE = (*_OPEN, "dsl.compiler-died", *whose.FAULTS, "driver.tensor-map")
_SPOKEN = "clean.verified", "clean.success"  # which a person's words may be
_OF_PARSER = re.compile(
    r"error(?: C[0-9]+)?: (?:expected (?:an?|unqualified|primary|initializer)\b|this declaration has no|syntax error)"
)  # what follows from a name that is not known
_MOST_ERRORS = 40  # of a compile that are looked at
_OF_CPP = re.compile(r"\bnvcc\b|\b(?:cute|cutlass)::|#include\b|\bauto \w+ ?=|\btemplate ?<")
_OF_THE_DSL = re.compile(r"cutlass\.cute|@cute\b|\bcute\.\w|\bDSL\b|(?<!\bsetup)\.py\b")
_IN_A_FUNCTION = re.compile(r"\bNameError in `\w+`")  # as the DSL alone words it


def found(folded: str) -> list[Match]:
    """The entries that the text matches; that an exception of the DSL is raised counts where no reading tells more."""
    read = filter(None, (list(_matches(text)) for text in _readings(folded)))
    first = next(read, [])
    return next(read, first) if [entry.name for entry, _ in first] == [_OTHER.name] else first


def _readings(folded: str) -> tuple[str, ...]:
    """The text, and the same without the quotes that pages add to a message or take from it."""
    bare = folded.replace("`", "")
    other = (bare, bare.replace("'", "")) if folding.WRONG.search(folded) else ()
    return tuple(dict.fromkeys((folded, *other)))


@lru_cache(maxsize=8)
def _matches(folded: str) -> tuple[Match, ...]:
    """The matches of one reading, which is asked for several times: a text is read by more than one way."""
    return tuple(_of_entries(folded))


def _of_entries(folded: str) -> Iterator[Match]:
    said, prose = plain(folded), symptoms.is_prose(folded)
    told = symptoms.unsettled(folded) if prose else folded
    note = symptoms.is_note(folded)
    for entry in ENTRIES:
        of_people = entry.name in _TOLD_BY_PEOPLE
        if note and of_people:
            continue  # which a document only mentions
        match = entry.words.search(told if of_people else folded, said)
        if match and entry.name in answering.OF_COMPILERS and _OF_PARSER.search(match[0]):
            every = itertools.islice(entry.words.pattern.finditer(folded), _MOST_ERRORS)
            match = next((one for one in every if not _OF_PARSER.search(one[0])), match)
        if not match or not _is_known(entry, match, folded):
            continue
        is_of = _ONLY.get(entry.name)
        if is_of is not None and not is_of(folded, match):
            continue
        if entry.level == CLEAN and entry.general and _tells_wrong(entry, folded, prose):
            continue  # lines of a text whose error is another one
        yield entry, match


def _tells_wrong(entry: Known, folded: str, prose: bool) -> bool:
    """Whether the words of an entry in which nothing is wrong are a person's, or stand beside an error."""
    return (prose and entry.name in _SPOKEN) or symptoms.tells_wrong(folding.without_zeros(folded))


def _is_of_cpp(folded: str) -> bool:
    """Whether the text around a person's words is C++, and none of the DSL."""
    return _OF_CPP.search(folded) is not None and not _OF_THE_DSL.search(folded)


def _is_of_the_dsl_that_died(folded: str, match: re.Match[str]) -> bool:
    """Whether the compiler that died is the DSL's, and no program's that is named by who calls it."""
    owner = origin.find(folded).owner
    others = owner is not None and owner.name in owners.CALLED and not folding.OF_CPP.search(folded)
    return not others and not _is_of_cpp(folded)


def _is_of_tma(folded: str, match: re.Match[str]) -> bool:
    """Whether a text with a fault says that TMA is used, and the sentence of the fault names no other instruction."""
    parts = figures.sentences(folded)
    fault = next((one for one in parts if match[0] in one), "")
    others = figures.of_others(fault) and not figures.of_tma(fault)
    return not others and any(map(figures.of_tma, parts))


def _of_compiled(folded: str) -> bool:
    """Whether the text is about a function that the DSL compiles."""
    where, own = origin.find(folded), _IN_A_FUNCTION.search(folded) is not None
    return own or where.world == origin.DSL or (where.owner is None and bool(folding.OF_DSL.search(folded)))


def _is_known(entry: Known, match: re.Match[str], folded: str) -> bool:
    """Whether the installed DSL defines what the entry asks for, or a line of its own raises the message."""
    asked = [match[group] for group in entry.defined.split() if match[group]]
    return all(map(installed.knows, asked)) or origin.find(folded).world == origin.DSL


# What else must be so of a text that has the words of an entry, which others use as well.
_ONLY: dict[str, Callable[[str, re.Match[str]], bool]] = {
    # a name in capitals may be another program's
    answering.CODE_ALONE.name: lambda folded, match: (
        not match["named"] or codes.meaning(match["named"]) is not None
    ),
    "cuda.misaligned-tma": _is_of_tma,
    # Python's own words, which say nothing of a compiled function
    "dsl.name-undefined": lambda folded, match: _of_compiled(folded),
    answering.FEW_CONFLICTS.name: lambda folded, match: 0 < answering.share(match) < _NOTICED,
    "dsl.compiler-died": _is_of_the_dsl_that_died,
    "cpp.compiler-died": lambda folded, match: not match["spoken"] or _is_of_cpp(folded),
    # the error that it follows from stands before it
    "cpp.error-type": lambda folded, match: (
        not match["what"] or not folding.COMPILES.search(folded, 0, match.start())
    ),
    # else a function of the user's or another project's own
    "cpp.no-overload": lambda folded, match: bool(folding.OF_CPP.search(folded)) or "::" in match[0],
    answering.COMPANION.name: lambda folded, match: bool(installed.imported(match["function"])),
}
