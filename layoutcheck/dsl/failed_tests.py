"""Tests that fail or are skipped in a traced run of pytest, and files that it cannot import.

Each leaves word: pytest catches what its tests raise; its reports are watched where they are made. Nor may
it say that it cannot rewrite our modules, which a traced process imports first: with `-W error` it would end
of that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Any
from weakref import WeakKeyDictionary

from layoutcheck.dsl.imports import when_imported
from layoutcheck.dsl.passed_over import REWRITER, Passed
from layoutcheck.dsl.thin import Thin
from layoutcheck.dsl.true_integers import Escaped

REPORTS = "_pytest.reports"
RUNNER = "_pytest.runner"
MAIN = "_pytest.main"
FIXTURES = "_pytest.fixtures"
FUNCTIONS = "_pytest.python"
RESULTS = "unittest.result"

Tell = Callable[..., None]  # (test, exception, launches skipped in it[, whether it went on])
Skip = Callable[[Sequence[str], str], None]  # (tests, reason)
Expect = Callable[[BaseException, Sequence[str]], None]  # (exception, builds that failed in it)

_DESELECTED = "deselected by pytest's settings or by a conftest.py"
_UNREPORTED = "a hook of pytest's took it, and nothing was reported of it"
_TAKEN = "a hook of pytest's stands for the call of its function"
_EXPECTING = (  # modules, and their classes whose `with` takes an exception away
    ("_pytest.raises", "RaisesExc"), ("_pytest.python_api", "RaisesContext"),
    ("unittest.case", "_AssertRaisesContext"),
)  # fmt: skip
_AGAIN = "rerun"  # what pytest-rerunfailures makes of a report: the next one counts
_OF_VALUES = (AssertionError, ZeroDivisionError)
_SKIPS = ("Skipped", "SkipTest")  # of pytest and of unittest
_caught: list[BaseException] = []  # the last one, which pytest leaves in `sys.last_value`
_unsettled: list[_Raised] = []
failed_builds: list[str] = []
"""The marks of the builds that failed in this process, in order."""
_began = [0]  # builds that had failed when the test began
_left: list[BaseException] = []  # what left the function of the test that is called


@dataclass(frozen=True, slots=True)
class _Raised:
    """What a test raised, and pytest's report of it: what that comes to is known when it is finished."""

    test: str
    error: BaseException
    launches: int
    report: Any
    builds: Sequence[str]

    def settle(self, tell: Tell, skip: Skip, expect: Expect) -> None:
        expected = getattr(self.report, "wasxfail", None)
        if self.report.outcome == _AGAIN:
            return
        if expected is None and type(self.error).__name__ not in _SKIPS:  # whatever a hook has made of it
            tell(self.test, self.error, self.launches)
        else:
            skip([self.test], str(self.error) if expected is None else f"xfail {expected}".strip())
            expect(self.error, self.builds)


def caught(error: BaseException) -> bool:
    """Whether pytest caught it in a test."""
    return any(one is error for one in _caught)


def watch_tests(tell: Tell, skip: Skip, expect: Expect) -> None:
    """Call `tell(test, exception, launches skipped in it)` for every test that fails, from here on.

    With True behind these for one that went on behind an assertion (`passed_over`).
    `skip(tests, reason)` is called for what is skipped, deselected or expected to fail; a test is "" if
    its whole file is skipped. `expect(exception, builds that failed)` is called for what a test says that
    it expects.
    """
    for module, name in _EXPECTING:
        when_imported(module, partial(_watch_expected, name=name, expect=expect))
    when_imported(REPORTS, lambda module: _watch_reports(module.TestReport, tell, skip, expect))
    when_imported(RUNNER, lambda module: _watch_calls(module.CallInfo, tell, skip))
    when_imported(FIXTURES, lambda module: _watch_fixtures(module.FixtureDef))
    when_imported(FUNCTIONS, lambda module: _watch_functions(module, skip))
    when_imported(RESULTS, lambda module: _watch_results(module.TestResult, tell, skip, expect))
    when_imported(REWRITER, lambda module: _say_nothing_of_us(module.AssertionRewritingHook))
    when_imported(MAIN, lambda module: _watch_selection(module.Session, skip))
    when_imported(MAIN, lambda module: _watch_loop(module, skip, lambda: _settle(tell, skip, expect)))


