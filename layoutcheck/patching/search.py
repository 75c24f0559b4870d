"""`Search`: the edits for one copy of a traced program, each traced, and the one that is kept.

With `confirm` the repaired copies also run, and their bits decide. Of edits that cost something, here or in
other copies of the program, the cheapest is kept.
"""

from __future__ import annotations

import itertools
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from layoutcheck.check import Report
from layoutcheck.copies.copy import Copy
from layoutcheck.fixes import times
from layoutcheck.patching.edit import Candidate, apart, apply
from layoutcheck.patching.located import located
from layoutcheck.patching.overlay import overlaid
from layoutcheck.patching.repaired import Repair
from layoutcheck.patching.state import RANKS, Edited, Place, State, place_of
from layoutcheck.patching.ways import ways
from layoutcheck.sources.traced import Distinct, Frame, Trace

if TYPE_CHECKING:
    from layoutcheck.gpu.outcome import Confirmation


class Retrace(Protocol):
    """Traces a script at another path, in another working directory (None: the same).

    With `uses` the reports of order have the uses of shared memory, too.
    """

    def __call__(self, script: str, cwd: str | None, /, *, uses: bool = False) -> Trace:
        """The trace."""


Confirm: TypeAlias = "Callable[[Sequence[tuple[str, Copy]]], Sequence[Confirmation]]"
"""Runs copies, each with a name."""

MOST_TRIES = 10  # traces for one copy
MOST_ORDERED = 24  # traces for one finding about order: each is short
MOST_SECOND = 6  # edits that make up for the harm of one
MOST_PROVEN = 3  # edits whose costs are compared
MOST_MORE = 4  # traces after the first that is proven


@dataclass(frozen=True)
class Proven:
    """An edit that is better, and what is said of it."""

    edited: Edited
    repair: Repair
    edits: Candidate = ()


@dataclass(frozen=True)
class Attempt:
    """An edit that was traced, and why it does not repair the copy that it is for; "" where it does."""

    title: str
    edits: Candidate
    edited: Edited
    why: str


