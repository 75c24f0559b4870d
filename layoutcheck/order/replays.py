"""`Replays`: what several replays of one kernel found, each problem told once.

Runs that are alike find the same: `likeness` is what a replay goes by. Problems of other sizes
often do the same within a block, as a loop is cut or ends by the same number.
"""

from __future__ import annotations

import itertools
import marshal
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from layoutcheck.dsl.lowered.arguments import Numbers
from layoutcheck.dsl.lowered.record import Number
from layoutcheck.dsl.lowered.values import for_all
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.order.contents import WORD, agree, place_of
from layoutcheck.order.crowded import crowded
from layoutcheck.order.engine import Outcome, run
from layoutcheck.order.given_roles import LOADED, by_roles
from layoutcheck.order.problems import Problem
from layoutcheck.order.rules import rule_of
from layoutcheck.order.runs import Run
from layoutcheck.order.tell import Teller
from layoutcheck.order.watched import Event, Watched, lanes_of
from layoutcheck.sources.mlir import Operation
from layoutcheck.sources.traced import KernelFinding

_RACE, _OF_A_PAIR = "LC504", "LC536"  # the same, in a block and between the blocks of a pair
_SYMPTOMS = ("LC508", "LC510")  # also what becomes of a kernel after something else went wrong
_USED = ("race", "not-complete")
_WRITTEN = ("write", "matrix_write", "cp_async")  # by threads of a block
# What neither waits nor ends a wait.
_NO_WAIT = (
    "read", "write", "matrix_read", "matrix_write", "tmem_read", "tmem_write", "tmem_free", "registers",
    "wgmma", "tc_copy",
)  # fmt: skip
_MOST_CALLS = 2  # whose numbers are tried
_HANGS = "LC510"  # what a kernel does that has nothing to do
_EMPTY = "It happens where all integer arguments are 0: such a problem may not be launched."
_ENDLESS = ("deadlock", "bytes-never-arrive", "too-many-arrivals")


