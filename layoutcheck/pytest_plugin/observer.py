"""`--layoutcheck=lint` and `confirm`: the copies of every kernel that a test suite compiles.

Each pytest process watches its own compiles and fails its own tests; the one that owns the terminal gathers
what the workers saw, runs each distinct copy once (`confirm`), and tells of it all at the end.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

from layoutcheck.api import check_copy
from layoutcheck.check import Report
from layoutcheck.copies.copy import Copy
from layoutcheck.dsl.observe import Seen, watch
from layoutcheck.dsl.session import DslUnavailable
from layoutcheck.errors import InputError
from layoutcheck.gpu.confirm import confirm
from layoutcheck.reports import text
from layoutcheck.reports.confirmation import Confirmed, render
from layoutcheck.reports.style import Style
from layoutcheck.sources.diagnostics import copies_from_error

FAILING = ("wrong", "rejected")
OUTSIDE_TESTS = "outside the tests"  # compiled while a module was imported, or between tests

Place = tuple[str, str, str, str]  # operation, arch, "file:line" ("" where unknown), test


class Observer:
    """A plugin of its own, registered only where `--layoutcheck` asks for it."""

    def __init__(self, config: pytest.Config, mode: str) -> None:
        self.config = config
        self.mode = mode
        self.is_worker = hasattr(config, "workerinput")
        self.test = OUTSIDE_TESTS
        self.kernels = 0
        self.seen: Counter[Place] = Counter()
        self.confirmed: Confirmed | None = None
        self.obstacle = ""
        self._reports: dict[tuple[str, str], Report | None] = {}
        self._open = contextlib.ExitStack()
        self._open.enter_context(watch(self._record))

    def _record(self, _kernel: str, copies: list[Seen]) -> None:
        self.kernels += 1
        for one in copies:
            self.seen[one.operation, one.arch, one.location or "", self.test] += 1

    def report(self, operation: str, arch: str) -> Report | None:
        """The verdict on a copy; None where its types cannot be read."""
        key = operation, arch
        if key not in self._reports:
            found = copy_of(operation, arch)
            self._reports[key] = None if found is None else check_copy(found)
        return self._reports[key]

    def findings(self, test: str) -> list[str]:
        """What `explain` says of each `wrong` or `rejected` copy that a test compiled."""
        blocks = []
        for operation, arch, location, where in list(self.seen):
            report = self.report(operation, arch) if where == test else None
            if report is not None and report.verdict in FAILING:
                place = f"{location}\n" if location else ""
                blocks.append(place + text.render([report], Style()))
        return blocks

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Compiles belong to the test that runs."""
        self.test = item.nodeid
        try:
            return (yield)
        finally:
            self.test = OUTSIDE_TESTS

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Fail the test that compiled a copy which cannot work."""
        result = yield
        found = self.findings(item.nodeid)
        if found:
            pytest.fail("layoutcheck: this test compiles\n\n" + "\n".join(found), pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """A test that failed by itself, perhaps of a refused copy, gets the explanation beside its error."""
        report = yield
        if report.when == "call" and report.failed and "layoutcheck: this test" not in report.longreprtext:
            found = self.findings(item.nodeid)
            if found:
                report.sections.append(("layoutcheck", "\n".join(found)))
        return report

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """What a worker of pytest-xdist saw."""
        sent = getattr(node, "workeroutput", {}).get("layoutcheck")
        if sent is not None:
            self.kernels += sent["kernels"]
            for *place, count in sent["seen"]:
                self.seen[tuple(place)] += count

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A worker sends what it saw; the others confirm it, and fail the run on a disagreement."""
        self._open.close()
        if self.is_worker:
            seen = [[*place, count] for place, count in self.seen.items()]
            self.config.workeroutput["layoutcheck"] = {"kernels": self.kernels, "seen": seen}  # type: ignore[attr-defined]
        elif self.mode == "confirm":
            self._confirm()
            if self.confirmed is not None and self.confirmed.status and not session.exitstatus:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _confirm(self) -> None:
        """Run every distinct copy once."""
        named: dict[Copy, str] = {}
        for operation, arch, location, test in self.seen:
            report = self.report(operation, arch)
            if report is not None:
                named.setdefault(report.copy, location or test)
        if not named:
            return
        try:
            found, machine = confirm([(name, copy) for copy, name in named.items()])
        except DslUnavailable as error:
            self.obstacle = f"nothing was confirmed: {error}"
            return
        self.confirmed = Confirmed(found, machine)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """How many kernels and copies there were, the verdicts, and where the bad ones are."""
        write = terminalreporter.write_line
        terminalreporter.section("layoutcheck")
        verdicts: Counter[str] = Counter()
        worst: dict[tuple[str, str, str], list[str]] = {}
        distinct = {(operation, arch) for operation, arch, _, _ in self.seen}
        for operation, arch in distinct:
            report = self.report(operation, arch)
            verdicts["unreadable" if report is None else report.verdict] += 1
        for operation, arch, location, test in self.seen:
            report = self.report(operation, arch)
            if report is not None and report.verdict not in ("legal", "unknown"):
                title = report.findings[0].title if report.findings else report.compiler.message
                code = f"[{report.findings[0].code}]" if report.findings else ""
                worst.setdefault((report.verdict, f"{code}: {title}", location), []).append(test)
        counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        copies = sum(self.seen.values())
        write(
            f"{self.kernels} kernels compiled, {copies} copies, {len(distinct)} distinct: {counts or 'none'}"
        )
        for (verdict, title, location), tests in sorted(worst.items()):
            more = f" and {len(set(tests)) - 1} more" if len(set(tests)) > 1 else ""
            write(f"{location or 'unknown place'}: {verdict}{title} ({tests[0]}{more})")
        if self.obstacle:
            write(self.obstacle)
        if self.confirmed is not None:
            write("")
            write(render(self.confirmed, Style()).rstrip("\n"))


def copy_of(operation: str, arch: str) -> Copy | None:
    """The copy of a printed operation; None where its types are unknown to us."""
    try:
        found = copies_from_error(operation, arch)
    except InputError:
        return None
    return found[0][0] if found else None