@dataclass(frozen=True)
class Search:
    """A project whose script is traced with other texts, until `deadline` (of `time.monotonic`).

    With `uses` its traces have the uses of shared memory.
    """

    project: Path
    main: Path
    retrace: Retrace
    by: str | None
    confirm: Confirm | None
    locked: Mapping[str, str] = field(default_factory=dict)  # files that are not edited, and why
    deadline: float = math.inf
    uses: bool = False

    def best(
        self, state: State, target: tuple[Distinct, Report], texts: dict[str, str], most: int = MOST_PROVEN
    ) -> tuple[Proven | None, str]:
        """The edit that repairs the copy and harms none, the cheapest of the first; else why there is none.

        Then one that makes others slow. One that makes them wrong counts where a second edit makes up for it:
        a tile has more than one user.
        """
        held: list[str] = []
        refused: list[str] = []
        proven: list[Proven] = []
        slowing: list[Attempt] = []
        harmful: list[Attempt] = []
        for one in self.attempts(state, target, texts, held, proven):
            why = one.why
            if not why and (harmed := one.edited.harmed(slow_too=self.by is None)):
                why = f"{short(harmed[0])} is worse"
                (harmful if one.edited.harmed(slow_too=False) else slowing).append(one)
            elif not why:
                made, why = self.confirmed(one.edited, target[0], one)
                if made is not None:
                    proven.append(made)
                    if one.edited.costs_nothing() or len(proven) == most:
                        break
                    continue
            refused.append(f"{one.title.split(':')[0]} at line {lines_of(texts, one.edits)[0].line}: {why}")
        for one in slowing[: 0 if proven else MOST_PROVEN]:
            made, why = self.confirmed(one.edited, target[0], one)
            proven += [] if made is None else [made]
        if proven:
            return _cheapest(proven), ""
        for one in harmful[:MOST_SECOND]:
            mended = self.mended(one.edited)
            now = None if mended is None else mended.rank(place_of(target[0]))  # it may undo the first
            if mended is not None and now is not None and now <= RANKS["slow"]:
                made, why = self.confirmed(mended, target[0], one)
                if made is not None:
                    return made, ""
        also = f"what may be its cause is not edited: {held[0]}" if held else ""
        return None, "; ".join(filter(None, (also, told(refused))))

    def attempts(
        self,
        state: State,
        target: tuple[Distinct, Report],
        texts: dict[str, str],
        held: list[str],
        proven: Sequence[Proven],
    ) -> Iterator[Attempt]:
        """The ways to repair a copy, traced; few more once some are `proven`.

        Why edits are not made for what their files are, into `held`.
        """
        place, more_tried = place_of(target[0]), 0
        tried = set[tuple[str, ...]]()
        for title, edits, wanted, bare, others, _ in ways(texts, *target, self.by, state.bad()):
            if not self.may(edits):
                held += [self.locked[edit.path] for edit in edits if edit.path in self.locked]
                continue
            changed = apply(texts, edits)
            key = tuple(changed.values())
            if key in tried or changed == texts:
                continue
            more_tried += bool(proven)
            if len(tried) >= MOST_TRIES or more_tried > MOST_MORE:
                return
            tried.add(key)
            edited = Edited(texts, state, changed, State(self.trace(changed)))
            if more := self.further(edited, place):
                edited, title = more[0], f"{title}; then {more[1]}"
            yield Attempt(title, edits, edited, self.shortfall(edited, place, RANKS[wanted], bare, others))

    def shortfall(
        self, edited: Edited, place: Place, wanted: int, bare: Candidate | None, others: Sequence[Distinct]
    ) -> str:
        """Why an edit does not repair the copy, and those with the same cause; "" where it does."""
        now = edited.rank(place)
        if now is None or now > wanted:
            return f"the copy is {next((name for name, rank in RANKS.items() if rank == now), 'gone')}"
        if why := edited.unbounded(place) or edited.objection() or self.unkept(edited, place, bare):
            return why
        if set(map(place_of, others)) - set(edited.repaired()):
            return f"{short(place_of(others[0]))} is not repaired"
        return ""

    def further(self, edited: Edited, place: Place) -> tuple[Edited, str] | None:
        """The edit with one more, and what that does: a copy that was refused leaves its tensor now."""
        now, there = edited.rank(place), edited.there(place)
        if now is None or now >= edited.before.ranks[place]:
            return None
        left = (one for one in edited.after.bad() if place_of(one[0]) in there and one[0].first.leaves_tensor)
        target = next(left, None)
        made = None if target is None else self.best(edited.after, target, edited.changed, 1)[0]
        if made is None:
            return None
        return replace(edited, changed=made.edited.changed, after=made.edited.after), made.repair.title

    def may(self, edits: Candidate) -> bool:
        """Whether edits can be made: none touches another, or a file not to be edited, and there is time."""
        return apart(edits) and not self.late and not any(edit.path in self.locked for edit in edits)

    @property
    def late(self) -> bool:
        """Whether the time for edits is used up."""
        return time.monotonic() > self.deadline

    def unkept(self, edited: Edited, place: Place, bare: Candidate | None) -> str:
        """Why a predicate is not shown to take away just what leaves the tensor."""
        if bare is None:
            return ""
        if {place_of(one) for one, _ in edited.after.open()} & set(edited.there(place)):
            return "the copy still leaves its tensor for some extents"
        if why := edited.after.unwritten(edited.there(place)):
            return why
        before = State(self.trace(apply(edited.texts, bare))) if bare else edited.before
        return edited.keeps([place], edited.there(place), before)

    def mended(self, edited: Edited) -> Edited | None:
        """The edit with others that repair what it harms."""
        final = edited
        for place in edited.harmed()[:MOST_SECOND]:
            other = next((one for one in final.after.bad() if place_of(one[0]) == place), None)
            second = None if other is None else self.second(final, other)
            if second is not None:
                final = second
        return final if final is not edited and not final.harmed() else None

    def second(self, edited: Edited, target: tuple[Distinct, Report]) -> Edited | None:
        """The program with one more edit, which repairs another copy."""
        texts, state = edited.changed, edited.after
        options = {
            tuple(apply(texts, way.edits).items()): None
            for way in ways(texts, *target)
            if self.may(way.edits)
        }
        for option in itertools.islice(options, MOST_SECOND):
            more = Edited(texts, state, dict(option), State(self.trace(dict(option))))
            now = more.rank(place_of(target[0]))
            whole = Edited(edited.texts, edited.before, more.changed, more.after)
            if now is not None and now <= RANKS["slow"] and not whole.objection():
                return whole
        return None

    def confirmed(self, edited: Edited, one: Distinct, by: Attempt) -> tuple[Proven | None, str]:
        """The edit with what confirmed it; None and the reason where its copies move wrong bits."""
        made = _repair(edited, one, by.title, by.edits)
        if self.confirm is None:
            return Proven(edited, made, by.edits), ""
        places = {there for place in edited.repaired() for there in edited.there(place)}
        copies = [
            (short(place_of(each)), each.first.copy)
            for each, _ in edited.after.reports
            if place_of(each) in places and each.first.copy is not None
        ]
        told = self.confirm(copies)
        for result in told:
            if result.ran != "nothing" and (result.fault or not result.as_asked):
                return None, f"{result.name} moved wrong bits: {result.fault or result.first}"
        unrun = "; ".join(dict.fromkeys(f"{r.name}: {r.note}" for r in told if r.ran == "nothing"))
        ran = () if unrun else tuple(dict.fromkeys(result.ran for result in told))
        made = replace(made, confirmed_by=(*made.confirmed_by, *ran), unrun=unrun)
        return Proven(edited, made, by.edits), ""

    def trace(self, texts: dict[str, str]) -> Trace:
        """The project traced with other texts."""
        with tempfile.TemporaryDirectory(prefix="layoutcheck-", ignore_cleanup_errors=True) as folder:
            there = Path(folder).resolve() / "project"
            overlaid(self.project, texts, there)
            cwd = Path.cwd()
            inside = there / cwd.relative_to(self.project) if cwd.is_relative_to(self.project) else None
            script = there / self.main.relative_to(self.project)
            found = self.retrace(str(script), None if inside is None else str(inside), uses=self.uses)
            return located(found, str(there), str(self.project))