class Replays:
    """`problem` says why the kernel is not checked, "" where it is; `unchecked` are sentences."""

    def __init__(
        self, teller: Teller, transfers: dict[str, tuple[int, int]], budget: Budget,
        calls: Sequence[Numbers | None] = (),
    ) -> None:  # fmt: skip
        self.teller, self.transfers, self.budget, self.calls = teller, transfers, budget, calls
        self.findings: dict[object, KernelFinding] = {}
        self.problem = ""
        self.events = 0
        self.first: tuple[list[Watched], Outcome] | None = None  # the kernel as launched, warps forwards
        self.unchecked: set[str] = set()
        self.met = set[Operation | None]()  # what blocks did in any run
        self.trips: list[int] = []  # tried so far, the usual one first
        self.case = ""  # the program's call that is replayed, in words
        self.empty = False  # whether all integers are 0 in what is replayed
        self.when_empty: set[object] = set()  # the findings that are told of such runs only
        self.happened: set[tuple[object, ...]] = set()  # pairs that other numbers do not order, either
        self.seen = defaultdict[object, list[Likeness]](list)  # runs of which all has been told, by form

    def replay(
        self,
        blocks: list[Watched],
        orders: Sequence[bool] = (False, True),
        longer: Callable[[], list[Watched] | None] | None = None,
        alike: bool = True,
        others: Callable[[], Iterable[list[Watched]]] | None = None,
    ) -> bool:
        """Run the warps of the blocks forwards and backwards; whether that tells all of what is alike.

        Raises OutOfTime.

        `longer` gives the same blocks with more turns of the loops that were cut: what still waits at the
        same place, in the same turn, waits for nothing that was cut. Where loops are not `alike`, no wait
        that never ends is told. `others` gives the blocks with other numbers: what is wrong, and happens with
        none of them, is not told.
        """
        whole = True
        longer = None if longer is None else cache(longer)
        for backwards in orders:
            outcome = run(blocks, self.transfers, backwards, self.budget)
            self.events = max(self.events, outcome.events)
            self.first = self.first or (blocks, outcome)
            outcome.past_cut |= not alike
            if outcome.past_cut and longer is not None and any(p.kind in _ENDLESS for p in outcome.problems):
                outcome.past_cut = self._only_seems(outcome, longer(), backwards)
            if outcome.undecided is not None:
                self.problem = self.problem or self.teller.undecided(outcome.undecided)
                whole = False
                continue
            problems = [one for one in outcome.problems if _counts(one, blocks, outcome)]
            apart = [one for one in problems if one.kind in _ENDLESS and not agree(one, blocks)]
            loose = [one for one in problems if by_roles(one, blocks)]
            problems = [one for one in problems if one not in apart and one not in loose]
            self.unchecked |= {self.teller.fits(one) for one in apart}
            self.unchecked |= {f"who meets at barrier {one.facts['id']}: {LOADED}" for one in loose}
            told = problems if others is None else self._again(problems, others, backwards)
            self.tell(told)
            whole &= not apart and not loose and len(told) == len(problems) and outcome.agree
            whole &= not outcome.compared and not outcome.stopped
            self.unchecked |= _unchecked(outcome, blocks)
            if outcome.stopped == "time":
                raise OutOfTime
        return whole

    def _again(
        self, problems: list[Problem], others: Callable[[], Iterable[list[Watched]]], backwards: bool
    ) -> list[Problem]:
        """Without what is wrong, and happens between the same operations with no other numbers.

        All where there are none. What has happened with them once is not tried again. Raises OutOfTime, and
        has then told what did not have to be tried.
        """
        wrong = {one.pair for one in problems if rule_of(one.kind).severity == "wrong"}
        left = wrong - self.happened
        sure = [one for one in problems if one.pair not in left]
        tried, alike = False, set[Likeness]()
        try:
            for blocks in others() if left else ():
                like = likeness(blocks)
                if like in alike:
                    continue
                tried, outcome = True, run(blocks, self.transfers, backwards, self.budget)
                if not outcome.compared:
                    alike.add(like)
                again = {one.pair for one in outcome.problems}
                self.happened |= left & again
                left -= again
                if not left:
                    break
        except OutOfTime:
            self.tell(sure)
            raise
        return [one for one in problems if not tried or one.pair not in left]

    def _only_seems(self, outcome: Outcome, longer: list[Watched] | None, backwards: bool) -> bool:
        """Whether what never ended may have waited for what was cut."""
        if longer is None:
            return True
        more = run([_waiting(block) for block in longer], self.transfers, backwards, self.budget)
        inside = {one for one in outcome.stuck if one[0] not in outcome.behind}
        return not inside or not inside <= more.stuck or more.stopped != outcome.stopped

    def take(self, run: Run) -> None:
        """Replay a run. Raises OutOfTime."""
        beside = run.given and not run.only
        if beside and self.problem:
            return
        self.empty, before = run.empty, self.problem
        self.met.update(event.meaning.op for block in run.blocks for event in block.events)
        others = partial(_kept, self._others(run), []) if run.first else None
        like = likeness(run.blocks)
        keys = itertools.product({False, run.empty}, {True, run.alike}, [like.form])  # as much is said of it
        if not run.first and any(like.told_by(one) for key in keys for one in self.seen[key]):
            self.unchecked |= {note for block in run.blocks for note in block.notes}
            return
        if self.replay(run.blocks, run.orders, run.longer if run.first else None, run.alike, others):
            self.seen[run.empty, run.alike, like.form].append(like)
        if beside or not run.first:
            self.problem = before  # the kernel could be followed without

    def _others(self, run: Run) -> Iterator[list[Watched]]:
        """The run with other numbers; where the usual ones take long, first with those of real calls."""
        if run.usual is not None:
            for call in filter(None, self.calls[:_MOST_CALLS]):
                yield from run.with_numbers(call)
        yield from run.with_other_numbers()

    def narrow(self) -> list[Problem]:
        """What one block writes and another one uses, ordered only by arrivals of too narrow a scope.

        Two replays differ in these arrivals alone: one breaks off what they order. Raises OutOfTime.
        """
        if self.first is None:
            return []
        blocks, usual = self.first
        if any(event.gathers for block in blocks for event in block.events):
            usual = run(blocks, self.transfers, False, self.budget, gathers=True)
        if not usual.narrow or usual.stopped:
            return []
        by_scopes = run(blocks, self.transfers, False, self.budget, gathers=True, by_scopes=True)
        known = {one.key for one in usual.problems}
        found = []
        for one in by_scopes.problems:
            if one.kind not in _USED or one.key in known or one.first is None or one.second is None:
                continue
            arrival = by_scopes.narrow.get((one.first.block, one.second.block))
            if arrival is not None and one.first.event.meaning.kind in _WRITTEN:
                found.append(replace(one, kind="narrow-release", parties=[arrival]))
        return found

    def tell(self, problems: list[Problem], launched: bool = False) -> None:
        """Keep problems as findings, one for each code and pair of lines; `launched`: of it as it is."""
        for one in self.teller.findings(problems):
            key = (one.code, one.severity, *one.lines)
            if not self.empty and key in self.when_empty:
                self.when_empty.discard(key)
                del self.findings[key]
            if self.case and not launched and key not in self.findings:
                one = replace(one, message=f"{one.message} It happens with {self.case}.")
            elif self.empty and one.code == _HANGS and not launched and key not in self.findings:
                one = replace(one, severity="note", message=f"{one.message} {_EMPTY}")
                self.when_empty.add(key)
            elif len(self.trips) > 1 and not launched and key not in self.findings:
                one.evidence["trips"] = self.trips[-1]
                usual, now = self.trips[0], self.trips[-1]
                when = f"trip count {now}, not at {usual}" if now != usual else "other sizes of the problem"
                one = replace(one, message=f"{one.message} It happens at {when}.")
            self.findings.setdefault(key, one)

    @property
    def wrong(self) -> bool:
        """Whether something is wrong."""
        return any(one.severity == "wrong" for one in self.kept())

    def kept(self) -> tuple[KernelFinding, ...]:
        """The findings, without what follows from others of them."""
        return () if self.problem else causes(list(self.findings.values()))


