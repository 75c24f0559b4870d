"""`repair`: edits of a traced program, each kept only if the program traced with it is better.

Better: the copy that it is for is `legal`, or as slow as was predicted; no other copy is worse than before;
no accesses are out of order that were not; nothing fails that did not. The verifier of the DSL has then seen
the edited program, too.
"""

from __future__ import annotations

import difflib
import itertools
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.check import Fix, Report
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.errors import InputError
from layoutcheck.judge import judge_traced
from layoutcheck.patching.edit import Candidate, apply
from layoutcheck.patching.edits import candidates, coarser, turned
from layoutcheck.patching.overlay import overlaid, project_of, tracked
from layoutcheck.patching.program import Program, Site, name_of
from layoutcheck.patching.registers import held, torn
from layoutcheck.sources.traced import Distinct, Frame, OrderReport, Trace, distinct

Retrace = Callable[[str, str | None], Trace]
"""Traces a script at another path, in another working directory (None: the same)."""

RANKS = {"legal": 0, "slow": 1, "unknown": 2, "wrong": 3, "rejected": 4}
MOST_TRIES = 10  # traces for one copy
MOST_SECOND = 6  # edits that make up for the harm of one
MOST_REPAIRS = 20
_BAD = ("rejected", "wrong")


@dataclass(frozen=True, slots=True)
class Repair:
    """One edit that was proven: for which copy (`where`), by which fix, and the places that it repaired.

    `confirmed_by` is ("model", "compiler"): the model's verdict on the edited program's copies, and the
    verifier that saw them.
    """

    where: Frame
    title: str
    verdict: str
    repaired: tuple[Frame, ...]
    places: tuple[Frame, ...]
    confirmed_by: tuple[str, ...] = ("model", "compiler")


@dataclass(frozen=True, slots=True)
class Sketch:
    """A copy that no edit repaired: why, and the best fix of the copy alone, if there is one."""

    where: Frame
    reason: str
    fix: Fix | None = None


@dataclass
class Repaired:
    """The texts before and after, by path, and how they came about."""

    before: dict[str, str]
    after: dict[str, str]
    repairs: list[Repair] = field(default_factory=list)
    sketches: list[Sketch] = field(default_factory=list)

    def diff(self) -> str:
        """The unified diff of all files, paths from where the run started."""
        out: list[str] = []
        for path, old in self.before.items():
            name = Path(os.path.relpath(path)).as_posix()
            new = self.after[path].splitlines(keepends=True)
            out += difflib.unified_diff(old.splitlines(keepends=True), new, f"a/{name}", f"b/{name}")
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in out
        )

    def write(self) -> list[str]:
        """Write the changed files, all or none; their paths.

        Raises InputError where one was changed since the trace, or cannot be written.
        """
        changed = [path for path, text in self.after.items() if text != self.before[path]]
        for path in changed:
            if _read(path) != self.before[path]:
                raise InputError(f"'{path}' was changed since the trace: nothing was written")
            if not os.access(path, os.W_OK) or not os.access(Path(path).parent, os.W_OK):
                raise InputError(f"cannot write '{path}': nothing was written")
        beside: list[tuple[Path, str]] = []
        try:
            for path in changed:
                beside.append((_beside(path, self.after[path]), path))
        except OSError as error:
            for made, _ in beside:
                made.unlink(missing_ok=True)
            raise InputError(f"cannot write beside '{path}': {error.strerror}; nothing was written") from None
        for made, path in beside:
            made.replace(path)
        return changed


def repair(
    script: str,
    trace: Trace,
    retrace: Retrace,
    progress: Callable[[str], None] | None = None,
    by: str | None = None,
) -> Repaired:
    """Edits for every copy of the trace that is `rejected` or `wrong`. Raises InputError for no Python.

    `by` is the one strategy whose fixes are tried; what then goes wrong elsewhere may be repaired by any.
    """
    main = Path(script).resolve()
    project = project_of(main)
    texts: dict[str, str] = {}
    for one in trace.copies:
        for frame in (one.where, *one.stack):
            if frame.file not in texts and not tracked(project, frame.file):
                texts[frame.file] = _read(frame.file)
    texts.setdefault(str(main), _read(str(main)))
    found = Repaired(dict(texts), texts)
    state, given_up = _State(trace), set[tuple[str, int]]()
    for _ in range(MOST_REPAIRS):
        left = [one for one in state.bad() if place_of(one[0]) not in given_up]
        if not left:
            break
        target = left[0]
        where = target[0].first.where
        if progress is not None:
            progress(f"repairing {where}")
        reason = tracked(project, where.file)
        overlay = _Overlay(project, main, retrace)
        better = None if reason else _better(state, target, found.after, overlay, by)
        if better is None:
            given_up.add(place_of(target[0]))
            report = target[1]
            first = report.fixes[0] if report.fixes else None
            why = reason or report.obstacle or "no edit of it was proven in the program"
            found.sketches.append(Sketch(where, why, first))
            continue
        found.after, state, made = better
        found.repairs.append(made)
    bad = {place_of(one) for one, _ in state.bad()}  # a later edit may repair what was given up
    found.sketches = [one for one in found.sketches if _still(found, one.where) & bad]
    return found


