"""`Collector`: the events of a traced run put together as a `Trace`."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

from layoutcheck.dsl import identity
from layoutcheck.dsl.called import MOST
from layoutcheck.dsl.judges import Here, Judges
from layoutcheck.dsl.lowered.calls import Call
from layoutcheck.dsl.lowered.refusals import Refusal
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.lowered.resolved import placed
from layoutcheck.dsl.outcomes import TIME_UP, Outcomes
from layoutcheck.dsl.shared_out import SharedOut
from layoutcheck.dsl.shares import OTHERS
from layoutcheck.errors import InputError
from layoutcheck.sources.mlir.parse import NEVER_DEFINED
from layoutcheck.sources.printed import read_module
from layoutcheck.sources.traced import (
    ElementReport,
    Frame,
    Kernel,
    OperandReport,
    OrderReport,
    Trace,
    TracedCopy,
    TraceFailure,
)
from layoutcheck.sources.traced_module import TracedModule
from layoutcheck.versions import newer

# Called with the text of each module that is new, its architecture, and the copies in it.
Observe = Callable[[str, str, Sequence[TracedCopy]], None]
_Place = tuple[int, int, int]  # of a module: its test's, the number of its first copy, and its own

_SETTLED_SECONDS = 5.0  # after its build a program has called a kernel, mostly
_ELSEWHERE = (
    "another function made it, as where a kernel is given a layout of the host as cutlass.Constexpr; "
    "the compiler refuses that"
)


class Collector:
    """Takes events as `dsl/spool.py` writes them; `trace()` is what they come to."""

    def __init__(
        self, main: int | None = None, observe: Observe | None = None, lowering: Lowering | None = None,
        compiled: bool = True, judges: Judges | None = None,
    ) -> None:  # fmt: skip
        self.judges = judges
        self.outcomes = Outcomes(main, compiled)
        self.observe = observe
        self.lowering = lowering
        self.main = main  # the script's own process
        self.kernels: dict[str, Kernel] = {}  # by the text's digest: building a kernel again adds nothing
        self.copies: list[TracedCopy] = []
        self.last = ""
        self._imported: set[str] = set()
        self.sessions: dict[int, bool] = {}  # of pytest, by process: whether it is done
        self.sharing: dict[int, int] = {}  # how many tests there are, by process that takes some of them
        self._held: list[dict[str, Any]] = []  # of tests that are shared, to be taken in their order
        self._versions: dict[str, str] = {}
        self._modules: list[tuple[TracedModule, range, str]] = []  # to ask more of; their copies and digests
        self._numbers: dict[str, int] = {}  # of a module in these, by its digest
        self._digests: dict[tuple[int, int], str] = {}  # (process, module) -> its text
        self._unverified: set[str] = set()  # digests of modules that the verifier has not come to an end with
        self._from: dict[str, int] = {}  # by a module's digest: the place of the first test that built it
        self._calls: dict[str, dict[Call | None, int]] = {}  # the same: calls, by the first that made each
        self._looked: SharedOut | None = None
        self._fresh: dict[int, float] = {}  # when modules that judges do not have yet were built
        self._of: dict[str, range] = {}  # by a module's digest: its copies
        self._orders: dict[_Place, OrderReport] = {}
        self._elements: list[ElementReport] = []
        self._operands: list[OperandReport] = []

    def take(self, events: Iterable[dict[str, Any]]) -> bool:
        """Work through events; whether there were any."""
        found = False
        for event in events:
            found = True
            self._take(event)
        return found

    def look_ahead(self, deadline: float | None = None) -> None:
        """Have judges begin with the modules that the program seems to be done with, while it runs.

        It is ended at the `deadline`, a time of `time.monotonic`.
        """
        if self.judges is None or len(self._modules) < self.judges.least:
            return
        shared = self._shared_out(self.judges)
        self.judges.own = False  # the program takes its processor
        settled = time.monotonic() - _SETTLED_SECONDS
        for number in [number for number, at in self._fresh.items() if at <= settled]:
            del self._fresh[number]
            shared.add(number, *self._given(number))
        shared.step(deadline)

    def resolve(self, between: Callable[[], None] | None = None, deadline: float | None = None) -> None:
        """Look at each module beside its copies: operands, and what the lowering says of addresses and order.

        Once all events are taken; `between` is called now and then. After the `deadline`, a time of
        `time.monotonic`, what is left stays as it is.
        """
        many = self.judges is not None and len(self._modules) >= self.judges.least
        looked = self._shared_out(self.judges if self.judges is not None and many else Here(self.lowering))
        for number in range(len(self._modules)):
            looked.add(number, *self._given(number))
        if self.judges is not None:
            self.judges.own = True
        try:
            looked.finish(between, deadline)
        except BaseException:
            self.stop()
            raise
        self.stop("" if deadline is None else TIME_UP)

    def stop(self, late: str = "") -> None:
        """Look at nothing more; what was found counts. `late` says why the rest was left, if that is told."""
        if self.judges is not None:
            self.judges.rest()
        modules = [self._given(number) for number in range(len(self._modules))]
        if self._looked is not None:
            for number, (module, copies) in enumerate(modules):
                self._looked.add(number, module, copies)
            self._take_looked(modules, [span for _, span, _ in self._modules], self._looked, late)
        self._modules, self._looked = [], None
        self._fresh.clear()

    def _shared_out(self, judges: Here | Judges) -> SharedOut:
        if self._looked is None:
            order = self.lowering is not None and self.lowering.order is not None
            self._looked = SharedOut(judges, order=order, compiled=self.outcomes.compiled)
        return self._looked

    def _given(self, number: int) -> tuple[TracedModule, Sequence[TracedCopy]]:
        """A module with its calls, and its copies, as they are now."""
        module, span, digest = self._modules[number]
        calls = self._calls.get(digest, {})
        first = sorted(calls, key=lambda call: calls[call])[:MOST]
        return module._replace(calls=tuple(first)), self.copies[span.start : span.stop]

    def _take_looked(
        self, modules: Sequence[tuple[TracedModule, Sequence[TracedCopy]]], spans: Sequence[range],
        looked: SharedOut, late: str,
    ) -> None:  # fmt: skip
        """What was found of each module, in order; `late` as in `stop`."""
        problems: dict[str, None] = {}
        for number in sorted(range(len(modules)), key=lambda one: self._from[self._modules[one][2]]):
            (module, copies), span = modules[number], spans[number]
            answer = looked.addresses.get(number)
            if answer is None or answer.broken:
                self._left(span, answer.broken if answer else late or "the run was ended")
                if answer is not None:
                    self._unjudged(module.kernel, span, answer.broken)
                continue
            if answer.problem and any(one.address_source == "types" for one in copies):
                problems[answer.problem] = None
            self.copies[span.start : span.stop] = answer.copies
            if answer.operands is not None:
                found = _untold(answer.operands, copies)
                said = found.products or found.unchecked or found.findings or found.in_order
                self._operands += [found] if said else []
            self._elements += [] if answer.elements is None else [answer.elements]
            if answer.refusal is not None:
                self._refused_whole(module.kernel, answer.refusal, span)
            ordered = looked.orders.get(number)
            if ordered is not None and ordered.broken:
                self._unjudged(f"the order of accesses in {module.kernel}", span, ordered.broken)
            elif ordered is not None and ordered.order is not None:
                self._orders[self._from[self._modules[number][2]], span.start, number] = ordered.order
        lacking = len(modules) - len(looked.addresses)
        if late and lacking:
            left = f"{lacking} of {len(modules)} kernels were left to their types: {late}"
            self.outcomes.fail(TraceFailure("timeout", left))
        unordered = sum(
            not one.broken and number not in looked.orders for number, one in looked.addresses.items()
        )
        if late and unordered and self.lowering is not None and self.lowering.order is not None:
            many = f"{unordered} of {len(self.kernels)} kernels"
            self.outcomes.fail(TraceFailure("timeout", f"the order of accesses in {many} was left: {late}"))
        for problem in problems:
            self.outcomes.note(f"copies of unknown layouts are judged by their types: {problem}")

    def _left(self, span: range, why: str) -> None:
        """A module that was not looked at: its copies are known by their types and layouts."""
        self.copies[span.start : span.stop] = [
            replace(one, unbounded=one.unbounded or f"its kernel was not checked: {why}")
            if placed(one)
            else one
            for one in self.copies[span.start : span.stop]
        ]

    def _unjudged(self, what: str, span: range, why: str) -> None:
        where = self.copies[span.start].where if span else None
        self.outcomes.fail(TraceFailure("unjudged", f"{what}: {why}", where))

    def _refused_whole(self, kernel: str, refusal: Refusal, span: range) -> None:
        """Note a kernel that the compiler refuses, at the copy that it fails on or at the kernel's first."""
        self.copies[span.start : span.stop] = [
            replace(one, uncompiled=True) for one in self.copies[span.start : span.stop]
        ]
        at = refusal.copy if refusal.copy is not None and refusal.copy < len(span) else 0
        where = self.copies[span.start + at].where if span else None
        self.outcomes.fail(TraceFailure("uncompiled", f"{kernel}: {refusal.message}", where))

    def trace(self, ending: TraceFailure | None = None) -> Trace:
        """Everything seen, and how it ended."""
        self._take_held()
        failures = [*self.outcomes.failures(self.main in self.sessions, bool(self.kernels))]
        kernels = sorted(self.kernels, key=lambda digest: self._from[digest])
        spans = (self._of[digest] for digest in kernels)
        for span in (self._of[digest] for digest in self._unverified):  # its process had ended before
            self.copies[span.start : span.stop] = [replace(self.copies[at], verified=False) for at in span]
        copies = [one for span in spans for one in self.copies[span.start : span.stop]]
        return Trace(
            tuple(copies), tuple(self.kernels[digest] for digest in kernels),
            (*failures, *([ending] if ending else [])), tuple(self.outcomes.notes()), self._versions,
            tuple(order for _, order in sorted(self._orders.items(), key=itemgetter(0))),
            tuple(sorted(self._imported)), tuple(self._elements),
            tuple(self._operands), tuple(sorted(self.outcomes.skipped.items())),
        )  # fmt: skip

    def _take(self, event: dict[str, Any], again: bool = False) -> None:
        kind, place = event["kind"], event.get("at", -1)
        if self.sharing and kind in ("test", "note", "skip") and not again:
            self._held.append(event)
        elif kind == "built":
            self._built(event)
        elif kind == "called":
            self._call(event)
        elif kind == "raised":
            self.outcomes.exception(event)
        elif kind == "test":
            self.outcomes.test(event)
            self.outcomes.settle(event)
        elif kind == "unbuilt":
            self.outcomes.unbuilt(event)
        elif kind == "expected":
            self.outcomes.settle(event)
        elif kind == "session":
            self.sessions[event["pid"]] = event["over"]
        elif kind == "tests":
            self.sharing[event["pid"]] = event["count"]
        elif kind == "skip":
            self.outcomes.skip(event["tests"], event["reason"])
        elif kind == "left":
            self.outcomes.leave(event)
        elif kind == "imported":
            self._imported.update(event["files"])
        elif kind == "loaded":
            self.outcomes.loaded(event["path"], place, event["foreign"])
        elif kind == "unsupported":
            self.outcomes.fail(TraceFailure("unsupported", event["message"]), place)
        elif kind == "note":
            self.outcomes.note(event["message"])
        elif kind == "missing":
            self.outcomes.miss(event)
        elif kind == "unread":
            self.outcomes.fail(TraceFailure("exited", "the program wrote into layoutcheck's own folder"))
        elif kind == "process":
            python = event.get("python") or ".".join(map(str, sys.version_info[:3]))
            self._versions |= {"dsl": event["dsl"], "python": python}
            if found := newer(event["dsl"]):
                self.outcomes.note(found)

    def _take_held(self) -> None:
        """What tests said, in their order: of several processes any may have been read first."""
        held, self._held = self._held, []
        for event in sorted(held, key=lambda one: one.get("at", -1)):
            if self.sharing.get(event.get("pid", 0)) != OTHERS or event["kind"] == "note":
                self._take(event, again=True)

    def _built(self, event: dict[str, Any]) -> None:
        module, place = (event.get("pid", 0), event["number"]), event.get("at", -1)
        if event.get("host"):
            self.outcomes.built(event["host"])
        if not event["text"]:
            self._refuse(module, event)
            return
        self.last = event["kernel"]
        digest = identity.digest(event, alike=bool(self.sharing))
        known = self.kernels.get(digest)
        if known is not None:
            self.kernels[digest] = replace(known, built=known.built + 1)
            self._digests[module] = digest
            if place < self._from[digest]:
                self._built_before(digest, event)
            return
        try:
            found = read_module(event["text"], event["kernel"], event["arch"], event["locations"])
        except InputError as error:
            said = f"{event['kernel']}: its IR cannot be read: {error.message}"
            if error.message.endswith(NEVER_DEFINED):
                said += ": " + _ELSEWHERE
            self.outcomes.fail(TraceFailure("unreadable", said), place)
            found = []
        self._digests[module], self._from[digest] = digest, place
        self._of[digest] = span = range(len(self.copies), len(self.copies) + len(found))
        self._unverified.add(digest)
        self._numbers[digest] = number = len(self._modules)
        self._fresh[number] = time.monotonic()
        self._modules.append((_module(event), span, digest))
        self.copies += found
        self.kernels[digest] = Kernel(event["kernel"], event["arch"], len(found))
        if self.observe is not None:
            self.observe(event["text"], event["arch"], found)

    def _built_before(self, digest: str, event: dict[str, Any]) -> None:
        """A module that is known is of an earlier test, whose lines its places then are."""
        self._from[digest], number, span = event["at"], self._numbers[digest], self._of[digest]
        self._modules[number] = (_module(event), span, digest)
        with contextlib.suppress(InputError):
            found = read_module(event["text"], event["kernel"], event["arch"], event["locations"])
            was = self.copies[span.start : span.stop]
            self.copies[span.start : span.stop] = [
                replace(one, refused=old.refused) for one, old in zip(found, was, strict=True)
            ]

    def _call(self, event: dict[str, Any]) -> None:
        digest = self._digests.get((event.get("pid", 0), event["number"]))
        given = event["given"]
        if given is not None:
            given = tuple(
                one if isinstance(one, int) else tuple(part if part is None else tuple(part) for part in one)
                for one in given
            )
        if digest is not None:
            calls, place = self._calls.setdefault(digest, {}), event.get("at", -1)
            calls[given] = min(calls.get(given, place), place)

    def _refuse(self, module: tuple[int, int], event: dict[str, Any]) -> None:
        """The verifier's refusals of a module that was taken before, if there are any."""
        digest = self._digests.get(module, "")
        span = self._of.get(digest, range(0))
        self._unverified.discard(digest)
        for index, message in event["refused"]:
            if index < len(span):
                at = span[index]
                self.copies[at] = replace(self.copies[at], refused=message)
        self.outcomes.refuse(event)

    @property
    def tests_failed(self) -> bool:
        """Whether tests failed, which says why pytest ended with a status."""
        self._take_held()
        return bool(self.outcomes.tests)

    @property
    def all_skipped(self) -> bool:
        """Whether pytest skipped whole files, which it may say with its status for no tests."""
        self._take_held()
        return "" in self.outcomes.skipped


def _module(event: dict[str, Any]) -> TracedModule:
    made = TracedModule(
        event["text"], event["kernel"], event["arch"], event.get("sites", {}), event.get("places", ())
    )
    return made._replace(caller=Frame(*event["caller"])) if event.get("caller") else made


def _untold(operands: OperandReport, copies: Iterable[TracedCopy]) -> OperandReport:
    """Without what follows from a tensor map of another swizzle: its copy tells that (LC234)."""
    maps = {
        (one.where.file, one.where.line)
        for one in copies
        if one.copy is not None and one.copy.map_swizzle is not None
    }
    left = [
        one
        for one in operands.findings
        if not maps & {(place.where.file, place.where.line) for place in one.places}
    ]
    return replace(operands, findings=tuple(left)) if maps else operands