def _cheapest(proven: Sequence[Proven]) -> Proven:
    """The first of the cheapest: all cycles, in steps of half more, and a step for a copy left slow.

    Of those that leave the fewest copies bad: the cycles of these are not known.
    """
    left = [len(one.edited.after.bad()) for one in proven]
    best = [one for one, bad in zip(proven, left, strict=True) if bad == min(left)]
    spent = [sum(one.edited.after.cycles.values()) for one in best]

    def key(pair: tuple[float, Proven]) -> int:
        return times(pair[0], min(spent)) + (pair[1].repair.verdict == "slow")

    return min(zip(spent, best, strict=True), key=key)[1]


def told(refused: Sequence[str]) -> str:
    """Why no edit stays, each reason once; "" where none was tried."""
    refused = list(dict.fromkeys(refused))
    if not refused:
        return ""
    if len(refused) == 1:
        return f"its edit was not proven: {refused[0]}"
    first = "; ".join(f"({n}) {why}" for n, why in enumerate(refused[:3], 1))
    return f"none of its {len(refused)} edits was proven: {first}{'; ...' if len(refused) > 3 else ''}"


def short(place: Place) -> str:
    """A place without its folders."""
    return f"{Path(place[0]).name}:{place[1]}"


def lines_of(texts: dict[str, str], edits: Candidate) -> tuple[Frame, ...]:
    """Where edits begin, each line once."""
    return tuple(dict.fromkeys(Frame(e.path, texts[e.path].count("\n", 0, e.start) + 1) for e in edits))


def _repair(edited: Edited, one: Distinct, title: str, edits: Candidate) -> Repair:
    texts = edited.texts
    disorder = edited.disorder()
    if disorder:
        title += f"; the order of accesses, not checked before, is wrong: {', '.join(disorder)} (trace)"
    now = edited.rank(place_of(one))
    before = edited.before.cycles
    repaired = edited.repaired() or (place_of(one),)  # a copy that rested on the caller was not wrong
    return Repair(
        one.first.where,
        title,
        next(name for name, rank in RANKS.items() if rank == now),
        tuple(Frame(*place) for place in repaired),
        lines_of(texts, edits),
        cycles=tuple(map(edited.cycles, repaired)),
        slowed=tuple((Frame(*place), before[place], edited.cycles(place)) for place in edited.slowed()),
    )
