"""`lint(paths)`: files read, registered cases traced, findings filtered, everything counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from layoutcheck import cells
from layoutcheck.digits import many
from layoutcheck.gate import NO_GATE, Gate, Part
from layoutcheck.lint import baseline, cases, files, leftovers, notebook
from layoutcheck.lint import runs as running
from layoutcheck.lint.analyse import UNREADABLE
from layoutcheck.lint.cache import Cache
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.suppressions import Suppressions
from layoutcheck.processors import processors
from layoutcheck.regular import inside, read_regular, source_lines
from layoutcheck.settings import Settings

Progress = Callable[[str, int, int], None]
_MOST_NAMED = 3
_NO_ORDER = "the order of accesses was not checked (--no-order, or `order` in the settings)"
_NO_LOWERED = "the compiler's lowering was not looked at (--no-lowered, or `lowered` in the settings)"
_FAILING = frozenset(("rejected", "wrong"))
_CASE_FAILED = ("LC911", "LC915")
_FAILING_STRICT = _FAILING | {"slow", "unknown"}


@dataclass(frozen=True, slots=True)
class Counts:
    """What a run looked at.

    `unknown` are reasons with numbers of copies, `address_sources` numbers of copies by how they are known,
    `never` the sites that no case reached, `untraced` registered cases that could not be run here, `skipped`
    reasons with numbers of tests that were skipped in every run. Of those sites, `uncalled` are in functions
    that no program calls (`path:function` -> lines), and `untaken` in functions of kernels that were built;
    `because` has the others by file and reason.
    `accesses` of single elements are checked beside copies, `accesses_known` of them.
    """

    files: int = 0
    relevant: int = 0
    lines: int = 0
    sites: int = 0
    traced: int = 0
    copies: int = 0
    checked: int = 0
    cases: int = 0
    untraced: int = 0
    kernels: int = 0
    silenced: int = 0
    known: int = 0
    unselected: int = 0
    as_meant: int = 0
    unknown: dict[str, int] = field(default_factory=dict)
    address_sources: dict[str, int] = field(default_factory=dict)
    never: dict[str, tuple[int, ...]] = field(default_factory=dict)
    uncalled: dict[str, tuple[int, ...]] = field(default_factory=dict)
    untaken: dict[str, tuple[int, ...]] = field(default_factory=dict)
    because: dict[str, dict[str, tuple[int, ...]]] = field(default_factory=dict)
    accesses: int = 0
    accesses_known: int = 0
    skipped: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ran:
    """A case or program that was run: `failures` are what kept kernels of it from being seen.

    `skipped` is the number of its tests that did not run.
    """

    name: str
    path: str
    arch: str
    kernels: int
    copies: int
    seconds: float
    cached: bool
    failures: tuple[str, ...] = ()
    program: bool = False
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """Findings in the order of files and lines; `notes` say what was not done, and why.

    `runs` are the cases and programs that were run.
    """

    findings: tuple[LintFinding, ...]
    counts: Counts
    notes: tuple[str, ...] = ()
    runs: tuple[Ran, ...] = ()
    wanted: bool = False  # programs were looked for, and there may be none

    @property
    def ended(self) -> int:
        """The number of runs that SIGTERM ended."""
        return sum(any(one.startswith("ended: ") for one in run.failures) for run in self.runs)

    def status(self, strict: bool = False, gate: Gate = NO_GATE) -> int:
        """The exit status, as `gate.py` has it."""
        failing = _FAILING_STRICT if strict else _FAILING
        if strict and self.counts.unknown:
            return 1
        if any(finding.severity in failing for finding in self.findings):
            return 1
        return 2 if self.unseen(gate) else 0

    def unseen(self, gate: Gate) -> list[str]:
        """What the gate asks for and was not seen; a case's findings may be silenced or in the baseline."""
        counts = self.counts
        failed = counts.untraced + len(
            {finding.origin for finding in self.findings if finding.code in _CASE_FAILED}
        )
        types = counts.address_sources.get("types", 0)
        kernels = counts.kernels if counts.cases or self.wanted else None
        ended = [f"SIGTERM came before {self.ended} of {len(self.runs)} runs had ended"] if self.ended else []
        skipped = sum(counts.skipped.values())
        unreadable = len({finding.path for finding in self.findings if finding.code == UNREADABLE})
        return ended + gate.unseen(failed, kernels, types, counts.traced, counts.sites, skipped, unreadable)


