"""Tests that fail in a traced run of pytest, and files that it cannot import: each leaves word.

pytest catches what its tests raise; its reports are watched where they are made. Nor may it say that it
cannot rewrite our modules, which a traced process imports first: with `-W error` it would end of that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from layoutcheck.dsl.imports import when_imported
from layoutcheck.dsl.observe import NotLaunched

REPORTS = "_pytest.reports"
RUNNER = "_pytest.runner"
MAIN = "_pytest.main"
REWRITER = "_pytest.assertion.rewrite"

_SKIPS = ("Skipped", "SkipTest")  # of pytest and of unittest
_caught: list[BaseException] = []  # the last one, which pytest leaves in `sys.last_value`


def caught(error: BaseException) -> bool:
    """Whether pytest caught it in a test."""
    return any(one is error for one in _caught)


def watch_tests(tell: Callable[[str, BaseException, int], None]) -> None:
    """Call `tell(test, exception, launches skipped in it)` for every test that fails, from here on."""
    when_imported(REPORTS, lambda module: _watch_reports(module.TestReport, tell))
    when_imported(RUNNER, lambda module: _watch_collection(module.CallInfo, tell))
    when_imported(REWRITER, lambda module: _say_nothing_of_us(module.AssertionRewritingHook))


def watch_session(tell: Callable[[bool], None]) -> None:
    """Call `tell(False)` before pytest collects its tests, and `tell(True)` when it is done with them."""

    def watch(module: Any) -> None:
        run = module._main

        def _main(config: Any, session: Any) -> Any:
            tell(False)
            try:
                return run(config, session)
            finally:
                tell(True)

        module._main = _main

    when_imported(MAIN, watch)


def _watch_reports(report: Any, tell: Callable[[str, BaseException, int], None]) -> None:
    make = report.from_item_and_call.__func__
    before: dict[str, int] = {}

    def from_item_and_call(cls: Any, item: Any, call: Any) -> Any:
        made = make(cls, item, call)
        if call.when == "setup":
            before[item.nodeid] = NotLaunched.calls
        if call.excinfo is not None:
            _caught[:] = [call.excinfo.value]
            if made.outcome == "failed" and not item.get_closest_marker("xfail"):
                tell(item.nodeid, call.excinfo.value, NotLaunched.calls - before.get(item.nodeid, 0))
        return made

    report.from_item_and_call = classmethod(from_item_and_call)


def _watch_collection(info: Any, tell: Callable[[str, BaseException, int], None]) -> None:
    """A file that pytest cannot import has no tests that could fail."""
    make = info.from_call.__func__

    def from_call(cls: Any, func: Any, when: str, *args: Any, **named: Any) -> Any:
        made = make(cls, func, when, *args, **named)
        error = made.excinfo.value if when == "collect" and made.excinfo is not None else None
        if error is not None and type(error).__name__ not in _SKIPS:
            tell("no test is collected", error.__cause__ or error, 0)
        return made

    info.from_call = classmethod(from_call)


def _say_nothing_of_us(hook: Any) -> None:
    warn = hook._warn_already_imported

    def _warn_already_imported(self: Any, name: str) -> None:
        if name.partition(".")[0] != "layoutcheck":
            warn(self, name)

    hook._warn_already_imported = _warn_already_imported
