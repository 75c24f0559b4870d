"""What earlier runs left in a project and nothing needs now: entries of a baseline, comments that silence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from layoutcheck.lint import baseline
from layoutcheck.lint.files import File
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.suppressions import Suppressions
from layoutcheck.settings import Settings

_MOST_NAMED = 3
_BY_SOURCE = "LC26"  # what these codes begin with, the text alone shows


def stale(left: Counter[baseline.Key], looked: Collection[str], settings: Settings) -> list[str]:
    """A note on entries of the baseline that nothing needs: of files that were read, or are there no more."""
    gone: Counter[str] = Counter()
    for (path, code, _), count in left.items():
        absent = path not in looked and not (settings.root / path).exists()
        if absent or (path in looked and settings.selected(code, path)):
            gone[path] += count
    if not gone:
        return []
    named = ", ".join(f"{path} ({count})" for path, count in gone.most_common(_MOST_NAMED))
    more = ", ..." if len(gone) > _MOST_NAMED else ""
    entries = gone.total()
    return [
        f"{entries} entr{'y' if entries == 1 else 'ies'} of the baseline not found any more: {named}{more}; "
        "--write-baseline writes it anew"
    ]


def moved(entries: Mapping[baseline.Key, str]) -> list[str]:
    """A note on entries of files that have another name now."""
    names = dict.fromkeys(f"{key[0]} -> {path}" for key, path in entries.items())
    return [f"the baseline has {name}; --write-baseline writes it anew" for name in names]


def unused(
    read: Sequence[File], silent: Callable[[str], Suppressions], reached: Mapping[tuple[str, int], str]
) -> list[LintFinding]:
    """LC916 for codes of comments that no finding has, where one could have been seen.

    `silent` has the comments of a file with what they silenced of traces; `reached` are the places traced.
    """
    found = []
    for file in read:
        for mark in file.reading.marks:
            twin = next((m for m in silent(file.path).marks if m.line == mark.line), mark)
            used = mark.used | twin.used
            sites = [s for s in file.reading.sites if not set(mark.lines).isdisjoint((s.line, s.end_line))]
            lines = {*mark.lines, *(n for s in sites for n in range(s.line, s.end_line + 1))}
            traced = any((file.path, n) in reached for n in lines)  # also accesses that are no copies
            codes = [
                code for code in mark.codes if code not in used and (code.startswith(_BY_SOURCE) or traced)
            ]
            if codes:
                title = f"no finding here has {', '.join(codes)}"
                advice = "Delete it from the comment: it would silence the next finding."
                found.append(LintFinding("LC916", "note", file.path, mark.line, mark.column, title, advice))
    return found
