"""`repair`: edits of a traced program, each kept only if the program traced with it is better.

Better: the copy that it is for is `legal`, or as slow as was predicted; no other copy is worse than before;
no accesses are out of order that were not; nothing fails that did not. The verifier of the DSL has then seen
the edited program, too. With `confirm` the repaired copies also run, and their bits decide. Of edits that
cost something, here or in other copies of the program, the cheapest is kept.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from layoutcheck.check import Report
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.fixes import times
from layoutcheck.patching import operands, unsafe
from layoutcheck.patching.edit import Candidate, apart, apply
from layoutcheck.patching.overlay import overlaid, project_of, tracked
from layoutcheck.patching.predicates import STRATEGY
from layoutcheck.patching.repaired import Repair, Repaired, Sketch, read
from layoutcheck.patching.state import RANKS, Edited, Place, State, frame_of, moved, place_of
from layoutcheck.patching.ways import ways
from layoutcheck.sources.traced import UNCOMPILED, Distinct, Frame, KernelFinding, Trace

if TYPE_CHECKING:
    from layoutcheck.gpu.confirmation import Confirmation

Retrace: TypeAlias = Callable[[str, "str | None"], Trace]
"""Traces a script at another path, in another working directory (None: the same)."""

Confirm: TypeAlias = "Callable[[Sequence[tuple[str, Copy]]], Sequence[Confirmation]]"
"""Runs copies, each with a name."""

MOST_TRIES = 10  # traces for one copy
MOST_SECOND = 6  # edits that make up for the harm of one
MOST_PROVEN = 3  # edits whose costs are compared
MOST_REPAIRS = 20


def repair(
    script: str,
    trace: Trace,
    retrace: Retrace,
    progress: Callable[[str], None] | None = None,
    by: str | None = None,
    confirm: Confirm | None = None,
    since: float = math.inf,
) -> Repaired:
    """Edits for every copy of the trace that is `rejected` or `wrong`. Raises InputError for no Python.

    `by` is the one strategy whose fixes are tried; what then goes wrong elsewhere may be repaired by any, and
    what gets slow stays, as the fix was asked for. `confirm` runs the repaired copies of every edit. Files
    written after `since`, when the trace began in seconds of `time.time`, are left alone.
    """
    main = Path(script).resolve()
    project = project_of(main)
    texts: dict[str, str] = {str(main): read(str(main))}
    locked: dict[str, str] = {}  # what may be read and not edited, with the reason
    seen = {frame.file for one in trace.copies for frame in (one.where, *one.stack)}
    for file in seen | texts.keys():
        reason = tracked(project, file, since)
        if reason:
            locked[file] = reason
        with contextlib.suppress(InputError):
            texts[file] = read(file)
    found = Repaired(dict(texts), texts)
    search = _Search(project, main, retrace, by, confirm, frozenset(locked))
    state, given_up = State(trace), set[tuple[str, int]]()
    for _ in range(MOST_REPAIRS):
        wanted = state.open() if by == STRATEGY else []
        left = [one for one in (*state.bad(), *wanted) if place_of(one[0]) not in given_up]
        if not left:
            break
        target = left[0]
        where = target[0].first.where
        if progress is not None:
            progress(f"repairing {where}")
        reason = tracked(project, where.file, since)
        best, why = search.best(state, target, found.after)
        if best is None:
            given_up.add(place_of(target[0]))
            report = target[1]
            first = report.fixes[0] if report.fixes else None
            told = "; ".join(filter(None, (why, unsafe.reason(report)))) or report.obstacle or _UNFOUND
            found.sketches.append(Sketch(where, reason or told, first))
            continue
        found.after, state = best.edited.changed, best.edited.after
        found.repairs.append(best.repair)
    products: list[Sketch] = []
    for finding in operands.findings(state.trace) if by is None else ():
        where = finding.places[0].where
        if not operands.remains(finding, state.trace):
            continue
        if progress is not None:
            progress(f"repairing {where}")
        made, why = search.product(state, finding, found.after)
        if made is None:
            products.append(Sketch(where, why))
            continue
        found.after, state = made.edited.changed, made.edited.after
        found.repairs.append(made.repair)
    wanted = state.open() if by == STRATEGY else []
    bad = {place_of(one) for one, _ in (*state.bad(), *wanted)}  # a later edit may repair what was given up
    found.sketches = [one for one in found.sketches if _still(found, one.where) & bad] + products
    for file in locked:
        found.before.pop(file, None)
        found.after.pop(file, None)
    ends = [one for one in state.trace.failures if one.kind not in UNCOMPILED]
    found.unseen = [f"{one.kind}: {one.message.strip().splitlines()[0][:200]}" for one in ends if one.message]
    return found


def _still(found: Repaired, where: Frame) -> set[tuple[str, int]]:
    """Where a place may be after all edits."""
    lines = {where.line, moved(found.before, found.after, where.file, where.line)[0]}
    return {(where.file, line) for line in lines}


@dataclass(frozen=True)
class _Proven:
    """An edit that is better, and what is said of it."""

    edited: Edited
    repair: Repair


@dataclass(frozen=True)
class _Search:
    """A project whose script is traced with other texts."""

    project: Path
    main: Path
    retrace: Retrace
    by: str | None
    confirm: Confirm | None
    locked: frozenset[str] = frozenset()

    def best(
        self, state: State, target: tuple[Distinct, Report], texts: dict[str, str]
    ) -> tuple[_Proven | None, str]:
        """The edit that repairs the copy and harms none, the cheapest of the first; else why there is none.

        One that harms others counts where a second edit makes up for it: a tile has more than one user.
        """
        place = place_of(target[0])
        tried = set[tuple[str, ...]]()
        refused: list[str] = []
        proven: list[_Proven] = []
        harmful: list[tuple[Edited, str, Candidate]] = []
        for title, wanted, edits, bare in ways(texts, *target, self.by):
            if not self.may(edits):
                continue
            changed = apply(texts, edits)
            key = tuple(changed.values())
            if key in tried or changed == texts:
                continue
            if len(tried) >= MOST_TRIES:
                break
            tried.add(key)
            edited = Edited(texts, state, changed, State(self.trace(changed)))
            now = edited.rank(place)
            if now is None or now > RANKS[wanted]:
                verdict = next((name for name, rank in RANKS.items() if rank == now), "gone")
                why = f"the copy is {verdict}"
            elif why := edited.objection() or self.unkept(edited, place, bare):
                pass
            elif harmed := edited.harmed(slow_too=self.by is None):
                why = f"{_short(harmed[0])} is worse"
                harmful.append((edited, title, edits))
            else:
                made, why = self.confirmed(edited, target[0], title, edits)
                if made is not None:
                    proven.append(made)
                    if edited.costs_nothing() or len(proven) == MOST_PROVEN:
                        break
                    continue
            refused.append(f"{title.split(':')[0]} at line {_first_line(texts, edits)}: {why}")
        if proven:
            return _cheapest(proven), ""
        for edited, title, edits in harmful[:MOST_SECOND]:
            mended = self.mended(edited)
            if mended is not None:
                made, why = self.confirmed(mended, target[0], title, edits)
                if made is not None:
                    return made, ""
        return None, _told(refused)

    def may(self, edits: Candidate) -> bool:
        """Whether edits can be made: none touches another, or a file that is not to be edited."""
        return apart(edits) and not any(edit.path in self.locked for edit in edits)

    def product(
        self, state: State, finding: KernelFinding, texts: dict[str, str]
    ) -> tuple[_Proven | None, str]:
        """The edit with which a product's operands fit; else why there is none."""
        refused: list[str] = []
        mine = (way for way in operands.ways(texts, finding) if self.may(way[1]))
        for title, edits in itertools.islice(mine, MOST_TRIES):
            changed = apply(texts, edits)
            edited = Edited(texts, state, changed, State(self.trace(changed)))
            why = operands.objection(state.trace, edited.after.trace, finding) or edited.objection(False)
            if not why and edited.harmed():
                why = f"{_short(edited.harmed()[0])} is worse"
            if not why:
                where = finding.places[0].where
                lines = (Frame(e.path, texts[e.path].count("\n", 0, e.start) + 1) for e in edits)
                places = tuple(dict.fromkeys(lines))
                return _Proven(edited, Repair(where, title, "legal", (where,), places)), ""
            refused.append(f"{title} at line {_first_line(texts, edits)}: {why}")
        return None, _told(refused) or _UNFOUND

    def unkept(self, edited: Edited, place: Place, bare: Candidate | None) -> str:
        """Why a predicate is not shown to take away just what leaves the tensor."""
        if bare is None:
            return ""
        if {place_of(one) for one, _ in edited.after.open()} & set(edited.there(place)):
            return "the copy still leaves its tensor for some extents"
        before = State(self.trace(apply(edited.texts, bare))) if bare else edited.before
        return edited.keeps(place, before)

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

    def confirmed(
        self, edited: Edited, one: Distinct, title: str, edits: Candidate
    ) -> tuple[_Proven | None, str]:
        """The edit with what confirmed it; None and the reason where its copies move wrong bits."""
        made = _repair(edited, one, title, edits)
        if self.confirm is None:
            return _Proven(edited, made), ""
        places = {edited.line(place) for place in edited.repaired()}
        copies = [
            (_short(place_of(each)), each.first.copy)
            for each, _ in edited.after.reports
            if place_of(each) in places and each.first.copy is not None
        ]
        told = self.confirm(copies)
        for result in told:
            if result.ran != "nothing" and (result.fault or not result.as_asked):
                return None, f"{result.name} moved wrong bits: {result.fault or result.first}"
        unrun = "; ".join(dict.fromkeys(f"{r.name}: {r.note}" for r in told if r.ran == "nothing"))
        ran = () if unrun else tuple(dict.fromkeys(result.ran for result in told))
        return _Proven(edited, replace(made, confirmed_by=(*made.confirmed_by, *ran), unrun=unrun)), ""

    def trace(self, texts: dict[str, str]) -> Trace:
        """The project traced with other texts."""
        with tempfile.TemporaryDirectory(prefix="layoutcheck-", ignore_cleanup_errors=True) as folder:
            there = Path(folder).resolve() / "project"
            overlaid(self.project, texts, there)
            cwd = Path.cwd()
            inside = there / cwd.relative_to(self.project) if cwd.is_relative_to(self.project) else None
            script = there / self.main.relative_to(self.project)
            found = self.retrace(str(script), None if inside is None else str(inside))
            return _back(found, str(there), str(self.project))