def causes(found: list[KernelFinding]) -> tuple[KernelFinding, ...]:
    """The findings without those whose cause is told, by another code or between threads of one block."""
    if any(f.severity == "wrong" and f.code not in _SYMPTOMS for f in found):
        found = [f for f in found if f.code not in _SYMPTOMS]
    within = [{*f.lines} for f in found if f.code == _RACE]
    return tuple(f for f in found if f.code != _OF_A_PAIR or {*f.lines} not in within)


def _kept(source: Iterator[list[Watched]], met: list[list[Watched]]) -> Iterator[list[Watched]]:
    """What was met of a source before, then the rest: it is evaluated once for both orders."""
    yield from met
    for one in source:
        met.append(one)
        yield one


def _counts(problem: Problem, blocks: list[Watched], outcome: Outcome) -> bool:
    """Whether a problem can be told: what never ends may only seem so where loops were cut."""
    if problem.kind == "phase-passed":
        return not outcome.stopped and outcome.agree and _followed(blocks)
    if problem.kind not in _ENDLESS:
        return True
    return outcome.agree and not outcome.trying and _followed(blocks) and not outcome.past_cut


def _waiting(block: Watched) -> Watched:
    """What of a block waits, and what others may wait for."""
    events = [event for event in block.events if event.meaning.kind not in _NO_WAIT]
    return replace(block, events=events)


def _followed(blocks: list[Watched]) -> bool:
    """Whether every loop and branch was taken as a run would take it."""
    return all(block.complete and not block.guessed for block in blocks)


