"""`repair`: edits of a traced program, each kept only if the program traced with it is better.

Better: the copy that it is for is `legal`, or as slow as was predicted; no other copy is worse than before;
no accesses are out of order that were not; nothing fails that did not. The verifier of the DSL has then seen
the edited program, too. With `confirm` the repaired copies also run, and their bits decide. Of edits that
cost something, here or in other copies of the program, the cheapest is kept.
"""

from __future__ import annotations

import contextlib
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.check import Report
from layoutcheck.errors import InputError
from layoutcheck.patching import conflicts, guards, operands, ordering, whole
from layoutcheck.patching.located import located
from layoutcheck.patching.modules import imported
from layoutcheck.patching.ordering import proof
from layoutcheck.patching.overlay import project_of, tracked
from layoutcheck.patching.predicates import STRATEGY
from layoutcheck.patching.program import Program
from layoutcheck.patching.repaired import Repair, Repaired, Sketch, lines, read
from layoutcheck.patching.search import Confirm, Proven, Retrace, Search
from layoutcheck.patching.state import State, moved, place_of
from layoutcheck.patching.tiles import SHIFTED, is_shifted
from layoutcheck.sources.traced import UNCOMPILED, Frame, KernelFinding, Trace, TraceFailure

MOST_REPAIRS = 20
MOST_SECONDS = 1800.0  # after which no further edit is tried

_WORD = re.compile(r"\w+")

Progress: TypeAlias = Callable[[str], None] | None
Wanted: TypeAlias = Callable[[State], list[KernelFinding]]
Making: TypeAlias = Callable[[Search, State, KernelFinding, dict[str, str]], tuple[Proven | None, str]]


def repair(
    script: str,
    trace: Trace,
    retrace: Retrace,
    progress: Progress = None,
    by: str | None = None,
    confirm: Confirm | None = None,
    since: float = math.inf,
) -> Repaired:
    """Edits for every copy of the trace that is `rejected` or `wrong`. Raises InputError for no Python.

    `by` is the one strategy whose fixes are tried; what then goes wrong elsewhere may be repaired by any, and
    what gets slow stays, as the fix was asked for. `confirm` runs the repaired copies of every edit. Files
    written after `since`, when the trace began in seconds of `time.time`, are left alone.
    """
    trace = located(trace)
    search, texts = searched(script, trace, retrace, since)
    search = replace(search, by=by, confirm=confirm)
    found = Repaired(dict(texts), texts)
    state = _copies(search, State(trace), found, progress, since)
    refused: dict[operands.Key, str] = {}
    for wanted, edit in (
        (_of_products(by), whole.product), (_unbounded(by), whole.bounded), (_disordered(by), whole.disorder)
    ):  # fmt: skip
        state, more = _stepwise(search, state, found, progress, wanted, edit)
        refused |= more
    if by is None and not state.bad():
        state = _compiled(search, state, found, progress)
    if by in (None, *conflicts.STRATEGIES) and not state.bad():
        slow: dict[operands.Key, str] | None = None  # a patch that repairs holds nothing that makes quicker
        wrong = found.repairs or found.sketches or refused or proof.wrong(state.trace)
        if by is not None or not wrong:
            state, slow = _stepwise(
                search, state, found, progress, conflicts.findings, whole.unconflicted, once=True
            )
        reasons = ({}, AFTERWARDS) if slow is None else (slow, _FEW)
        found.slow = list(_left(found, conflicts.findings(state), *reasons))
    tails = state.open() if by == STRATEGY else []
    bad = {place_of(one) for one, _ in (*state.bad(), *tails)}  # a later edit may repair what was given up
    found.sketches = [one for one in found.sketches if _still(found, one.where) & bad]
    found.sketches += _left(found, _of_products(by)(state), refused, _FEW)
    if by in (None, ordering.STRATEGY):
        found.sketches += _unordered(trace, state, found, refused)
    for file in search.locked:
        found.before.pop(file, None)
        found.after.pop(file, None)
    found.uncompiled = [] if found.sketches else whole.uncompiled(state.trace)
    ends = [one for one in state.trace.failures if one.kind not in UNCOMPILED]
    rests = state.open() if by is None else []
    found.resting = list(dict.fromkeys(one.first.where for one, _ in rests))
    found.unseen = [f"{one.kind}: {_said(one)}" for one in ends if one.message]
    if search.late:
        found.unseen.append(f"timeout: after {MOST_SECONDS:,.0f} s no further edit was tried")
    return found


