"""A baseline: the findings an old repository has already, so that only new ones fail.

A finding is known by its file, relative to the project, its code and the text of its line, not by the line's
number, and as often as it was counted.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from layoutcheck.errors import InputError, meant, said_of
from layoutcheck.lint.finding import LintFinding
from layoutcheck.regular import read_regular
from layoutcheck.request import once, typed
from layoutcheck.whole import write_whole

VERSION = 1
_BEGINNING = re.compile(rb'\s*(?:\{\s*"layoutcheck_baseline":|\Z)')
_HEAD_BYTES = 1024
_MAX_BYTES = 1 << 26
_WHOLE = ("layoutcheck_baseline", "findings")
_KEYS = {"path": str, "code": str, "line": str, "count": int}
_ENTRY = '{"path": ..., "code": ..., "line": ..., "count": ...}, as --write-baseline wrote'
Key = tuple[str, str, str]  # path, code, digest of the line
Place = Callable[[LintFinding], tuple[str, str]]  # the path from the project's root, and the line's text


def key(finding: LintFinding, place: Place) -> Key:
    """What a finding is known by."""
    path, line = place(finding)
    return path, finding.code, hashlib.sha256(" ".join(line.split()).encode()).hexdigest()[:16]


def write(file: Path, findings: Sequence[LintFinding], place: Place) -> None:
    """Write the baseline of these findings. Raises InputError where it cannot be written."""
    counted = Counter(key(finding, place) for finding in findings)
    entries = [{"path": p, "code": c, "line": d, "count": n} for (p, c, d), n in sorted(counted.items())]
    text = json.dumps({"layoutcheck_baseline": VERSION, "findings": entries}, indent=1) + "\n"
    try:
        write_whole(file, text.encode("utf-8"))
    except OSError as error:
        raise InputError(f"cannot write the baseline '{file}': {error.strerror}") from None


def is_baseline(file: Path) -> bool:
    """Whether a regular file is a baseline, or empty: another may replace it."""
    with file.open("rb") as stream:
        return _BEGINNING.match(stream.read(_HEAD_BYTES)) is not None


def read(file: Path) -> Counter[Key]:
    """What a baseline holds. Raises InputError where it cannot be used."""
    try:
        data = json.loads(read_regular(file, _MAX_BYTES).decode("utf-8"), object_pairs_hook=once)
        if data["layoutcheck_baseline"] != VERSION:
            raise InputError(f"the baseline '{file}' has another version", expected=f"version {VERSION}")
        entries = data["findings"]
        _known(data, _WHOLE, f"the baseline '{file}'")
        if not isinstance(entries, list):
            raise TypeError
        known = Counter[Key]()
        for number, entry in enumerate(entries, 1):
            path, code, line, count = _entry(entry, f"finding {number} of the baseline '{file}'")
            known[path, code, line] += count
        return known
    except OSError as error:
        raise InputError(
            f"cannot read the baseline '{file}': {error.strerror}",
            expected="a file that --write-baseline wrote",
        ) from None
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"'{file}' is not a baseline", expected="a file that --write-baseline wrote"
        ) from None


def _entry(entry: object, where: str) -> tuple[str, str, str, int]:
    if not isinstance(entry, dict):
        raise InputError(f"{where} is no object", expected=_ENTRY)
    _known(entry, _KEYS, where)
    for key, kind in _KEYS.items():
        if key not in entry:
            raise InputError(f"{where} has no '{key}'", expected=_ENTRY)
        with said_of(where):
            typed(key, entry[key], kind)
    if entry["count"] < 1:
        raise InputError(f"{where} counts {entry['count']}", expected="1 or more")
    return entry["path"], entry["code"], entry["line"], entry["count"]


def _known(given: dict[str, object], keys: Iterable[str], where: str) -> None:
    for key in given:
        if key not in keys:
            said = f"{where} has a key '{key[:40]}'{meant(key[:40], keys)}"
            raise InputError(said, expected=", ".join(keys))


def new(
    findings: Sequence[LintFinding], known: Counter[Key], place: Place, gone: Callable[[str], bool]
) -> tuple[list[LintFinding], dict[Key, str]]:
    """The findings that the baseline does not hold, and the entries of files that have another name now.

    An entry whose file is `gone` speaks of a finding of the same code and line in another file, its new path.
    """
    left = Counter(known)
    rest = []
    for finding in findings:
        mine = key(finding, place)
        if left[mine] > 0:
            left[mine] -= 1
        else:
            rest.append(finding)
    lost: dict[tuple[str, str], list[Key]] = {}
    for entry in +left:
        if gone(entry[0]):
            lost.setdefault(entry[1:], []).append(entry)
    out, moved = [], dict[Key, str]()
    for finding in rest:
        mine = key(finding, place)
        old = next((entry for entry in lost.get(mine[1:], ()) if left[entry] > 0), None)
        if old is None:
            out.append(finding)
        else:
            left[old] -= 1
            moved[old] = mine[0]
    return out, moved


def stale(findings: Sequence[LintFinding], known: Counter[Key], place: Place) -> Counter[Key]:
    """The entries of a baseline that no finding has any more."""
    return known - Counter(key(finding, place) for finding in findings)
