"""The fixture's object: assertions about copies, and the copies of a JSONL file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from layoutcheck.api import check_copy, copy_of
from layoutcheck.assertions import expect, must_be_budget, within
from layoutcheck.check import Report
from layoutcheck.copies.copy import Copy
from layoutcheck.dsl.session import Session
from layoutcheck.errors import InputError, meant
from layoutcheck.findings import VERDICTS
from layoutcheck.gpu.confirm import confirm
from layoutcheck.gpu.outcome import Confirmation
from layoutcheck.gpu.process import no_gpu
from layoutcheck.reports import text
from layoutcheck.reports.confirmation import Confirmed, render
from layoutcheck.reports.style import Style
from layoutcheck.sources.records import read_lines, read_record


@dataclass(frozen=True, slots=True)
class FileCase:
    """A copy from a file, its name there (`id`, `loc` or the line), and the verdict that the file expects."""

    name: str
    copy: Copy
    assumptions: tuple[str, ...]
    expected: str


def cases(path: Path) -> list[FileCase]:
    """The copies of a JSONL file; `expected` is each line's own, else "legal". Raises InputError."""
    try:
        with path.open("rb") as file:
            lines = list(read_lines(file))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    found = []
    for number, line in lines:
        place = f"{path.name}:{number}"
        try:
            record = read_record(line)
            expected = json.loads(line).get("expected", "legal")
            _must_be_verdict(expected)
        except InputError as error:
            raise InputError(f"{place}: {error}") from None
        found.append(FileCase(record.subject or place, record.copy, record.assumptions, expected))
    return found


class Checker:
    """What the fixture `layoutcheck` is. One a pytest process: the DSL is started once, when first needed."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._gpu: bool | None = None

    @property
    def gpu(self) -> bool:
        """Whether copies can be run on a GPU here."""
        if self._gpu is None:
            self._gpu = not no_gpu()
        return self._gpu

    def check(self, src: Any, dst: Any = None, atom: Any = None, **options: Any) -> Report:
        """The report on a copy: `layoutcheck.check`'s arguments, a `Copy`, or a `FileCase`."""
        __tracebackhide__ = True
        copy, assumptions, name = _copy(src, dst, atom, options)
        return check_copy(copy, assumptions=assumptions, subject=name)

    def assert_legal(
        self, src: Any, dst: Any = None, atom: Any = None, *, slow: bool = False, **options: Any
    ) -> Report:
        """Fail unless the copy is legal (`slow=True`: or correct but wasteful), and a GPU, if any, agrees."""
        __tracebackhide__ = True
        allowed = ("legal", "slow") if slow else ("legal",)
        return self._assert(self.check(src, dst, atom, **options), allowed)

    def assert_copy(
        self, src: Any, dst: Any = None, atom: Any = None, *, expected: str | None = None, **options: Any
    ) -> Report:
        """Fail unless the verdict is `expected` (a `FileCase`'s, else "legal") and a GPU, if any, agrees."""
        __tracebackhide__ = True
        wanted = "legal" if expected is None else expected
        if expected is None and isinstance(src, FileCase):
            wanted = src.expected
        _must_be_verdict(wanted)
        return self._assert(self.check(src, dst, atom, **options), (wanted,))

    def assert_wavefronts(
        self, most: int, src: Any, dst: Any = None, atom: Any = None, **options: Any
    ) -> Report:
        """Fail as `assert_legal(slow=True)` does, and over `most` shared-memory wavefronts of a block."""
        __tracebackhide__ = True
        must_be_budget(most)
        return within(most, self.assert_legal(src, dst, atom, slow=True, **options))

    def confirm(self, src: Any, dst: Any = None, atom: Any = None, **options: Any) -> Confirmation:
        """Compile the copy and run it, on the GPU or else in the simulator; fail on any disagreement.

        The result's `ran` says which of the two it was. Raises DslUnavailable where the DSL is missing.
        """
        __tracebackhide__ = True
        copy, _, name = _copy(src, dst, atom, options)
        return self._confirm(copy, name or "copy")

    def close(self) -> None:
        """End the DSL's process."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _assert(self, report: Report, allowed: tuple[str, ...]) -> Report:
        __tracebackhide__ = True
        expect(report, allowed)
        if self.gpu and report.verdict != "unknown":
            self._confirm(report.copy, report.subject or "copy")
        return report

    def _confirm(self, copy: Copy, name: str) -> Confirmation:
        __tracebackhide__ = True
        if self._session is None:
            self._session = Session().__enter__()
        (found,), machine = confirm([(name, copy)], workers=1, session=self._session)
        if found.disagrees:
            told = render(Confirmed([found], machine), Style())
            raise AssertionError(f"model and machine disagree\n\n{told}\n{explained([check_copy(copy)])}")
        return found


def _must_be_verdict(expected: Any) -> None:
    """Raises InputError for what no verdict can be: such a test would always fail, and blame the copy."""
    __tracebackhide__ = True
    if expected not in VERDICTS:
        said = f"expected is {expected!r}{meant(str(expected), VERDICTS)}"
        raise InputError(said, expected=f"one of {', '.join(VERDICTS)}")


def explained(reports: list[Report]) -> str:
    """What `layoutcheck explain` prints."""
    return text.render(reports, Style(python=True))


def _copy(src: Any, dst: Any, atom: Any, options: dict[str, Any]) -> tuple[Copy, tuple[str, ...], str | None]:
    """The copy, what was assumed of it, and its name."""
    __tracebackhide__ = True
    if isinstance(src, FileCase):
        return src.copy, src.assumptions, src.name
    if isinstance(src, Copy):
        return src, (), None
    if dst is None:
        raise InputError("no destination", expected="src and dst, a Copy, or a case of a file")
    return (*copy_of(src, dst, atom, **options), None)