def _still(found: Repaired, where: Frame) -> set[tuple[str, int]]:
    """Where a place may be after all edits."""
    lines = {where.line, _line(found.before, found.after, where.file, where.line)}
    return {(where.file, line) for line in lines}


def place_of(one: Distinct) -> tuple[str, int]:
    """File and line."""
    return one.first.where.file, one.first.where.line


class _State:
    """A trace and the verdicts of its places."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.reports = [(one, judge_traced(one.first)) for one in distinct(trace)]

    def bad(self) -> list[tuple[Distinct, Report]]:
        """The copies that are rejected or wrong, in the program's order."""
        return [(one, r) for one, r in self.reports if r is not None and r.verdict in _BAD]

    def verdicts(self) -> dict[tuple[str, int], int]:
        """The worst rank at every place."""
        found: dict[tuple[str, int], int] = {}
        for one, report in self.reports:
            at = place_of(one)
            rank = RANKS["unknown" if report is None else report.verdict]
            found[at] = max(found.get(at, 0), rank)
        return found


class _Overlay:
    """The project traced with other texts."""

    def __init__(self, project: Path, main: Path, retrace: Retrace) -> None:
        self.project, self.main, self.retrace = project, main, retrace

    def trace(self, texts: dict[str, str]) -> Trace:
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


def _better(
    state: _State,
    target: tuple[Distinct, Report],
    texts: dict[str, str],
    overlay: _Overlay,
    by: str | None,
) -> tuple[dict[str, str], _State, Repair] | None:
    """The first edit that repairs the copy and harms none.

    One that harms others counts where a second edit makes up for it: a tile has more than one user.
    """
    one, report = target
    tried = set[tuple[str, ...]]()
    harmful: list[tuple[dict[str, str], _State, str, Candidate]] = []
    for title, wanted, edits in _ways(texts, one, report, by):
        changed = apply(texts, edits)
        key = tuple(changed.values())
        if key in tried or changed == texts:
            continue
        if len(tried) >= MOST_TRIES:
            break
        tried.add(key)
        after = _State(overlay.trace(changed))
        now = _rank_of(one, texts, changed, after)
        if now is None or now > RANKS[wanted] or len(after.trace.failures) > len(state.trace.failures):
            continue
        if _torn(state, texts, changed, after) or _disordered(state, after):
            continue
        if not _harmed(state, texts, changed, after):
            return changed, after, _repair(state, one, texts, changed, after, title, edits)
        harmful.append((changed, after, title, edits))
    for changed, after, title, edits in harmful[:MOST_SECOND]:
        final, last = changed, after
        for place in _harmed(state, texts, changed, after)[:MOST_SECOND]:
            other = next((t for t in last.bad() if place_of(t[0]) == place), None)
            second = None if other is None else _second(last, other, final, overlay)
            if second is not None:
                final, last = second
        if last is not after and not _harmed(state, texts, final, last):
            return final, last, _repair(state, one, texts, final, last, title, edits)
    return None


def _second(
    state: _State, target: tuple[Distinct, Report], texts: dict[str, str], overlay: _Overlay
) -> tuple[dict[str, str], _State] | None:
    """The program with one more edit, which repairs another copy."""
    ways = {tuple(apply(texts, edits).items()): None for _, _, edits in _ways(texts, *target)}
    for way in itertools.islice(ways, MOST_SECOND):
        changed = dict(way)
        after = _State(overlay.trace(changed))
        now = _rank_of(target[0], texts, changed, after)
        good = now is not None and now <= RANKS["slow"] and not _torn(state, texts, changed, after)
        if good and not _disordered(state, after):
            return changed, after
    return None


def _disordered(state: _State, after: _State) -> bool:
    """Whether accesses are out of order (LC5xx) that were in order before.

    A kernel that does not compile was not replayed before: what is found then may be older than the edit.
    """
    old, new = state.trace.orders, after.trace.orders
    replayed = bool(old) and not any(one.problem for one in old)
    return replayed and bool(_disorder(new) - _disorder(old))


def _disorder(orders: Iterable[OrderReport]) -> Counter[str]:
    return Counter(one.code for report in orders for one in report.findings if one.severity in _BAD)


def _torn(state: _State, texts: dict[str, str], changed: dict[str, str], after: _State) -> bool:
    """Whether threads hand on other elements in registers than they are taken for."""
    return torn(
        held(one for one, _ in state.reports),
        held(one for one, _ in after.reports),
        lambda place: (place[0], _line(texts, changed, *place)),
    )


