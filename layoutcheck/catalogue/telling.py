"""The line of a pasted text that tells most of its error: what an answer quotes where the catalogue has no entry."""

from __future__ import annotations

import itertools
import re

from layoutcheck.catalogue.literals import Words, plain

_LONGEST = 160  # characters that are quoted
_FEW = 3  # lines
_READ, _FEWEST, _MOST = 1 << 15, 40, 2  # characters that are read and compared, lines beside an error
_MORE = re.compile(
    r"(?i)\bwarn(?:ing)?\b|not supported|unsupported|falling back|out of memory|\bexceed|too (?:old|small|large|few|many)\b|mismatch|overflow|requires? more\b"
)
_FAILED = re.compile(
    r"(?i)time ?out|timed out|non-zero status|\b\w+ failed\b|failed to allocate|out of memory|device assert|assertion"
)
# From what tells most to what only says that something failed. Of compilers the first line tells, of programs the last.
_CLASSES = (
    (
        Words(
            r"^\S.{0,200}(?:\([0-9]+(?:,[0-9]+)?\)|:[0-9]+(?::[0-9]+)?) ?: (?:fatal |internal )?error\b|^ptxas .*error|^nvcc fatal|^CMake Error"
        ),
        False,
    ),
    (
        Words(
            r"(?i)\b[\w.]*(?:Error|Exception)\b(?::? ?(?![=:(])\S)|\b(?:[a-z_]\w*\.)+(?:exc|exceptions?|errors?)\.[A-Z]\w+: \S|Assertion\b.{3}|\[ERROR\]|Check failed|_STATUS_|\bfatal\b"
        ),
        True,
    ),
    (
        Words(
            r"(?i)error\b|failed|failure|cannot|can't|could not|unable|invalid|illegal|unsupported|not supported|exception|abort|crash|segfault|undefined|undeclared|mismatch|no such|not found|not installed|unavailable|not available|not divisible|exceed|killed"
        ),
        False,
    ),
)
_GLOG = re.compile(r"^[EFIW][0-9]{4} [0-9:.]{8,25} +[0-9]+ \S{1,120}:[0-9]+\] ")
_WORDS = re.compile(r"\b[A-Za-z]{2,}\b[^\n]*\b[A-Za-z]{2,}\b")
_EMPTY = re.compile(
    r"^\W*$|^#?[0-9]+:? +(?:0x[0-9a-f]+ |in )|^Traceback|^During handling|^The above exception|returned non-zero exit|build stopped|^\s*raise\b|^\s*\^|^note:|see the (?:above|full)|most likely not a problem with pip"
)


def line(text: str) -> str:
    """The line that tells most; "" where no line tells an error."""
    lines = [" ".join(one.split()) for one in text.splitlines()]
    said = plain("\n".join(lines))
    for words, last in _CLASSES:
        if not words.may_match(said):
            continue
        found = [one for one in lines if words.pattern.search(one) and not _EMPTY.search(one)]
        if found:
            return _shortened(found[-1 if last else 0], words.pattern)
    return ""


def of_few(text: str) -> str:
    """The first line of a text of one to three lines, whatever it says; "" of a longer one."""
    every = (" ".join(one.split()) for one in text.splitlines())
    lines = list(itertools.islice((one for one in every if not _EMPTY.search(one)), _FEW + 1))
    said = lines[0][:_LONGEST] if 0 < len(lines) <= _FEW else ""
    return said if _WORDS.search(said) else ""


def beside(text: str, said: str) -> list[str]:
    """Lines of a text that say more than the error itself: warnings, what is not supported, what is exceeded."""
    lines = [" ".join(one.split()) for one in text[:_READ].splitlines() if len(one) < _READ]
    found = [
        one for one in lines if _MORE.search(one) and one[:_FEWEST] not in said and said[:_FEWEST] not in one
    ]
    return [one[:_LONGEST] for one in dict.fromkeys(found)][:_MOST]


def before(text: str, said: str) -> str:
    """The last line before an error that tells another failure; "" where there is none."""
    end = text.find(said[:_FEWEST]) if said else -1
    lines = [" ".join(one.split()) for one in text[max(0, end - _READ) : max(0, end)].splitlines()[:-1]]
    return next((one[:_LONGEST] for one in reversed(lines) if _FAILED.search(one) and len(one) < _READ), "")


def _shortened(said: str, pattern: re.Pattern[str]) -> str:
    said = _GLOG.sub("", said)
    if len(said) <= _LONGEST:
        return said
    found = pattern.search(said)
    start = said.rfind(" ", 0, max(0, (found.start() if found else 0) - 20)) + 1
    return said[start : start + _LONGEST]