def lint(
    paths: Sequence[str],
    settings: Settings,
    *,
    static: bool = False,
    workers: int = 0,
    baseline_file: Path | None = None,
    write_baseline: Path | None = None,
    progress: Progress | None = None,
    programs: Sequence[cases.RegisteredCase] | None = None,
    part: Part | None = None,
) -> Result:
    """Lint files and folders. With `static` nothing is run; `programs` are run beside cases.

    With `part` only that part of the cases is run, and what no run reached is not told.

    Raises InputError for a path, a setting or a baseline that cannot be used.
    """
    known = baseline.read(baseline_file) if baseline_file is not None else Counter[baseline.Key]()
    workers = workers or processors()
    folder = cache_folder(settings)
    store = Cache(folder, "source")
    listed = files.collect(paths, settings)
    read = files.read(listed, store, workers, progress)
    store.save()
    found = [finding for file in read for finding in file.reading.findings]
    runs, notes, untraced = _trace(listed, settings, static, workers, folder, progress, programs, part)
    untold = tuple(notes)  # why cases were not traced, where that is so
    reached: dict[tuple[str, int], str] = {}
    built: set[tuple[str, int]] = set()
    counts = {"silenced": sum(file.reading.silenced for file in read), "untraced": untraced}
    unknown: dict[str, int] = {}
    known_by: dict[str, int] = {}
    texts = _Texts()
    if runs is not None:
        from layoutcheck.lint.judged import judge  # loads the model, which reading does not need
        from layoutcheck.sources.traced import address_sources

        judged = judge(runs.traced)
        reached, unknown = judged.reached, dict(judged.unknown.most_common())
        built = judged.built
        loud = [f for f in judged.findings + runs.unusable if not texts.suppressions(f.path).silences(f)]
        counts["silenced"] += len(judged.findings) + len(runs.unusable) - len(loud)
        found += loud
        counts.update(copies=judged.copies, checked=judged.checked, as_meant=judged.as_meant)
        counts.update(accesses=judged.accesses, accesses_known=judged.accesses_known)
        counts["cases"] = len(runs.traced)
        counts["kernels"] = sum(len(run.trace.kernels) for run in runs.traced)
        known_by = address_sources(judged.address_sources.elements())
        notes += [_NO_ORDER] * (not settings.order) + [_NO_LOWERED] * (not settings.lowered)
        if judged.undecided:
            names = ", ".join(judged.undecided)
            notes.append(f"expected to be slow, which types alone do not show: {names}")
    traced, never = _coverage(read, reached, runs is not None)
    if part is not None and never:
        never = {}  # the programs of other parts may reach them
    uncalled = untaken = dict[str, tuple[int, ...]]()
    because = dict[str, dict[str, tuple[int, ...]]]()
    if runs is not None and programs and never:
        from layoutcheck.lint.unreached import reasons  # loads what a trace is, which reading does not need

        seen = settings.lowered and not any(run.trace.failures for run in runs.traced)
        why = reasons(never, built, programs, _single(read, seen), listed, runs.traced)
        uncalled, untaken, because = why.uncalled, why.untaken, why.because
    if runs is not None:
        found += _never_traced(never, bool(programs))
    complete = part is None and runs is not None and not any(run.trace.failures for run in runs.traced)
    found += leftovers.unused(read, texts.suppressions, reached if complete else {})
    wanted = sorted((f for f in found if settings.selected(f.code, f.path)), key=lambda f: f.order)
    counts["unselected"] = len(found) - len(wanted)

    def place(finding: LintFinding) -> tuple[str, str]:
        return settings.inside(finding.path), texts.line(finding)

    if write_baseline is not None:
        baseline.write(write_baseline, wanted, place)
    new = wanted
    moved: dict[baseline.Key, str] = {}
    if known:
        new, moved = baseline.new(wanted, known, place, lambda path: not (settings.root / path).exists())
        known = Counter({entry: count for entry, count in known.items() if entry not in moved})
        notes += leftovers.moved(moved)
    if known and part is None and (runs is not None or not untold):
        looked = {settings.inside(path) for path in listed}
        notes += leftovers.stale(baseline.stale(wanted, known, place), looked, settings)
    return Result(
        tuple(new),
        Counts(
            files=len(read),
            relevant=sum(file.reading.relevant for file in read),
            lines=sum(file.reading.lines for file in read),
            sites=sum(len(file.reading.sites) for file in read),
            traced=traced,
            known=len(wanted) - len(new),
            unknown=unknown,
            address_sources=known_by,
            never=never,
            uncalled=uncalled,
            untaken=untaken,
            because=because,
            skipped=_skipped(() if runs is None else runs.traced),
            **counts,
        ),
        tuple(notes),
        () if runs is None else tuple(map(_ran, runs.traced)),
        programs is not None,
    )


def cache_folder(settings: Settings) -> Path | None:
    """Where earlier runs are kept; None for nowhere. Raises InputError for a folder out of the repository."""
    return None if settings.cache is None else inside(settings.root, settings.cache, "cache")


@dataclass(frozen=True, slots=True)
class _Runs:
    traced: list[cases.CaseRun]
    unusable: list[LintFinding]