def watch_session(tell: Callable[[bool], None], whole: bool) -> None:
    """Call `tell(False)` before pytest collects its tests, and `tell(True)` when it has come to their end.

    With `whole`, neither the first failure ends it (`-x`), nor does it only collect.
    """

    def watch(module: Any) -> None:
        run = module._main

        def _main(config: Any, session: Any) -> Any:
            if whole:
                config.option.maxfail, config.option.collectonly = 0, False
            tell(False)
            ended = False
            try:
                return run(config, session)
            except BaseException as error:
                ended = type(error).__name__ in ("Exit", "KeyboardInterrupt")  # `pytest.exit`, or of a test
                raise
            finally:
                tell(not (ended or session.shouldstop or session.shouldfail or Thin.left))

        module._main = _main

    when_imported(MAIN, watch)


def _settle(tell: Tell, skip: Skip, expect: Expect) -> None:
    while _unsettled:
        _unsettled.pop(0).settle(tell, skip, expect)


def _watch_expected(module: Any, name: str, expect: Expect) -> None:
    """What `pytest.raises` and `assertRaises` take away is meant to be raised."""
    owner = getattr(module, name, None)
    if owner is None:  # of another version
        return
    enter, leave = owner.__enter__, owner.__exit__
    begun: dict[int, int] = {}  # builds that had failed before, by `with`

    def __enter__(self: Any) -> Any:  # noqa: N807
        begun[id(self)] = len(failed_builds)
        return enter(self)

    def __exit__(self: Any, kind: Any, error: Any, trace: Any) -> Any:  # noqa: N807
        taken, before = leave(self, kind, error, trace), begun.pop(id(self), len(failed_builds))
        if taken and error is not None:  # which may be raised behind the last of several builds
            expect(error, failed_builds[before:])
        return taken

    owner.__enter__, owner.__exit__ = __enter__, __exit__


def _watch_reports(report: Any, tell: Tell, skip: Skip, expect: Expect) -> None:
    make = report.from_item_and_call.__func__

    def from_item_and_call(cls: Any, item: Any, call: Any) -> Any:
        if call.when == "setup":  # of the next one
            _settle(tell, skip, expect)
        made = make(cls, item, call)
        if call.when == "teardown":
            Escaped.forget()
            if passed := Passed.take():
                tell(item.nodeid, passed, sum(Passed.left_out()), True)
        raised = None if call.excinfo is None else call.excinfo.value
        error = raised or (_left[-1] if call.when == "call" and _left else None)
        if error is not None:
            _caught[:] = [error]
            if type(error).__name__ not in _SKIPS:
                error = Passed.take() or error
            launches, left_out = Passed.left_out()
            launches += left_out * isinstance(error, _OF_VALUES)
            builds = failed_builds[_began[0] :]
            _unsettled.append(_Raised(item.nodeid, error, launches, made, builds))
        return made

    report.from_item_and_call = classmethod(from_item_and_call)


def _watch_results(results: Any, tell: Tell, skip: Skip, expect: Expect) -> None:
    """What unittest runs without pytest, which has results of its own for it."""

    def around(name: str, act: Callable[..., None]) -> None:
        method = getattr(results, name)

        @wraps(method)
        def told(self: Any, test: Any, *args: Any) -> Any:
            act(test.id(), *args)
            return method(self, test, *args)

        setattr(results, name, told)

    def failed(test: str, raised: Any) -> None:
        launches, left_out = Passed.left_out()
        tell(test, raised[1], launches + left_out * isinstance(raised[1], _OF_VALUES))

    def expected(test: str, raised: Any) -> None:
        skip([test], "xfail")
        expect(raised[1], ())

    around("startTest", lambda _: Passed.begin())
    around("addError", failed)
    around("addFailure", failed)
    around("addSubTest", lambda test, part, raised: failed(part.id(), raised) if raised else None)
    around("addSkip", lambda test, reason: skip([test], reason))
    around("addExpectedFailure", expected)


