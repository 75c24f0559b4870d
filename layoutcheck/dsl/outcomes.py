"""`Outcomes`: what a traced run says of itself: failures, skipped tests and notes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import itemgetter
from typing import Any

from layoutcheck.digits import many
from layoutcheck.sources.pasted import cut, plain
from layoutcheck.sources.printed import where_of
from layoutcheck.sources.traced import Frame, TraceFailure
from layoutcheck.sources.wanted_arch import FOR_ANOTHER, wanted_arch

_ARROW = re.compile(r"^\s*--> (\S+\.py):([0-9]+)", re.MULTILINE)
_EXCERPT = re.compile(r"^ *(?:--> .*|[0-9]* *\|.*)\n?", re.MULTILINE)
# MLIR's, before its words.
_PLACED = re.compile(r'"[^"\n]{1,400}"\("[^"\n]{1,400}":[0-9:]+(?: to [0-9:]+)?\): ')
_INSTALLED = re.compile(r"[\\/](?:site|dist)-packages[\\/]")
TIME_UP = "time is up"  # ends what is said of kernels that were built, and not judged in full
ENDED_AT = "the script ended"  # begins a note: more would have run
WENT_ON, FOR_WANT = "went on behind an assertion that fails", "for want of what a kernel computes"
FAILED_WANTING = f"failed {FOR_WANT}"  # in a note: more would have run
_NOTED = {"unlaunched": FAILED_WANTING, "passed": f"{WENT_ON} {FOR_WANT}"}  # tests, by what became of them
_CAUGHT = "the program went on behind a build that failed: "
_MOST = 200  # characters of a message
_PRINTS = ("cute.print_view", "cute.print")  # what host code may print is a tensor of the CPU's
_NOT_OF_RESULTS = (  # that a kernel would have computed
    "ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "NameError", "AttributeError",
    "TypeError",
)  # fmt: skip
_MISALIGNED = "Tensor data pointer is not aligned"  # the DSL's, of an address
_BROKEN = ("BrokenProcessPool", "BrokenThreadPool")  # of a pool whose processes died, or could not begin
_NOT_IMPORTED = "could not import"  # of `pytest.importorskip`


class Outcomes:
    """Takes the events of a run's tests and exceptions, as `dsl/spool.py` writes them."""

    def __init__(self, main: int | None, compiled: bool) -> None:
        self.compiled = compiled  # by the script itself; a run that launches nothing ends every build before
        self.mains = {main}  # the script's process and its helpers; what others raise is theirs to tell it
        self.raised = False
        self.left = False  # whether `os._exit` ended the script while it built a kernel
        self.skipped: dict[str, str] = {}  # tests, and why they were
        self.tests: dict[TraceFailure, list[str]] = {}  # that failed, by what they say
        self._failures: list[tuple[int, TraceFailure]] = []
        self._aside: list[TraceFailure] = []  # what threads and other processes raised
        self._notes: dict[str, None] = {}
        self._loaded: dict[str, int] = {}
        self._unbuilt: dict[str, tuple[Any, TraceFailure]] = {}  # builds that failed, by their marks
        self._hosts = set[tuple[Any, ...]]()  # functions that were built, whatever they were given
        self._settled: set[str] = set()  # those that something tells of
        self._refused = 0

    def fail(self, failure: TraceFailure, place: int = sys.maxsize) -> None:
        """Keep a failure, in the order of places: of a test, or behind them all."""
        self._failures.append((place, failure))

    def miss(self, event: dict[str, Any]) -> None:
        """A module that is not there, once of all processes that import it."""
        if all(one.message != event["message"] for _, one in self._failures):
            self.fail(TraceFailure("missing", event["message"], Frame(**event["where"])), event.get("at", -1))

    def note(self, text: str) -> None:
        """Keep what is said once, however often it happens."""
        self._notes[text] = None

    def skip(self, tests: Iterable[str], reason: str) -> None:
        """Tests that pytest skipped; a whole file where the name is empty."""
        said = cut(reason, _MOST)
        for test in tests:
            self.skipped.setdefault(test, said)

    def unbuilt(self, event: dict[str, Any]) -> None:
        """A build that failed. If nothing tells of it, the program has gone on behind it."""
        said = f"{event['type']}: {cut(_PLACED.sub('', _first_line(plain(event['message']))), _MOST)}"
        host = tuple(event["host"] or ())
        where = _where(event) or (Frame(*host) if host else None)
        failure = TraceFailure("caught", f"{_CAUGHT}{said}", where, _stack(event))
        self._unbuilt.update(dict.fromkeys(event["builds"], (host, failure)))

    def built(self, host: Iterable[Any]) -> None:
        """A function of the program's that was built, as (file, line)."""
        self._hosts.add(tuple(host))

    def settle(self, event: dict[str, Any]) -> None:
        """An event that tells of builds that failed, or says that they are meant to."""
        self._settled.update(event.get("builds", ()))

    def loaded(self, path: str, place: int, foreign: bool = False) -> None:
        """What was compiled earlier and is loaded (`loaded.py`); of a package it is none of the program's."""
        if _INSTALLED.search(path):
            return
        if foreign:
            self.note(f"GPU code that the DSL did not compile is not checked: {path}")
        else:
            self._loaded.setdefault(path, place)

    def leave(self, event: dict[str, Any]) -> None:
        """The process that `os._exit` ended."""
        self.left |= event["building"] and event["pid"] in self.mains

    def leave_unwatched(self, command: str) -> None:
        """A process that has loaded the DSL and leaves no events."""
        said = f"a process was not watched, and has loaded the DSL: {command}: it may have built kernels"
        self.fail(TraceFailure("exited", said))

    def leave_running(self, processes: dict[str, bool]) -> None:
        """Processes that were ended behind the program, by command: whether they had loaded the DSL."""
        for command, loaded in processes.items():
            told = f"a process that it left running was ended: {command}"
            if loaded:
                self.fail(TraceFailure("exited", f"{told}: it may have built kernels"))
            else:
                self.note(told)

    def refuse(self, event: dict[str, Any]) -> None:
        """What the verifier refuses in a module: its copies are counted, all else is a failure of its own."""
        self._refused += len(event["refused"])
        for name, message, location in event["others"]:
            if not self.compiled and name in _PRINTS and "in host context" in message:
                self.note(
                    "a tensor printed by host code is not judged: without a GPU all tensors count as its"
                )
            elif not event["refused"] or name != "builtin.module":
                frames = where_of(location)
                where = frames[0] if frames else None
                said = f"{name}: {cut(message, _MOST)}"
                self.fail(TraceFailure("refused", said, where), event.get("at", -1))

    def test(self, event: dict[str, Any]) -> None:
        """A test of the suite that failed; of those that fail alike the first is kept, with their number."""
        frame = _where(event)
        if event["refused"] and not event["compiling"]:
            return
        if event.get("went_on"):
            kind = "passed"
        elif event["compiling"]:
            kind = "uncompiled"
        elif _for_want_of_results(event):
            kind = "unlaunched"
        else:
            kind = "test"
        words = _PLACED.sub("", _first_line(plain(event["message"])))
        said = f"{event['type']}: {cut(words, _MOST)}"
        failure = TraceFailure(kind, said, None if kind in _NOTED else frame, _stack(event))
        self.tests.setdefault(failure, []).append(event["test"])

    def exception(self, event: dict[str, Any]) -> None:
        """An exception that ended the script, or a thread or process of its own."""
        aside = event.get("aside", False) or not self.mains & {None, event["pid"]}
        unplaced = event["where"] is None and event["type"] not in _BROKEN
        if aside and (event["launches_skipped"] or unplaced or event["refused"]):
            return
        self.raised |= not aside
        if not aside:
            self.settle(event)
        said = plain(event["message"]).strip()
        message = f"{event['type']}: {_PLACED.sub('', _EXCERPT.sub('', said))}"
        where, stack = _where(event), _stack(event)
        if wanted := wanted_arch(said):
            self.note(f"{FOR_ANOTHER}: --arch {wanted}")
        if aside:
            self._aside.append(
                TraceFailure("raised", f"in a thread or process that it started: {message}", where, stack)
            )
        elif event.get("compiling") and not event["refused"]:
            self.fail(TraceFailure("uncompiled", message, where, stack), event.get("at", -1))
        elif event["refused"] and self._refused:
            self.note("the script ended where the compiler refused a kernel; --no-launch traces the rest")
        elif _for_want_of_results(event):
            at = f" at {where}" if where else ""
            self.note(
                f"{ENDED_AT}{at}, {event['launches_skipped']} launches into a run that launches "
                f"nothing: {cut(_first_line(message), _MOST)}"
            )
        else:
            self.fail(TraceFailure("raised", message, where, stack), event.get("at", -1))

    def failures(self, in_tests: bool, any_kernel: bool) -> Iterator[TraceFailure]:
        """All of them, in order; `in_tests` if a test that fails may tell of what it starts."""
        yield from (one for _, one in sorted(self._failures, key=itemgetter(0)))
        for failure, tests in self.tests.items():
            if failure.kind not in _NOTED:
                more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
                yield replace(failure, message=f"{tests[0]}{more}: {failure.message}")
        if not self.raised and not (in_tests and self.tests):
            yield from self._aside
        yield from self._caught(tried=False)
        if self._loaded:
            yield TraceFailure("loaded", self._said_of_loaded())
        wanting = [reason for reason in self.skipped.values() if reason.startswith(_NOT_IMPORTED)]
        if wanting and not any_kernel:
            were = f"{len(self.skipped)} tests were" if len(self.skipped) > 1 else "a test was"
            yield TraceFailure("test", f"{were} skipped, and no kernel was built: {wanting[0]}")

    def notes(self) -> Iterator[str]:
        """What is no failure, and to be known."""
        yield from self._notes
        for kind, became in _NOTED.items():
            alike = {failure: tests for failure, tests in self.tests.items() if failure.kind == kind}
            if alike:
                failure, (test, *_) = next(iter(alike.items()))
                number = many(sum(map(len, alike.values())), "test")
                yield f"{number} {became}, such as {test}: {failure.message}"
        if tried := self._caught(tried=True):
            said, where = tried[0].message.removeprefix(_CAUGHT), tried[0].where
            at = f" at {where}" if where else ""
            yield f"{many(len(tried), 'build')} failed, of what was built with other arguments{at}: {said}"

    def _caught(self, tried: bool) -> list[TraceFailure]:
        """Builds that failed behind which the program went on; `tried` where others of the function did not.

        So does an autotuner that tries configurations.
        """
        left = (one for mark, one in self._unbuilt.items() if mark not in self._settled)
        return list(dict.fromkeys(one for host, one in left if (host in self._hosts) == tried))

    def _said_of_loaded(self) -> str:
        count, first = len(self._loaded), min(self._loaded, key=lambda path: self._loaded[path])
        files = f"{count} compiled file{'s' * (count != 1)}, such as {first}, not traced: "
        return f"{files}loaded from a cache? Empty it, or turn it off (QUACK_CACHE_ENABLED=0)"


def _where(event: dict[str, Any]) -> Frame | None:
    """The place of an exception: the DSL's own hide the frames between the launch and the kernel's line."""
    pointed = _ARROW.search(plain(event["message"]))
    if pointed:
        return Frame(pointed[1], int(pointed[2]))
    return None if event["where"] is None else Frame(**event["where"])


def _stack(event: dict[str, Any]) -> tuple[Frame, ...]:
    """The user's places around `_where`, innermost first."""
    at = _where(event)
    every = (Frame(**one) for one in (event["where"], *event.get("stack", ())) if one is not None)
    return tuple(one for one in every if at is None or (one.file, one.line) != (at.file, at.line))


def _for_want_of_results(event: dict[str, Any]) -> bool:
    """Whether what kernels would have computed is not there, which may be why it was raised."""
    known = event["type"] in _NOT_OF_RESULTS or _MISALIGNED in event["message"]
    return bool(event["launches_skipped"]) and not known


def _first_line(text: str) -> str:
    """The first line; where it ends with a colon, the next as well."""
    first, *others = [line for line in text.splitlines() if line.strip()] or [""]
    return " ".join([first, *others[:1]]) if first.rstrip().endswith(":") else first