def _trace(
    listed: Sequence[str],
    settings: Settings,
    static: bool,
    workers: int,
    folder: Path | None,
    progress: Progress | None,
    programs: Sequence[cases.RegisteredCase] | None,
    part: Part | None,
) -> tuple[_Runs | None, list[str], int]:
    """The traces of registered cases and programs; None, and a note, where there are none or no way to.

    Last is the number of those that cannot be traced here.
    """
    found = cases.all_of(listed, settings.arch)
    if not found and not programs:
        return None, [], 0
    what = f"{len(found)} registered case{'s' if len(found) > 1 else ''}"
    registered = [case for case in found if cases.registered(case.path, settings)]
    mine = [*(programs or ()), *(part.of(registered) if part else registered)]
    if static:
        return None, [f"{what} not traced: --static runs nothing"], 0
    if not programs and not registered:
        return None, [f"{what} not traced: no file of theirs is under [tool.layoutcheck] paths"], 0
    reason = cases.require_dsl()
    if reason is not None:
        return None, [f"{what} not traced: {reason}"], len(mine)
    left = len(found) - len(registered)
    notes = [f"{left} of {what} not under [tool.layoutcheck] paths"] if left else []
    store = Cache(folder, "traces")
    try:
        traced = running.trace(mine, settings, store, workers=workers, progress=progress)
    finally:
        store.save()
    notes += dict.fromkeys(note for run in traced for note in run.trace.notes)
    silent = [_silent(run) for run in traced if _is_silent(run)]
    if silent:
        named = ", ".join(silent[:_MOST_NAMED]) + (", ..." if len(silent) > _MOST_NAMED else "")
        notes.append(f"{many(len(silent), 'program')} built no kernel (for another architecture?): {named}")
    return _Runs(traced, [cases.unusable(case) for case in mine if case.problem]), notes, 0


def _is_silent(run: cases.CaseRun) -> bool:
    """Whether a program ended well and built nothing, without having been named."""
    return bool(run.case.command) and not (run.case.named or run.trace.kernels or run.trace.failures)


def _silent(run: cases.CaseRun) -> str:
    """The name of a silent program, and the reason that its tests give, if they were skipped."""
    skipped = run.trace.skipped
    return f"{run.case.name} ({skipped[0][1]})" if skipped else run.case.name


def _skipped(traced: Sequence[cases.CaseRun]) -> dict[str, int]:
    """How many tests were skipped for every architecture that they were run for, by their reasons."""
    always: dict[tuple[str, ...], dict[str, str]] = {}
    for run in traced:
        here = dict(run.trace.skipped)
        before = always.get(run.case.command, here)
        always[run.case.command] = {test: reason for test, reason in before.items() if test in here}
    return dict(Counter(reason for tests in always.values() for reason in tests.values()).most_common())


def _ran(run: cases.CaseRun) -> Ran:
    case, trace = run.case, run.trace
    failures = tuple(f"{one.kind}: {' '.join(one.message.split())}" for one in trace.failures)
    return Ran(
        case.name, case.path, case.arch, len(trace.kernels), len(trace.copies), round(run.seconds, 1),
        run.cached, failures, bool(case.command), len(trace.skipped),
    )  # fmt: skip


class _Texts:
    """The lines of files that findings are in."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._silent: dict[str, Suppressions] = {}

    def text(self, path: str) -> str:
        if path not in self._texts:
            file, cell = cells.file_of(path)
            try:
                raw = read_regular(file)
                self._texts[path] = notebook.cell_text(raw, cell) if cell else raw.decode("utf-8", "replace")
            except OSError:
                self._texts[path] = ""
        return self._texts[path]

    def suppressions(self, path: str) -> Suppressions:
        """The comments of a file that silence findings."""
        if path not in self._silent:
            self._silent[path] = Suppressions(self.text(path))
        return self._silent[path]

    def line(self, finding: LintFinding) -> str:
        """The line of a finding."""
        lines = source_lines(self.text(finding.path))
        return lines[finding.line - 1] if 0 < finding.line <= len(lines) else ""


def _coverage(
    read: Sequence[files.File], reached: dict[tuple[str, int], str], traced: bool
) -> tuple[int, dict[str, tuple[int, ...]]]:
    """How many sites a trace reached, and the lines of the others."""
    hit = 0
    never: dict[str, tuple[int, ...]] = {}
    for file in read:
        for site in file.reading.sites:
            seen = traced and any(
                (file.path, line) in reached for line in range(site.line, site.end_line + 1)
            )
            hit += seen
            if not seen:
                path = cells.named(file.path, site.cell) if site.cell else file.path
                never[path] = (*never.get(path, ()), site.line)
    return hit, never


def _single(read: Sequence[files.File], seen: bool) -> set[tuple[str, int]]:
    """The sites that a kernel may hold unseen: copies by single elements, if not all kernels were lowered."""
    return set() if seen else {
        (file.path, site.line)
        for file in read
        for site in file.reading.sites
        if site.call not in ("cute.copy", "cute.copy_atom_call")
    }  # fmt: skip


def _never_traced(never: dict[str, tuple[int, ...]], program: bool) -> list[LintFinding]:
    """LC912, one a file; `program` says whether programs of the repository were run."""
    found = []
    what_runs, advice = "case", "Register a case that builds this kernel with the options that lead there."
    if program:
        what_runs, advice = "program", "Add a test or a script that builds this kernel, or a registered case."
    for path, lines in never.items():
        shown = ", ".join(map(str, lines[:12])) + (", ..." if len(lines) > 12 else "")
        what = f"{len(lines)} copy sites: lines" if len(lines) > 1 else "1 copy site: line"
        title = f"no {what_runs} reached {what} {shown}"
        evidence = {"lines": list(lines)}
        found.append(LintFinding("LC912", "note", path, lines[0], 1, title, advice, evidence=evidence))
    return found
