"""Assertions of tests about what kernels would have computed: a test goes on behind one that fails.

What it builds later would otherwise not be seen. Only assertions that pytest rewrites, which are those of
tests, and only after a launch that was left out, or a result of torch that was. A test that fails all the
same behind one has failed of the first. A result may be what ends a loop: after many assertions and a while
without a new kernel, one ends its test, and so does a longer while without an assertion.
"""

from __future__ import annotations

import ast
import builtins
import ctypes
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar

from layoutcheck.dsl.imports import when_imported
from layoutcheck.dsl.observe import NotLaunched

REWRITER = "_pytest.assertion.rewrite"
_NAME = "__layoutcheck_passed_over__"  # among the builtins: rewritten tests call it
_MANY, _SECONDS = 100, 10.0
_IDLE_SECONDS = 30.0
_raise_in: Any = ctypes.pythonapi.PyThreadState_SetAsyncExc  # (thread, class of what it raises, or nothing)


class Enough(BaseException):
    """A test goes on behind an assertion, and builds nothing."""


class Passed:
    """The test that runs: what was left out when it began, and the first assertion that it went on behind.

    `since` is when that was, or when a kernel was built that was new in this process.
    """

    before: ClassVar[tuple[int, int]] = (0, 0)
    below: ClassVar[Path | None] = None  # holds a byte for each kernel of a process that this one started
    first: ClassVar[BaseException | None] = None
    times: ClassVar[int] = 0
    since: ClassVar[float] = 0.0
    _kernels: ClassVar[set[int]] = set()
    _over: ClassVar[threading.Event | None] = None  # of the test's function while it is called
    _lock: ClassVar[Any] = threading.Lock()

    @classmethod
    def begin(cls) -> None:
        """The next test."""
        cls.before, cls.first = (NotLaunched.calls, cls._others()), None
        cls.times = 0

    @classmethod
    def built(cls, text: str) -> None:
        """A kernel was built."""
        if hash(text) not in cls._kernels:
            cls._kernels.add(hash(text))
            cls.since = monotonic()

    @classmethod
    def goes_on(cls, error: AssertionError) -> bool:
        """Whether the test goes on behind this assertion of it."""
        if not cls.times:
            cls.first, cls.since = error, monotonic()
            if cls._over is not None:
                watcher = (cls._over, threading.get_ident())
                threading.Thread(target=cls._watch, args=watcher, daemon=True).start()
        cls.times += 1
        return cls.times < _MANY or monotonic() - cls.since < _SECONDS

    @classmethod
    @contextmanager
    def watched(cls) -> Iterator[None]:
        """Around the call of a test's function, in which `Enough` may be raised; it may run pytest itself."""
        outer, over = cls._over, threading.Event()
        cls._over = over
        try:
            yield
        finally:
            with cls._lock:
                over.set()
                _raise_in(ctypes.c_ulong(threading.get_ident()), None)
            cls._over = outer

    @classmethod
    def _watch(cls, over: threading.Event, thread: int) -> None:
        while not over.wait(max(0.1, cls.since + _IDLE_SECONDS - monotonic())):
            with cls._lock:
                idle = monotonic() - cls.since > _IDLE_SECONDS and not NotLaunched.building
                if idle and not over.is_set():
                    _raise_in(ctypes.c_ulong(thread), ctypes.py_object(Enough))
                    return

    @classmethod
    def count(cls, left_out: tuple[int, int]) -> None:
        """What was left out for it before it began."""
        cls.before = cls.before[0] - left_out[0], cls.before[1] - left_out[1]

    @classmethod
    def take(cls) -> BaseException | None:
        """The assertion, once."""
        error, cls.first = cls.first, None
        return error

    @classmethod
    def left_out(cls) -> tuple[int, int]:
        """How many launches and how many other results were left out in it.

        The latter with the kernels that processes built which it has started: none of them was launched.
        """
        return NotLaunched.calls - cls.before[0], cls._others() - cls.before[1]

    @classmethod
    def _others(cls) -> int:
        below = cls.below
        return NotLaunched.left_out + (below.stat().st_size if below is not None and below.exists() else 0)


def pass_over() -> None:
    """Have the tests of this process go on behind such assertions."""

    def caught() -> Any:
        error = sys.exc_info()[1]
        wanting = isinstance(error, AssertionError) and any(Passed.left_out())
        return AssertionError if wanting and Passed.goes_on(error) else ()

    setattr(builtins, _NAME, caught)
    when_imported(REWRITER, _rewrite)


def _rewrite(module: Any) -> None:
    """What pytest keeps of its rewritten tests has a name of its own: no run without us takes ours."""
    rewrite = module.rewrite_asserts

    def rewrite_asserts(tree: ast.Module, *args: Any, **named: Any) -> None:
        rewrite(_Guard().visit(tree), *args, **named)

    module.rewrite_asserts = rewrite_asserts
    module.PYC_TAIL = f"-layoutcheck{module.PYC_TAIL}"


class _Guard(ast.NodeTransformer):
    """Each `assert` in a `try` of its own, which asks only then what it catches."""

    def visit_Assert(self, node: ast.Assert) -> ast.Try:
        asked = ast.Call(ast.Name(_NAME, ast.Load()), [], [])
        guarded = ast.Try([node], [ast.ExceptHandler(asked, None, [ast.Pass()])], [], [])
        return ast.fix_missing_locations(ast.copy_location(guarded, node))