def searched(
    script: str, trace: Trace, retrace: Retrace, since: float = math.inf
) -> tuple[Search, dict[str, str]]:
    """What traces edits of a script with the trace of it, whose places are real files; and the texts."""
    main = Path(script).resolve()
    project = project_of(main)
    texts, locked = _sources(trace, main, project, since)
    given = Path(script).absolute()  # a link runs as one
    run = given if given.is_relative_to(project) else main
    late = time.monotonic() + MOST_SECONDS
    return Search(project, run, retrace, None, None, locked, late), texts


def _sources(trace: Trace, main: Path, project: Path, since: float) -> tuple[dict[str, str], dict[str, str]]:
    """The text of each file that the trace names or the program imports; why some may not be edited."""
    texts: dict[str, str] = {str(main): read(str(main))}
    locked: dict[str, str] = {}
    seen = {frame.file for one in trace.copies for frame in (one.where, *one.stack)}
    seen |= {frame.file for one in proof.wrong(trace, notes=True) for frame in proof.frames(one)}
    seen |= imported(seen | texts.keys(), main, project).keys()
    for file in seen | texts.keys():
        reason = tracked(project, file, since)
        if reason:
            locked[file] = reason
        with contextlib.suppress(InputError):
            texts[file] = read(file)
    return texts, locked


def _copies(search: Search, state: State, found: Repaired, progress: Progress, since: float) -> State:
    """The program after the edits for its copies, with a sketch for each copy that none repairs."""
    given_up: set[tuple[str, int]] = set()
    for _ in range(MOST_REPAIRS):
        wanted = state.open() if search.by == STRATEGY else []
        left = [one for one in (*state.bad(), *wanted) if place_of(one[0]) not in given_up]
        if not left:
            break
        target = left[0]
        where = target[0].first.where
        if progress is not None:
            progress(f"repairing {where}")
        reason = tracked(search.project, where.file, since)
        best, why = search.best(state, target, found.after)
        if best is None:
            given_up.add(place_of(target[0]))
            report = target[1]
            first = report.fixes[0] if report.fixes else None
            shift = SHIFTED if is_shifted(target[0].first) else ""
            told = "; ".join(filter(None, (shift, why, unsafe(report)))) or report.obstacle
            at = Program(found.after).copy_at(where.file, where.line)
            told = told or (whole.NO_COPY if at is None else whole.UNFOUND)
            found.sketches.append(Sketch(where, reason or told, first))
            continue
        state = _stays(found, best)
    return state


def _compiled(search: Search, state: State, found: Repaired, progress: Progress) -> State:
    """The program after an edit for a kernel that does not compile, if there is one."""
    for failed in whole.failures(state):
        if progress is not None:
            progress(f"repairing {failed.where or 'what the compiler refuses'}")
        made = whole.failure(search, state, failed, found.after)
        if made is not None:
            return _stays(found, made)
    return state


def _unordered(
    trace: Trace, state: State, found: Repaired, refused: Mapping[operands.Key, str]
) -> Iterator[Sketch]:
    """What was told of the order of accesses and of products, and is told of the edited program too."""
    still = operands.unrepaired(state.trace)
    for finding in operands.unrepaired(trace):
        left = _remaining(found, finding, still) if finding.places else None
        if left is not None:
            other = _SPILLS if _spills(state, left) else _follows(state, left)
            why = refused.get(operands.key(left)) or other
            told = f"{finding.code}: {finding.title}; {why or 'no edit repairs that'}"
            yield Sketch(finding.places[0].where, told)


