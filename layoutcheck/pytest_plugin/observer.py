"""`--layoutcheck=lint` and `confirm`: the copies of every kernel that a test suite compiles.

Each pytest process watches its own compiles and fails its own tests; the one that owns the terminal gathers
what the workers saw, runs each distinct copy once (`confirm`), and tells of it all at the end.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from layoutcheck.check import Report
from layoutcheck.copies.copy import Copy
from layoutcheck.dsl.collect import Collector
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.observe import Event, watch
from layoutcheck.dsl.session import DslUnavailable
from layoutcheck.dsl.spool import as_dict
from layoutcheck.errors import InputError
from layoutcheck.gpu.confirm import confirm
from layoutcheck.judge import judge_traced
from layoutcheck.order import check_module
from layoutcheck.order.rules import rules as order_rules
from layoutcheck.provenance import check_products
from layoutcheck.reports import json as reports_json
from layoutcheck.reports import order, text
from layoutcheck.reports.confirmation import Confirmed, render
from layoutcheck.reports.style import Style
from layoutcheck.reports.trace import tiers
from layoutcheck.rules import rule
from layoutcheck.settings import find as find_settings
from layoutcheck.settings import order_seconds, wants_lowered, wants_order
from layoutcheck.sources.callers import shown
from layoutcheck.sources.trace_lines import from_lines, to_lines
from layoutcheck.sources.traced import (
    ElementReport,
    OperandReport,
    OrderReport,
    Told,
    Trace,
    TracedCopy,
    address_sources,
)
from layoutcheck.versions import installed
from layoutcheck.whole import write_whole

FAILING = ("wrong", "rejected")
_FAILED = "layoutcheck: "  # so begins the text of a test that we fail
OUTSIDE_TESTS = "outside the tests"  # compiled while a module was imported, or between tests


class Observer:
    """A plugin of its own, registered only where `--layoutcheck` asks for it."""

    def __init__(self, config: pytest.Config, mode: str) -> None:
        self.config = config
        self.mode = mode
        self.is_worker = hasattr(config, "workerinput")
        self.test = OUTSIDE_TESTS
        self.kernels = self.copies = 0
        self.seen: Counter[tuple[TracedCopy, str]] = Counter()  # copies, by the test that compiled them
        self.notes: dict[str, None] = {}
        self.confirmed: Confirmed | None = None
        self.obstacle = ""
        self.output: Path | None = config.getoption("--layoutcheck-output")
        self._named: tuple[Copy, ...] = ()
        self._collectors: dict[str, Collector] = {}  # by test
        self._reports: dict[object, Report | None] = {}
        # By the test that compiled the kernel.
        self.told: Counter[tuple[Told, str]] = Counter()
        self._lowering = _lowering(config)
        self._open = contextlib.ExitStack()
        self._open.enter_context(watch(self._record))

    def _record(self, event: Event) -> None:
        if self.test not in self._collectors:
            self._collectors[self.test] = Collector(lowering=self._lowering)
        self._collectors[self.test].take([as_dict(event)])

    def _gather(self) -> None:
        """What was recorded since, as `seen`."""
        for test, collector in self._collectors.items():
            collector.resolve()
            trace = collector.trace()
            self.kernels += sum(kernel.built for kernel in trace.kernels)
            self.copies += sum(kernel.built * kernel.copies for kernel in trace.kernels)
            for one in trace.copies:
                self.seen[one, test] += 1
            self.told.update((one, test) for one in trace.told)
            for note in (*trace.notes, *(failure.message for failure in trace.failures)):
                self.notes[note] = None
        self._collectors.clear()

    def report(self, one: TracedCopy) -> Report | None:
        """The verdict on a copy; None where its types cannot be read."""
        if one.judged_by not in self._reports:
            self._reports[one.judged_by] = judge_traced(one)
        found = self._reports[one.judged_by]
        return None if found is None else replace(found, subject=_place(one))

    def findings(self, item: pytest.Item) -> list[str]:
        """What `explain` says of each `wrong` or `rejected` copy that a test compiled and does not allow."""
        self._gather()
        test, allowed = item.nodeid, _allowed(item)
        blocks: dict[str, None] = {}
        for one, where in list(self.seen):
            report = self.report(one) if where == test else None
            if report is not None and report.verdict in FAILING and not _codes(report) <= allowed:
                blocks[text.render([report], Style())] = None
        wrong = [
            replace(one, findings=tuple(f for f in one.findings if f.code not in allowed))
            for one, where in self.told
            if where == test
        ]
        told = "\n".join(line for _, lines in order.render(wrong, Style()) for line in lines)
        return [*blocks, *([told] if told else [])]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Compiles belong to the test that runs."""
        self.test = item.nodeid
        try:
            return (yield)
        finally:
            self.test = OUTSIDE_TESTS

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """A `layoutcheck_allow` that names no rule allows nothing, and says so."""
        try:
            for code in _allowed(item):
                if code not in order_rules():
                    rule(code)
        except InputError as error:
            pytest.fail(f"layoutcheck_allow: {error}", pytrace=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Fail the test that compiled a copy which cannot work."""
        result = yield
        found = self.findings(item)
        if found:
            # Its first line stands in pytest's short summary: what is wrong, not that something is.
            title = " ".join(found[0].partition("\n  -->")[0].split())
            pytest.fail(f"{_FAILED}{title}\n\n" + "\n".join(found), pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """A test that failed by itself, perhaps of a refused copy, gets the explanation beside its error."""
        report = yield
        if report.when == "call" and report.failed and not report.longreprtext.startswith(_FAILED):
            found = self.findings(item)
            if found:
                report.sections.append(("layoutcheck", "\n".join(found)))
        return report

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """What a worker of pytest-xdist saw."""
        sent = getattr(node, "workeroutput", {}).get("layoutcheck")
        if sent is not None:
            self.kernels += sent["kernels"]
            self.copies += sent["copies"]
            self.notes |= dict.fromkeys(sent["notes"])
            for test, lines in sent["seen"].items():
                trace = from_lines(lines)
                for one in trace.copies:
                    self.seen[one, test] += 1
                self.told.update((one, test) for one in trace.told)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A worker sends what it saw; the others confirm it, and fail the run on a disagreement."""
        self._open.close()
        self._gather()
        if self._lowering is not None:
            self._lowering.close()
        if self.is_worker:
            by_test: dict[str, list[TracedCopy]] = {}
            for (one, test), count in self.seen.items():
                by_test.setdefault(test, []).extend([one] * count)
            told: dict[str, list[Told]] = {}
            for found, test in self.told:
                by_test.setdefault(test, [])
                told.setdefault(test, []).append(found)
            seen = {
                test: list(to_lines(_trace(copies, told.get(test, ())))) for test, copies in by_test.items()
            }
            sent = {"kernels": self.kernels, "copies": self.copies, "seen": seen, "notes": list(self.notes)}
            self.config.workeroutput["layoutcheck"] = sent  # type: ignore[attr-defined]
            return
        if self.mode == "confirm":
            self._confirm()
            if self.confirmed is not None and self.confirmed.status and not session.exitstatus:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self.output is not None:
            try:
                write_whole(self.output, "".join(self._lines()).encode("utf-8"))
            except OSError as error:  # the summary says in any case what was seen
                self.notes[f"cannot write {self.output}: {error.strerror}"] = None
                session.exitstatus = session.exitstatus or pytest.ExitCode.INTERNAL_ERROR

    def _confirm(self) -> None:
        """Run every distinct copy once."""
        named: dict[Copy, str] = {}
        for one, test in self.seen:
            report = self.report(one)
            if report is not None:
                named.setdefault(report.copy, _place(one) or test)
        if not named:
            return
        self._named = tuple(named)
        try:
            found, machine = confirm([(name, copy) for copy, name in named.items()])
        except DslUnavailable as error:
            self.obstacle = f"nothing was confirmed: {error}"
            return
        self.confirmed = Confirmed(found, machine)

    def _lines(self) -> Iterator[str]:
        """One JSON object for each distinct copy: its report, the tests that compiled it, what it did."""
        tests: dict[object, dict[str, None]] = {}
        distinct: dict[object, TracedCopy] = {}
        for one, test in self.seen:
            if one.copy is not None:
                tests.setdefault(one.judged_by, {})[test] = None
                distinct[one.judged_by] = one
        confirmed = self.confirmed.found if self.confirmed else ()
        ran = dict(zip(self._named, confirmed, strict=False))
        for key, one in distinct.items():
            report = self.report(one)
            if report is None or one.copy is None:
                continue
            told = reports_json.to_dict(report) | {"tests": list(tests[key])}
            if report.copy in ran:
                assert self.confirmed is not None
                told["confirmation"] = {"machine": self.confirmed.machine, **ran[report.copy].to_dict()}
            yield json.dumps(told) + "\n"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """How many kernels and copies there were, the verdicts, and where the bad ones are."""
        write = terminalreporter.write_line
        terminalreporter.section("layoutcheck")
        verdicts: Counter[str] = Counter()
        worst: dict[tuple[str, str, str], list[str]] = {}
        distinct: dict[object, TracedCopy] = {one.judged_by: one for one, _ in self.seen}
        for one in distinct.values():
            report = self.report(one)
            verdicts["unreadable" if report is None else report.verdict] += 1
        for one, test in self.seen:
            report = self.report(one)
            if report is not None and report.verdict not in ("legal", "unknown"):
                title = report.findings[0].title if report.findings else report.compiler.message
                code = f"[{report.findings[0].code}]" if report.findings else ""
                worst.setdefault((report.verdict, f"{code}: {title}", _place(one)), []).append(test)
        counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        write(
            f"{self.kernels} kernel{'s' * (self.kernels != 1)} compiled, "
            f"{self.copies} cop{'y' if self.copies == 1 else 'ies'}, {len(distinct)} distinct: "
            f"{counts or 'none'}"
        )
        if self.seen:
            known_by = (one.address_source for (one, _), n in self.seen.items() for _ in range(n))
            write(tiers(address_sources(known_by)))
        reports = [one for one, _ in self.told]
        for line in order.all_counts(_trace((), reports), Style()):
            write(line.strip())
        for finding, _kernels in order.distinct(reports):
            if finding.severity in order.FAILING:
                where = order.main(finding).where
                write(
                    f"{shown(where.file)}:{where.line}: {finding.severity}[{finding.code}]: {finding.title}"
                )
        for (verdict, title, location), tests in sorted(worst.items()):
            more = f" and {len(set(tests)) - 1} more" if len(set(tests)) > 1 else ""
            write(f"{shown(location) or 'unknown place'}: {verdict}{title} ({tests[0]}{more})")
        if not self.kernels and not installed():
            write("nothing was seen: nvidia-cutlass-dsl is not installed (pip install 'layoutcheck[dsl]')")
        for note in self.notes:
            write(note)
        if self.obstacle:
            write(self.obstacle)
        if self.confirmed is not None:
            write("")
            write(render(self.confirmed, Style()).rstrip("\n"))


def _trace(copies: Sequence[TracedCopy], told: Sequence[Told]) -> Trace:
    orders = tuple(one for one in told if isinstance(one, OrderReport))
    elements = tuple(one for one in told if isinstance(one, ElementReport))
    operands = tuple(one for one in told if isinstance(one, OperandReport))
    return Trace(tuple(copies), orders=orders, elements=elements, operands=operands)


def _lowering(config: pytest.Config) -> Lowering | None:
    """What lowers kernels, for copies of unknown layouts and for the order of accesses, as is wanted."""
    try:
        settings = find_settings(config.rootpath)
        copies = not config.getoption("--layoutcheck-no-lowered") and wants_lowered(settings)
        order = not config.getoption("--layoutcheck-no-order") and wants_order(settings)
        check = partial(check_module, seconds=order_seconds(settings))
    except InputError as error:
        raise pytest.UsageError(str(error)) from None
    return (
        Lowering(copies=copies, order=check if order else None, products=check_products)
        if copies or order
        else None
    )


def _allowed(item: pytest.Item) -> set[str]:
    """The rules that a test's `layoutcheck_allow` markers name."""
    return {str(code).upper() for marker in item.iter_markers("layoutcheck_allow") for code in marker.args}


def _codes(report: Report) -> set[str]:
    """The rules that make a copy fail."""
    return {finding.code for finding in report.findings if finding.severity in FAILING}


def _place(one: TracedCopy) -> str:
    """Where a copy stands, file:line; "" where that is not known."""
    return f"{one.where.file}:{one.where.line}" if one.where.file else ""