def _watch_calls(info: Any, tell: Tell, skip: Skip) -> None:
    """A test begins with its fixtures. A file that pytest cannot import has no tests that could fail."""
    make = info.from_call.__func__

    def from_call(cls: Any, func: Any, when: str, *args: Any, **named: Any) -> Any:
        if when == "setup":
            Passed.begin()
            _left.clear()
            _began[0] = len(failed_builds)
        made = make(cls, func, when, *args, **named)
        error = made.excinfo.value if when == "collect" and made.excinfo is not None else None
        if type(error).__name__ in _SKIPS:
            skip([""], str(error))
        elif error is not None:
            tell("no test is collected", error.__cause__ or error, 0)
        return made

    info.from_call = classmethod(from_call)


def _watch_functions(module: Any, skip: Skip) -> None:
    """What leaves a test's function, which a hook around it may keep; whether a hook calls it; its end.

    A test may run pytest itself.
    """
    function, call = module.Function, module.pytest_pyfunc_call
    run, called = function.runtest, set[int]()

    @wraps(call)  # with what pytest marks its hooks by
    def pytest_pyfunc_call(pyfuncitem: Any) -> Any:
        called.add(id(pyfuncitem))
        return call(pyfuncitem)

    def runtest(self: Any) -> None:
        called.discard(id(self))
        try:
            with Passed.watched():
                run(self)
        except BaseException as error:
            _left[:] = [error]
            raise
        _left.clear()
        if not (id(self) in called or iscoroutinefunction(self.obj)):  # those need a plugin
            skip([self.nodeid], _TAKEN)

    module.pytest_pyfunc_call, function.runtest = pytest_pyfunc_call, runtest


def _watch_fixtures(fixture: Any) -> None:
    """What was left out in a fixture was so for every test that takes what it has made."""
    execute = fixture.execute
    left_out = WeakKeyDictionary[Any, tuple[int, int]]()

    def counted(self: Any, request: Any) -> Any:
        before, kept = Passed.left_out(), self.cached_result
        try:
            return execute(self, request)
        finally:
            if self.cached_result is kept:
                Passed.count(left_out.get(self, (0, 0)))
            else:
                calls, others = Passed.left_out()
                left_out[self] = calls - before[0], others - before[1]

    fixture.execute = counted


def _watch_selection(session: Any, skip: Skip) -> None:
    """Options and hooks take tests away that were collected."""
    generate, collect = session.genitems, session.perform_collect
    every: dict[str, None] = {}

    def genitems(self: Any, node: Any) -> Any:
        for item in generate(self, node):
            every[item.nodeid] = None
            yield item

    def perform_collect(self: Any, *args: Any, **named: Any) -> Any:
        every.clear()
        made = collect(self, *args, **named)
        if gone := every.keys() - {item.nodeid for item in self.items}:
            skip(sorted(gone), _DESELECTED)  # at once: there may be hundreds of thousands
        return made

    session.genitems, session.perform_collect = genitems, perform_collect


class _Reported:
    """A plugin of pytest that keeps the names of the tests that were called, or failed, whoever ran them."""

    def __init__(self) -> None:
        self.names = set[str]()

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.failed:
            self.names.add(report.nodeid)


def _watch_loop(module: Any, skip: Skip, settle: Callable[[], None]) -> None:
    """A hook may say of a test, or of all of them, that it has run them. The last ones `settle`."""
    loop, run = module.pytest_runtestloop, module._main
    taken: list[list[Any] | None] = []  # a session's tests that this process took; None if a hook took all

    def pytest_runtestloop(session: Any) -> Any:
        taken[-1:] = [[]]
        ended = loop(session)
        taken[-1:] = [session.items[:]]
        return ended

    def _main(config: Any, session: Any) -> Any:
        seen = _Reported()
        config.pluginmanager.register(seen)
        taken.append(None)
        try:
            return run(config, session)
        finally:
            settle()
            config.pluginmanager.unregister(seen)
            items = taken.pop()
            if items is None and not hasattr(config, "workerinput"):  # pytest-xdist has a loop of its own
                items = session.items[:]
            if not config.option.collectonly:
                for item in items or ():
                    if item.nodeid not in seen.names:
                        skip([item.nodeid], _UNREPORTED)

    module.pytest_runtestloop, module._main = pytest_runtestloop, _main


def _say_nothing_of_us(hook: Any) -> None:
    warn = hook._warn_already_imported

    def _warn_already_imported(self: Any, name: str) -> None:
        if name.partition(".")[0] != "layoutcheck":
            warn(self, name)

    hook._warn_already_imported = _warn_already_imported
