"""`Lowering`: copies whose layouts could not be followed get the addresses of the compiler's own lowering.

    with Lowering() as lowering:
        copies = lowering.resolve(text, copies, arch)

A copy that `sources.printed` could only read the types of is judged by one thread. Its module, lowered and
evaluated, has the addresses of all of them: they are counted here, and what cannot be right is noted. Faults
are claimed only where address, execution and source rest on threads, loop counters and, for alignment, on
numbers for dynamic arguments; costs also where a whole warp shares a value loaded at run time.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, TypeVar

from layoutcheck.dsl.lowered import SURPRISES, Kernel, Lowered, argument_types, host_types, of_answer, passes
from layoutcheck.dsl.lowered.arguments import roomier
from layoutcheck.dsl.lowered.calls import Call, numbers_of
from layoutcheck.dsl.lowered.capacity import too_large
from layoutcheck.dsl.lowered.elements import check_elements, dropped, has_elements, has_mbarriers
from layoutcheck.dsl.lowered.evaluate import KERNELS, name_of
from layoutcheck.dsl.lowered.faults import Outside, in_call, in_turns, outside
from layoutcheck.dsl.lowered.grid import Grid
from layoutcheck.dsl.lowered.lowered_op import LoweredOp
from layoutcheck.dsl.lowered.refusals import Refusal, refusal
from layoutcheck.dsl.lowered.resolved import placed, resolved_all, wanting
from layoutcheck.dsl.session import DslUnavailable, Session
from layoutcheck.errors import fault
from layoutcheck.operands import check_operands
from layoutcheck.sources.mlir import parse, without_locations
from layoutcheck.sources.traced import ElementReport, Frame, OperandReport, OrderReport, TracedCopy
from layoutcheck.sources.traced_module import TracedModule

MODULE_SECONDS = 60.0
_FOUND = (  # what is found of a copy
    *("copy", "address_source", "missing", "addresses", "warps", "unbounded", "bounded_if", "inside"),
    "box_align",
)
T = TypeVar("T")


# Called with a module, its lowered text, and why there is none ("" where there is).
Ordering = Callable[[TracedModule, str, str], OrderReport]
Multiplying = Callable[[TracedModule, str, str], OperandReport]


class Lowering:
    """Lowers modules in one process of the DSL, started where the first is asked for; threads may share it.

    `seconds` is the time that all modules together may take. `problem` says why nothing more can be lowered,
    once that is so. What was found of a module is kept: the same module again costs nothing. `copies`
    False leaves copies to their types; `order`, where given, checks the order of accesses in every module,
    `products` the elements that its products multiply.
    """

    def __init__(
        self,
        seconds: float | None = None,
        *,
        copies: bool = True,
        order: Ordering | None = None,
        products: Multiplying | None = None,
    ) -> None:
        self.problem = ""
        self._lasting = False  # whether the problem is every module's
        self.copies = copies
        self.order, self.products = order, products
        self._answer: tuple[str, dict[str, Any]] = ("", {})  # of the module that was lowered last
        self._seconds, self._spent = seconds, 0.0
        self._session: Session | None = None
        self._lock = threading.Lock()
        self._known: dict[bytes, list[TracedCopy]] = {}
        self._elements: dict[tuple[bytes, tuple[Frame, ...]], ElementReport] = {}  # by digest and lines
        self._last: tuple[bytes, tuple[Lowered, Outside]] = b"", (Lowered(), Outside())
        # Modules that the passes lower, and why they cannot be launched all the same.
        self._lowered: dict[bytes, Refusal | None] = {}
        self._roomy: tuple[str, dict[str, Grid]] = ("", {})  # of the module that was asked for last

    def __enter__(self) -> Lowering:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the DSL's process, where one was started; the next module starts another."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def resolve(
        self, text: str, copies: Sequence[TracedCopy], arch: str, calls: Sequence[Call | None] = ()
    ) -> list[TracedCopy]:
        """The copies of a module in order; those known by types get addresses, or the reason why not.

        `calls` are those that the program makes of the module's host function.
        """
        if not self.copies or not any(wanting(one) or placed(one) or one.unbounded for one in copies):
            return list(copies)
        digest = _digest(text, arch, calls)
        known = self._known.get(digest)
        if known is None:
            start = time.monotonic()
            judged = self._judged(digest, text, arch, calls)
            known = self._known[digest] = resolved_all(copies, *judged, arch)
            self._spend(start)
        return [
            replace(one, **{name: getattr(was, name) for name in _FOUND})
            if wanting(one) or was.addresses is not None or was.unbounded or was.bounded_if or was.inside
            else replace(one, copy=was.copy, unbounded=was.unbounded, box_align=was.box_align)
            for one, was in zip(copies, known, strict=True)
        ]

    def refusal(self, text: str, arch: str, compiled: bool = False) -> Refusal | None:
        """Why a traced module cannot be compiled, or not launched; None where it can, or nobody can be asked.

        The compiler is not asked where the script has it `compiled` itself.
        """
        digest = _digest(text, arch)
        if digest in self._lowered or compiled:
            return self._lowered.get(digest)
        with self._lock:
            if self.problem:
                return None
            try:
                passed = self._passes(text)
                return refusal(text, arch, passed, self._started(), self._left())
            except DslUnavailable as error:
                self.problem = str(error)
                return None

    def elements(self, module: TracedModule) -> ElementReport | None:
        """The accesses of a module's kernels that are not copies; None where it has none."""
        accesses = has_elements(module.text)
        if not self.copies or not (accesses or has_mbarriers(module.text) or any(dropped(module))):
            return None
        start = time.monotonic()
        digest = _digest(module.text, module.arch, module.calls)
        key = digest, module.lines
        if key not in self._elements:
            lowered, beyond = self._judged(digest, module.text, module.arch, module.calls)
            self._elements[key] = check_elements(module, lowered, beyond)
        self._spend(start)
        found = self._elements[key]
        return found if accesses or found.findings else None

    def _judged(
        self, digest: bytes, text: str, arch: str, calls: Sequence[Call | None]
    ) -> tuple[Lowered, Outside]:
        """A module lowered, and its accesses outside of memory; from the last time if it was this one."""
        if self._last[0] != digest:
            lowered = self._lower(text)
            names = [one.name for one in lowered.kernels]
            known = filter(None, numbers_of(calls, argument_types(text), names))
            largest = max(known, key=lambda one: sum(one.extents), default=None)
            kernels = [self._with_room(text, one) for one in lowered.kernels]
            if largest is not None:
                kernels = [replace(one, called=cache(partial(in_call, one, largest))) for one in kernels]
            lowered = replace(lowered, kernels=tuple(kernels))
            self._last = digest, (lowered, _outside(lowered, arch, text, calls))
            if not lowered.problem:
                self._lowered[_digest(text, arch)] = next(too_large(lowered, arch), None)
        return self._last[1]

    def _with_room(self, text: str, kernel: Kernel) -> Kernel:
        """The kernel, which can have its tensors' modes apart; the module is lowered for that once."""

        def roomy() -> Grid | None:
            if self._roomy[0] != text:
                self._roomy = text, self._apart(text)
            return self._roomy[1].get(kernel.name)

        return replace(kernel, roomy=roomy, turned=cache(partial(_in_turns, kernel)))

    def _apart(self, text: str) -> dict[str, Grid]:
        """The grid of each kernel of a module with room between the modes of its tensors; none if unknown."""
        bare = without_locations(text)
        types, hosts = argument_types(bare).values(), host_types(bare)
        # A kernel's own may be cut by the host: their strides do not tell which modes are one.
        every = [roomier(itertools.chain(*some)) for some in (types, hosts)]
        if not every[0] or self.problem:
            return {}
        with self._lock:
            try:
                again = ""
                for item in ({"module": bare, "types": each} for each in every if each):
                    again = again or self._started().ask("room", [item], self._left())[0].get("module", "")
                lowered = passes(again, self._left(), self._started()) if again else {}
            except DslUnavailable as error:
                self.problem = str(error)
                return {}
        if "lowered" not in lowered:
            return {}
        module, given = parse(lowered["lowered"]), argument_types(again)
        return {name_of(op): Grid(op, given) for op in module.walk() if op.name in KERNELS}

    def _spend(self, start: float) -> None:
        self._spent += time.monotonic() - start
        if self._seconds is not None and self._spent > self._seconds:
            self.problem = self.problem or f"lowering all of them takes more than {self._seconds:g} s"
            self._lasting = True

    def _lower(self, text: str) -> Lowered:
        with self._lock:
            if self.problem:
                return Lowered(problem=self.problem)
            try:
                return of_answer(self._passes(text), text)
            except DslUnavailable as error:
                self.problem = str(error)
                return Lowered(problem=self.problem)

    def recover(self) -> None:
        """Forget why a module was not lowered, where that is its own: the next has another process."""
        with self._lock:
            if self.problem and not self._lasting:
                self.problem = ""
                self.close()

    def _started(self) -> Session:
        if self._session is None:
            try:
                self._session = Session().__enter__()
            except DslUnavailable:
                self._lasting = True
                raise
        return self._session

    def _left(self) -> float:
        left = MODULE_SECONDS if self._seconds is None else max(1.0, self._seconds - self._spent)
        return min(MODULE_SECONDS, left)

    def _passes(self, text: str) -> dict[str, Any]:
        """A module's lowered text, from the last time if it was this one. Raises DslUnavailable."""
        if self._answer[0] != text:
            self._answer = (text, passes(text, self._left(), self._started()))
        return self._answer[1]

    def check_order(self, module: TracedModule) -> OrderReport | None:
        """The order of accesses of a module's kernel; None where that is not asked for."""
        return None if self.order is None else self._looked(module, self.order, "unordered")

    def check_products(self, module: TracedModule) -> OperandReport:
        """What a module's products multiply; by its types alone where elements are not to be followed."""
        if not self.products:
            return check_operands(module)
        return self._looked(module, self.products, "unfollowed")

    def _looked(self, module: TracedModule, check: Callable[[TracedModule, str, str], T], unfit: str) -> T:
        """What a check says of a module and of its lowering; `unfit` is why this is not for the check."""
        start = time.monotonic()
        problem, lowered = self.problem, ""
        if not problem:
            with self._lock:
                try:
                    answer = self._passes(module.text)
                    lowered, problem = answer.get("lowered", ""), answer.get("problem", "")
                    problem = answer.get(unfit) or problem
                    if answer.get("refused"):
                        problem = "the compiler refuses a copy of it"
                except DslUnavailable as error:
                    problem = self.problem = str(error)
        found = check(module, lowered, problem)
        self._spend(start)
        return found


def _in_turns(kernel: Kernel) -> Sequence[tuple[bool, dict[str, LoweredOp]]]:
    """What `in_turns` finds, until an evaluation fails: with an odd number one may that has not before."""
    found = []
    with contextlib.suppress(*SURPRISES):
        for one in in_turns(kernel):
            found.append(one)  # noqa: PERF402 (what came before a failure counts)
    return found


def _digest(text: str, arch: str, calls: Sequence[Call | None] = ()) -> bytes:
    return hashlib.sha256(f"{arch} {list(calls)} {text}".encode()).digest()


def _outside(lowered: Lowered, arch: str, text: str, calls: Sequence[Call | None]) -> Outside:
    """What leaves its memory; where the evaluation fails nothing is, and all bounds are not checked."""
    try:
        return outside(lowered, arch, text, calls)
    except SURPRISES as error:
        why = fault(error)
        return Outside(unchecked={tag: why for kernel in lowered.kernels for tag in kernel.lowered_ops})