def _back(trace: Trace, there: str, project: str) -> Trace:
    """The trace with the paths of the project that was overlaid."""

    def frame(one: Frame) -> Frame:
        inside = one.file.startswith(there + os.sep)
        return replace(one, file=project + one.file[len(there) :]) if inside else one

    copies = tuple(
        replace(one, where=frame(one.where), stack=tuple(map(frame, one.stack))) for one in trace.copies
    )
    return replace(trace, copies=copies)


def _cheapest(proven: Sequence[_Proven]) -> _Proven:
    """The first of those that take no half more than the least cycles of all copies, readers among them."""
    spent = [sum(one.edited.after.cycles.values()) for one in proven]
    return min(zip(spent, proven, strict=True), key=lambda pair: times(pair[0], min(spent)))[1]


_UNFOUND = "no statement of the program was found that a fix changes"


def _told(refused: Sequence[str]) -> str:
    """Why no edit stays; "" where none was tried."""
    if not refused:
        return ""
    more = f"; and {len(refused) - 3} more" if len(refused) > 3 else ""
    return f"no edit of it was proven in the program: {'; '.join(refused[:3])}{more}"


def _short(place: tuple[str, int]) -> str:
    return f"{Path(place[0]).name}:{place[1]}"


def _first_line(texts: dict[str, str], edits: Candidate) -> int:
    return texts[edits[0].path].count("\n", 0, edits[0].start) + 1


def _repair(edited: Edited, one: Distinct, title: str, edits: Candidate) -> Repair:
    texts = edited.texts
    places = tuple(dict.fromkeys(Frame(e.path, texts[e.path].count("\n", 0, e.start) + 1) for e in edits))
    disorder = edited.disorder()
    if disorder:
        title += f"; the order of accesses, not checked before, is wrong: {', '.join(disorder)} (trace)"
    now = edited.rank(place_of(one))
    before, after = edited.before.cycles, edited.after.cycles
    repaired = edited.repaired() or (place_of(one),)  # a copy that rested on the caller was not wrong
    return Repair(
        one.first.where,
        title,
        next(name for name, rank in RANKS.items() if rank == now),
        tuple(frame_of(place) for place in repaired),
        places,
        cycles=tuple(after.get(edited.line(place), 0) for place in repaired),
        slowed=tuple(
            (frame_of(place), before[place], after[edited.line(place)]) for place in edited.slowed()
        ),
    )