def _left(
    found: Repaired, findings: list[KernelFinding], refused: Mapping[operands.Key, str], default: str
) -> Iterator[Sketch]:
    """What is found after all edits, in the lines that the program was given with, and why it is left."""
    for one in findings:
        where = one.places[0].where
        line = moved(found.after, found.before, where.file, where.line)[0]
        why = refused.get(operands.key(one), default)
        yield Sketch(replace(where, line=line), why or "no edit that was tried leaves fewer")


_FEW = f"only the first {MOST_REPAIRS} of such lines are tried"
AFTERWARDS = "its repair is a patch of its own: run --fix again where nothing is wrong"


def _of_products(by: str | None) -> Wanted:
    """What is wrong with the operands of products."""
    return lambda state: operands.findings(state.trace) if by is None else []


def _unbounded(by: str | None) -> Wanted:
    """The element accesses that leave what is allocated for them in shared memory, or their tensor."""
    if by not in (None, STRATEGY):
        return lambda _: []
    return lambda state: [
        *(guards.in_shared(state.trace) if by is None else ()),
        *guards.findings(state.trace),
    ]


def _disordered(by: str | None) -> Wanted:
    """The accesses out of order; those in notes, too, where they are asked for by name."""
    if by not in (None, ordering.STRATEGY):
        return lambda _: []
    return lambda state: ordering.first(
        [
            one
            for one in proof.wrong(state.trace, notes=by is not None)
            if not (_spills(state, one) or (by is None and _follows(state, one)))
        ]
    )


_SPILLS = "one of its accesses leaves its memory: no order makes that right"


def _follows(state: State, finding: KernelFinding) -> str:
    """Of what other fault of its kernel a finding of order may follow, so that no order is right; ""."""
    for report in state.trace.orders:
        if finding in report.findings:
            if ordering.overlapping(report.findings):
                return ordering.OVERLAP
            bad = [one.first.where for one, _ in state.bad() if one.first.kernel == report.kernel]
            products = (each for each in state.trace.operands if each.kernel == report.kernel)
            told = (one for each in products for one in each.findings if one.code in operands.UNWRITTEN)
            bad += [one.places[0].where for one in told if one.places]
            if bad:
                return f"it may follow from what is wrong at line {bad[0].line}"
    return ""


def _spills(state: State, finding: KernelFinding) -> bool:
    """Whether one of the two accesses out of order is of bytes that it should not touch at all."""
    if finding.code == "LC204":
        return False
    copies = {place_of(one) for one, report in state.bad() if any(f.code == "LC204" for f in report.findings)}
    return not (copies | guards.leaving(state.trace)).isdisjoint(finding.lines)


def _stepwise(
    search: Search, state: State, found: Repaired, progress: Progress, wanted: Wanted, edit: Making,
    once: bool = False,
) -> tuple[State, dict[operands.Key, str]]:  # fmt: skip
    """The program after an edit for each finding that is wanted, and why findings have none.

    `once`: edits move no lines, and each finding is tried once, whatever is edited later.
    """
    given_up: dict[operands.Key, str] = {}
    for _ in range(MOST_REPAIRS):
        finding = next((one for one in wanted(state) if operands.key(one) not in given_up), None)
        if finding is None:
            break
        if progress is not None:
            progress(f"repairing {finding.places[-1].where}")
        made, why = edit(search, state, finding, found.after)
        if made is None:
            given_up[operands.key(finding)] = search.locked.get(finding.places[0].where.file) or why
            continue
        state = _stays(found, made)
        given_up = {**given_up, operands.key(finding): ""} if once else {}
    return state, given_up


