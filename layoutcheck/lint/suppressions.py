"""`# layoutcheck: ignore[LC301] reason`, on the finding's first or last line, or alone on the line before."""

from __future__ import annotations

import contextlib
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from layoutcheck.lint.finding import LintFinding
from layoutcheck.markdown import all_codes

_MARK = "layoutcheck:"
_COMMENT = re.compile(r"#\s*layoutcheck:\s*ignore\b(?:\[([^\]]*)\])?[ \t]*(.*)")
_CODE = re.compile(r"LC[0-9]{1,3}\Z")
_OF_NUMBERS = "LC4"  # how the codes begin of findings that have no line


@dataclass(slots=True)
class Mark:
    """A comment at `line` and `column`: `codes` are silent on `lines`; `used` are those that silenced one."""

    line: int
    column: int
    codes: tuple[str, ...]
    lines: tuple[int, ...]
    used: set[str] = field(default_factory=set)


class Suppressions:
    """The comments of one file."""

    def __init__(self, text: str) -> None:
        self.marks: list[Mark] = []
        self.unusable: list[tuple[int, int, str]] = []  # line, column, what is wrong
        self.unheard: list[tuple[int, int, str]] = []  # line, column, codes that no rule has
        if _MARK not in text:
            return
        for number, column, line in _comments(text):
            found = _COMMENT.match(line, column)
            if found is None:
                continue
            codes = frozenset(code.strip().upper() for code in (found[1] or "").split(",") if code.strip())
            wrong = sorted(code for code in codes if not _CODE.match(code))
            if not codes or wrong:
                what = f"'{wrong[0][:40]}' is no code" if wrong else "it names no code"
                self.unusable.append((number, found.start() + 1, what))
                continue
            lines = (number, number + 1) if line[: found.start()].strip() == "" else (number,)
            heard = {code for code in codes if any(known.startswith(code) for known in _known())}
            if heard != codes:
                self.unheard.append((number, found.start() + 1, ", ".join(sorted(codes - heard))))
            self.marks.append(Mark(number, found.start() + 1, tuple(sorted(heard)), lines))

    def silences(self, finding: LintFinding) -> bool:
        """Whether a comment speaks of this finding; the comment is used then."""
        lines = {finding.line, finding.end_line or finding.line}
        found = False
        for mark in self.marks:
            speaking = {code for code in mark.codes if finding.code.startswith(code)}
            if speaking and not lines.isdisjoint(mark.lines):
                mark.used |= speaking
                found = True
        return found

    def complaints(self, path: str) -> Iterator[LintFinding]:
        """LC914 for every comment that silences nothing, LC916 for codes that no rule has."""
        for line, column, what in self.unusable:
            title, advice = (
                f"this comment silences nothing: {what}",
                "Write # layoutcheck: ignore[LC301] and why.",
            )
            yield LintFinding("LC914", "unknown", path, line, column, title, advice)
        for line, column, codes in self.unheard:
            title, advice = f"no rule of lint has {codes}", "`layoutcheck rule` lists the codes."
            yield LintFinding("LC916", "note", path, line, column, title, advice)


@cache
def _known() -> frozenset[str]:
    """The codes of all rules that a comment can silence."""
    return frozenset(code for code in all_codes() if not code.startswith(_OF_NUMBERS))


def _comments(text: str) -> Iterator[tuple[int, int, str]]:
    """Line, column and whole line of our comments; of a text that is no Python, of those before its fault."""
    lines = text.split("\n")
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            found = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
            if found is not None:
                number, column = token.start
                yield number, column + found.start(), lines[number - 1]