def _rank_of(one: Distinct, texts: dict[str, str], changed: dict[str, str], after: _State) -> int | None:
    """The rank of a copy, or of those in its place, in the edited program; None where there is none."""
    file, line = place_of(one)
    ranks = after.verdicts()
    there = [ranks[file, at] for at in _lines(texts, changed, file, line) if (file, at) in ranks]
    return ranks.get((file, _line(texts, changed, file, line)), max(there, default=None))


def _harmed(
    state: _State, texts: dict[str, str], changed: dict[str, str], after: _State
) -> list[tuple[str, int]]:
    """The places, in the edited program, of copies that are worse than they were."""
    ranks = after.verdicts()
    found = []
    for (file, line), rank in state.verdicts().items():
        at = (file, _line(texts, changed, file, line))
        if ranks.get(at, rank) > rank:
            found.append(at)
    return found


def _repair(
    state: _State,
    one: Distinct,
    texts: dict[str, str],
    changed: dict[str, str],
    after: _State,
    title: str,
    edits: Candidate,
) -> Repair:
    ranks = after.verdicts()
    repaired = tuple(
        Frame(file, line)
        for (file, line), rank in state.verdicts().items()
        if rank >= RANKS["wrong"] > ranks.get((file, _line(texts, changed, file, line)), rank)
    )
    places = tuple(dict.fromkeys(Frame(e.path, texts[e.path].count("\n", 0, e.start) + 1) for e in edits))
    now = _rank_of(one, texts, changed, after)
    disorder = _disorder(after.trace.orders) - _disorder(state.trace.orders)
    if disorder:
        title += (
            f"; the order of accesses, not checked before, is wrong: {', '.join(sorted(disorder))} (trace)"
        )
    verdict = next(name for name, rank in RANKS.items() if rank == now)
    return Repair(one.first.where, title, verdict, repaired, places)


def _ways(
    texts: dict[str, str], one: Distinct, report: Report, by: str | None = None
) -> Iterator[tuple[str, str, Candidate]]:
    """(what, the verdict that it must come to, edits): the report's fixes, then what no model predicts."""
    program = Program(texts)
    first = one.first
    site = program.copy_at(first.where.file, first.where.line)
    if site is None:
        return
    for fix in sorted(report.fixes, key=lambda one: _other_registers(report, one)):
        if by not in (None, fix.strategy):
            continue
        for edits in candidates(program, report.copy, fix, site):
            yield f"{fix.strategy}: {fix.title}" + (f"; {fix.note}" if fix.note else ""), fix.verdict, edits
    for title, edits in _guesses(program, site, report) if by is None else ():
        yield title, "legal", edits


def _other_registers(report: Report, fix: Fix) -> bool:
    """Whether threads get other elements in their registers, which those who use them must know."""
    registers = "rmem" in (report.copy.src.space, report.copy.dst.space)
    return registers and any(change.argument == "threads and values" for change in fix.changes)


def _guesses(program: Program, site: Site, report: Report) -> Iterator[tuple[str, Candidate]]:
    """Edits that no model of the copy alone proposes, as its threads are cut anew by them."""
    atom = report.copy.atom
    if not isinstance(report.copy.src, OtherOperand):
        for edits in coarser(program, site, report.copy.src.dtype.bits):
            yield "swizzle: units of 16 bytes", edits
    start = program.argument(site, "atom")
    if start is None or not isinstance(atom, (LdMatrix, StMatrix)):
        return
    for place in program.reached(start):
        call = place.node
        if name_of(call).startswith(("LdMatrix8x8x16b", "StMatrix8x8x16b")):  # type: ignore[arg-type]
            for edits in turned(program.sources[place.path], call, not atom.transpose):  # type: ignore[arg-type]
                yield f"transpose: transpose={not atom.transpose}", edits


def _line(before: dict[str, str], after: dict[str, str], file: str, line: int) -> int:
    """Where a line is after the edits."""
    return _lines(before, after, file, line)[0]


def _lines(before: dict[str, str], after: dict[str, str], file: str, line: int) -> list[int]:
    """Where a line is after the edits, then the other lines that it may have become."""
    if before.get(file) == after.get(file):
        return [line]
    old, new = before[file].splitlines(), after[file].splitlines()
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if a <= line - 1 < b:
            at = c + min(line - 1 - a, max(0, d - c - 1)) + 1
            return [at] if kind == "equal" else [at, *(n for n in range(c + 1, d + 1) if n != at)]
    return [line]


def _read(path: str) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read '{path}': {error}") from None


def _beside(path: str, text: str) -> Path:
    """The text in a new file of the same folder, with the old one's permissions."""
    handle, name = tempfile.mkstemp(dir=Path(path).parent, prefix=".layoutcheck-")
    made = Path(name)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
        stream.write(text)
    made.chmod(Path(path).stat().st_mode & 0o7777)
    return made