def _stays(found: Repaired, made: Proven) -> State:
    """The program with one more edit. A repair of which that leaves nothing is told no more."""
    repair, edited = _as_given(found, made.repair), made.edited
    gone = [one for one in found.repairs if _overwritten(found, one, edited.changed)]
    if gone:
        places = [place for one in (*gone, repair) for place in one.repaired]
        now = {
            place: edited.cycles((place.file, moved(found.before, found.after, place.file, place.line)[0]))
            for place in places
        }
        repair = replace(repair, repaired=tuple(now), cycles=tuple(now.values()))
    found.repairs = [*(one for one in found.repairs if one not in gone), repair]
    found.after = edited.changed
    return edited.after


def _overwritten(found: Repaired, one: Repair, now: Mapping[str, str]) -> bool:
    """Whether the text `now` has no word of what a repair wrote into the lines that it changed."""
    wrote, left = set[str](), set[str]()
    for at in one.places:
        given, then, there = (_words(found, at, text) for text in (found.before, found.after, now))
        wrote |= then - given
        left |= there
    return bool(wrote) and wrote.isdisjoint(left)


def _words(found: Repaired, at: Frame, texts: Mapping[str, str]) -> set[str]:
    """The words of a line, where it is in other texts of the program."""
    line = moved(found.before, dict(texts), at.file, at.line)[0]
    return set(_WORD.findall("".join(lines(texts[at.file])[line - 1 : line])))


def _as_given(found: Repaired, made: Repair) -> Repair:
    """A repair of the program after those before it, with the lines that the program was given with."""

    def at(one: Frame) -> Frame:
        return replace(one, line=moved(found.after, found.before, one.file, one.line)[0])

    return replace(
        made,
        where=at(made.where),
        repaired=tuple(map(at, made.repaired)),
        places=tuple(map(at, made.places)),
        slowed=tuple((at(where), *cycles) for where, *cycles in made.slowed),  # type: ignore[misc]
    )


def _said(failed: TraceFailure) -> str:
    first = failed.message.strip().splitlines()[0][:200]
    return first if failed.where is None else f"{failed.where}: {first}"


def _remaining(found: Repaired, finding: KernelFinding, still: list[KernelFinding]) -> KernelFinding | None:
    """What a finding of the first trace is among those after all edits; None where it is gone."""
    there = [_still(found, place.where) for place in finding.places[:2]]
    return next(
        (
            one
            for one in still
            if one.code == finding.code
            and all(line in at for line, at in zip(one.lines, there, strict=False))
        ),
        None,
    )


def _still(found: Repaired, where: Frame) -> set[tuple[str, int]]:
    """Where a place may be after all edits."""
    there = {where.line, moved(found.before, found.after, where.file, where.line)[0]}
    return {(where.file, line) for line in there}


_BY_MAP = ("LC232", "LC234")
REASONS = {
    "LC201": "the instruction takes adjacent elements: their writer would have to put them so",
    "LC209": "rows of odd length do not begin at a wide element: copy narrow ones, and recast the tile",
    "LC218": "no instruction moves less than a byte: unpack the elements in registers",
    "LC231": "the pitch is that of the caller's memory: its rows must be multiples of 16 B long",
    **dict.fromkeys(
        _BY_MAP, "a tensor map takes adjacent elements, and the tensor has none: copy by threads"
    ),
    "LC235": "another address overwrites what lies before the tile, or leaves its allocation",
}
"""Why no edit is safe for copies that fail so, by the finding's code; their facts are on the rules' pages."""


def unsafe(report: Report) -> str:
    """Why no edit is safe, of the first finding that has a reason; "" where none has."""
    mapped = report.copy.mapped
    adjacent = mapped is not None and 1 in flatten(wrap(mapped.layout.stride))
    codes = [
        one.code for one in report.findings if one.code in REASONS and not (adjacent and one.code in _BY_MAP)
    ]
    return REASONS[codes[0]] if codes else ""