def _unchecked(outcome: Outcome, blocks: list[Watched]) -> set[str]:
    found = set(outcome.skipped)
    for block in blocks:
        found |= set(block.notes)
    unsure = blocks[0].token or outcome.past_cut or not _followed(blocks)
    if outcome.stopped == "deadlock" and unsure:
        found.add("what follows a wait that did not end in this run")
    if not outcome.agree:
        found.add("what follows a load that brings another number than this run was taken to load")
    return found


def _known_words(event: Event, threads: int) -> Iterator[bytes]:
    """The words that an event stores or is taken to load, of each of its threads, after their places."""
    lanes = lanes_of(event, threads)
    for i, word in enumerate(event.words):
        if word is not None:
            at = np.array([place_of(one) + WORD * i for one in event.numbers(0, threads)[lanes].tolist()])
            yield np.stack((at, for_all(word, threads)[lanes]), axis=1).astype(np.int64).tobytes()


_ORDINARY = ("read", "write", "atomic")


class Likeness(NamedTuple):
    """What a replay goes by. Of `words` in memory, after their places, that is only which ones are equal.

    `cut` says what of the blocks is not followed to its end, "" if all is.
    """

    form: bytes
    words: bytes
    cut: str

    def told_by(self, other: Likeness) -> bool:
        """Whether nothing more can be wrong than in another run, if all its loads bring what was stored."""
        if self.form != other.form or other.cut not in ("", self.cut) or len(self.words) != len(other.words):
            return False
        (places, was), (_, now) = (
            np.frombuffer(one.words, np.int64).reshape(-1, 2).T for one in (other, self)
        )
        order = np.lexsort((was, places))  # what was equal at one place still is
        same = (np.diff(places[order]) == 0) & (np.diff(was[order]) == 0)
        return not (same & (np.diff(now[order]) != 0)).any()


def likeness(blocks: list[Watched]) -> Likeness:
    """Of the blocks of a cluster; where no warps meet in global memory, without ordinary accesses of it."""
    found, words, cut = blake2b(digest_size=16), list[bytes](), list[Any]()
    for block in blocks:
        crowd = crowded(block)
        apart = not crowd.cells.size and not crowd.unsure and all(one.bulk is None for one in block.events)
        launch, arrays = block.launch, dict[int, bytes]()
        ends = sorted((op.start, turns) for op, turns in block.cut)
        cut += [(block.complete, ends)] if ends or not block.complete else []
        how = launch.threads, launch.rank, block.token, block.shared_bytes, block.guessed
        found.update(repr(how).encode())
        for event in block.events:
            far = apart and event.meaning.space == "gmem" and event.meaning.kind in _ORDINARY
            if not far or _more(event):
                values = () if far else event.values
                found.update(marshal.dumps(tuple(_marks(event, values, block, arrays)), 2))
                words += () if far else _known_words(event, launch.threads)
    return Likeness(found.digest(), b"".join(words), repr(cut) if cut else "")


def _more(event: Event) -> bool:
    """Whether an event is more than an access."""
    meaning = event.meaning
    return bool(meaning.reads or meaning.sets or meaning.after or event.words)


def _marks(event: Event, values: Sequence[Number], block: Watched, arrays: dict[int, bytes]) -> Iterator[Any]:
    """What the replay knows of an event with these operands, as numbers; not a cp.async's source."""
    meaning = event.meaning
    yield id(meaning.op), meaning.kind, meaning.size, meaning.count, event.turns
    yield event.doubt, event.guarded, event.gathers, event.guess
    yield block.box_bytes(event) if not meaning.size else 0
    values = values[:1] if meaning.kind == "cp_async" else values
    yield [word is None for word in event.words]
    for value in (*values, event.mask):
        if isinstance(value, np.ndarray):
            if id(value) not in arrays:  # the events of a block share many
                arrays[id(value)] = blake2b(value.tobytes(), digest_size=16).digest()
            yield arrays[id(value)]
        else:
            yield None if value is None else int(value)  # True is 1
