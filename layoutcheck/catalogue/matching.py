"""Which entries a text matches: by their words, and by what else must be so where those words are used otherwise as well."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

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
_SPOKEN = (tables.called("clean.verified"), tables.called("clean.success"))  # which a person's words may be
_DIED, _CPP_DIED = tables.called("dsl.compiler-died"), tables.called("cpp.compiler-died")
_NAME = tables.called("dsl.name-undefined")
_BY_TMA = tables.called("cuda.misaligned-tma")
_NOTICED = 0.02  # of the wavefronts
_NO_OVERLOAD = tables.called("cpp.no-overload")
_ERROR_TYPE = tables.called("cpp.error-type")
_OPEN = (tables.called("kernel-hangs"), tables.called("results-differ"))  # which name no cause of their own
# whose words may say that it is over
_TOLD_BY_PEOPLE = *(entry.name for entry in (*_OPEN, _DIED)), *whose.FAULTS, "driver.tensor-map"
_OF_PARSER = re.compile(
    r"error(?: C[0-9]+)?: (?:expected (?:an?|unqualified|primary|initializer)\b|this declaration has no|syntax error)"
)  # what follows from a name that is not known
_MOST_ERRORS = 40  # of a compile that are looked at
_OF_CPP = re.compile(r"\bnvcc\b|\b(?:cute|cutlass)::|#include\b|\bauto \w+ ?=|\btemplate ?<")
_OF_THE_DSL = re.compile(r"cutlass\.cute|@cute\b|\bcute\.\w|\bDSL\b|\.py\b")
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


def _matches(folded: str) -> Iterator[Match]:
    said = plain(folded)
    told = symptoms.unsettled(folded) if symptoms.is_prose(folded) else folded
    note = symptoms.is_note(folded)
    cpp = _OF_CPP.search(folded) is not None and not _OF_THE_DSL.search(folded)
    for entry in ENTRIES:
        if note and entry.name in _TOLD_BY_PEOPLE:
            continue  # which a document only mentions
        match = entry.words.search(told if entry.name in _TOLD_BY_PEOPLE else folded, said)
        if match and entry.name in answering.OF_COMPILERS and _OF_PARSER.search(match[0]):
            every = itertools.islice(entry.words.pattern.finditer(folded), _MOST_ERRORS)
            match = next((one for one in every if not _OF_PARSER.search(one[0])), match)
        if not match or not _is_known(entry, match, folded):
            continue
        if entry is answering.CODE_ALONE and match["named"] and not _known_code(match["named"]):
            continue  # a name in capitals of another program
        if entry is _BY_TMA and not _is_of_tma(folded, match):
            continue  # of another instruction
        if entry is _NAME and not _of_compiled(folded):
            continue  # Python's own words, which say nothing of a compiled function
        if entry is answering.FEW_CONFLICTS and not 0 < answering.share(match) < _NOTICED:
            continue
        spoken = entry in _SPOKEN and symptoms.is_prose(folded)
        wrong = spoken or symptoms.tells_wrong(folding.without_zeros(folded))
        if entry.level == CLEAN and entry.general and wrong:
            continue  # lines of a text whose error is another one
        if (entry is _DIED and cpp) or (entry is _CPP_DIED and match["spoken"] and not cpp):
            continue  # of which compiler, the text around a person's words tells
        owner = origin.find(folded).owner if entry is _DIED else None
        if owner and owner.name in owners.CALLED and not folding.OF_CPP.search(folded):
            continue  # of another program
        if entry is _ERROR_TYPE and match["what"] and folding.COMPILES.search(folded, 0, match.start()):
            continue  # the error that it follows from stands before it
        if entry is _NO_OVERLOAD and not (folding.OF_CPP.search(folded) or "::" in match[0]):
            continue  # a function of the user's or another project's own
        if entry is answering.COMPANION and not installed.imported(match["function"]):
            continue
        yield entry, match


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


def _known_code(code: str) -> bool:
    """Whether this is a code of the DSL, by the table or by the installed DSL."""
    return codes.meaning(code) is not None or bool(installed.advice(code))
