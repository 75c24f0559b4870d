"""`lint(paths)`: files read, registered cases traced, findings filtered, everything counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from layoutcheck import cells
from layoutcheck.digits import many
from layoutcheck.gate import Part
from layoutcheck.lint import baseline, cases, files, leftovers, notebook
from layoutcheck.lint import runs as running
from layoutcheck.lint.cache import Cache
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.programs import projects
from layoutcheck.lint.result import Counts, Ran, Result, Sites
from layoutcheck.lint.suppressions import Suppressions
from layoutcheck.processors import processors
from layoutcheck.regular import inside, read_regular, source_lines
from layoutcheck.settings import Settings
from layoutcheck.sources.pasted import cut

Progress = Callable[[str, int, int], None]
_MOST_NAMED, _MOST_WORDS = 3, 160
_NO_ORDER = "the order of accesses was not checked (--no-order, or `order` in the settings)"
_NO_LOWERED = "the compiler's lowering was not used (--no-lowered, or `lowered` in the settings)"


def lint(
    paths: Sequence[str], settings: Settings, *, static: bool = False, workers: int = 0,
    baseline_file: Path | None = None, write_baseline: Path | None = None,
    progress: Progress | None = None, programs: Sequence[cases.RegisteredCase] | None = None,
    part: Part | None = None,
) -> Result:  # fmt: skip
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
    ran = partial(_ran, listed, settings, workers, folder, progress)
    runs, notes, untraced = _trace(listed, settings, static, ran, programs, part)
    texts = _Texts()

    def look() -> tuple[_Seen, int, Sites, dict[str, Any], Sequence[cases.RegisteredCase]]:
        seen = _Seen() if runs is None else _judged(runs, settings, texts)
        traced, never = _coverage(read, seen.reached, runs is not None)
        told = _why_never(never, seen.built, programs, read, listed, runs, settings) if never and runs else {}
        return seen, traced, never, told, told.pop("elsewhere", ())

    seen, traced, never, told, elsewhere = look()
    if runs is not None and elsewhere and runs.whole:
        runs.traced.extend(ran(elsewhere))
        notes += _elsewhere(runs.traced[-len(elsewhere) :])
        seen, traced, never, told, _ = look()
    complete = runs is not None and runs.complete and part is None
    if part is not None:
        never, told = {}, {}  # the programs of other parts may reach them

    found = [finding for file in read for finding in file.reading.findings] + seen.findings
    found += _never_traced(never, bool(programs)) if runs is not None else []
    if complete and programs and settings.lowered:
        found += _never_built(read, {path for path, _ in seen.built})
    found += leftovers.unused(read, texts.suppressions, seen.reached if complete else {})
    wanted = sorted((f for f in found if settings.selected(f.code, f.path)), key=lambda f: f.order)

    def place(finding: LintFinding) -> tuple[str, str]:
        return settings.inside(finding.path), texts.line(finding)

    if write_baseline is not None:
        baseline.write(write_baseline, wanted, place)
    # Entries of a baseline that nothing has may be of what was not run.
    looked = listed if part is None and (runs is not None or not notes) else None
    new, of_baseline = _new(wanted, known, place, settings, looked) if known else (wanted, [])
    silenced = seen.silenced + sum(file.reading.silenced for file in read)
    counts = Counts(
        files=len(read), relevant=sum(file.reading.relevant for file in read),
        lines=sum(file.reading.lines for file in read),
        sites=sum(len(file.reading.sites) for file in read), traced=traced, untraced=untraced,
        silenced=silenced, unselected=len(found) - len(wanted), known=len(wanted) - len(new), never=never,
        **seen.counts, **told,
    )  # fmt: skip
    ran = () if runs is None else tuple(map(Ran.of, runs.traced))
    return Result(tuple(new), counts, (*notes, *seen.notes, *of_baseline), ran, programs is not None)


def cache_folder(settings: Settings) -> Path | None:
    """Where earlier runs are kept; None for nowhere. Raises InputError for a folder out of the repository."""
    return None if settings.cache is None else inside(settings.root, settings.cache, "cache")


@dataclass(frozen=True, slots=True)
class _Runs:
    traced: list[cases.CaseRun]
    unusable: list[LintFinding]
    reports: dict[Any, Any] = field(default_factory=dict)  # that `judge` keeps

    @property
    def complete(self) -> bool:
        """Whether every run came to its end that was asked for."""
        return not any(run.trace.failures for run in self.traced if not run.case.more)

    @property
    def whole(self) -> bool:
        """Whether no SIGTERM came before the last run had ended."""
        return not any(one.kind == "ended" for run in self.traced for one in run.trace.failures)


def _trace(
    listed: Sequence[str], settings: Settings, static: bool,
    ran: Callable[[Sequence[cases.RegisteredCase]], list[cases.CaseRun]],
    programs: Sequence[cases.RegisteredCase] | None, part: Part | None,
) -> tuple[_Runs | None, list[str], int]:  # fmt: skip
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
    traced = ran(mine)
    notes += dict.fromkeys(note for run in traced for note in run.trace.notes)
    silent = [_silent(run) for run in traced if _is_silent(run)]
    if silent:
        named = ", ".join(silent[:_MOST_NAMED]) + (", ..." if len(silent) > _MOST_NAMED else "")
        notes.append(f"{many(len(silent), 'program')} built no kernel (for another architecture?): {named}")
    return _Runs(traced, [cases.unusable(case) for case in mine if case.problem]), notes, 0


def _ran(
    listed: Sequence[str], settings: Settings, workers: int, folder: Path | None,
    progress: Progress | None, mine: Sequence[cases.RegisteredCase],
) -> list[cases.CaseRun]:  # fmt: skip
    """The runs of cases and programs, what was kept of earlier ones included."""
    store = Cache(folder, "traces")
    try:
        traced = running.trace(mine, settings, store, workers=workers, progress=progress)
    finally:
        store.save()
    from layoutcheck.lint.shadowed import with_shadowed  # loads what a trace is, which reading does not need

    below = projects(settings.root, map(settings.inside, listed))
    folders = [settings.root, *(settings.root / each for each in below)]
    return [replace(run, trace=with_shadowed(run.trace, folders)) for run in traced]


def _elsewhere(runs: Sequence[cases.CaseRun]) -> Iterator[str]:
    """What is said of runs for the architectures that the names of sites left say."""
    archs = ", ".join(dict.fromkeys(run.case.arch for run in runs))
    yield (
        f"{many(len(runs), 'run')} for {archs}, which copy sites name that no other run reached"
        " (`run-arch` in the settings names the architectures)"
    )
    for run in runs:
        for one in run.trace.failures[:1]:
            said = cut(" ".join(one.message.split()), _MOST_WORDS)
            yield f"{run.case} failed, and nobody asked for it: {one.kind}: {said}"


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


@dataclass(slots=True)
class _Seen:
    """What runs showed: `reached` and `built` of `JudgedCases`, and `counts` by the names of `Counts`."""

    findings: list[LintFinding] = field(default_factory=list)
    silenced: int = 0
    reached: dict[tuple[str, int], str] = field(default_factory=dict)
    built: set[tuple[str, int]] = field(default_factory=set)
    counts: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def _judged(runs: _Runs, settings: Settings, texts: _Texts) -> _Seen:
    """The findings that no comment silences, and the counts of what was run."""
    from layoutcheck.lint.judged import judge  # loads the model, which reading does not need
    from layoutcheck.sources.traced import address_sources

    judged = judge(runs.traced, runs.reports)
    every = judged.findings + runs.unusable
    loud = [finding for finding in every if not texts.suppressions(finding.path).silences(finding)]
    notes = [_NO_ORDER] * (not settings.order) + [_NO_LOWERED] * (not settings.lowered)
    if judged.undecided:
        names = ", ".join(judged.undecided)
        notes.append(f"expected to be slow, which types alone do not show: {names}")
    counts = {
        "copies": judged.copies,
        "checked": judged.checked,
        "as_meant": judged.as_meant,
        "accesses": judged.accesses,
        "accesses_known": judged.accesses_known,
        "cases": len(runs.traced),
        "kernels": sum(len(run.trace.kernels) for run in runs.traced),
        "unknown": dict(judged.unknown.most_common()),
        "address_sources": address_sources(judged.address_sources.elements()),
        "skipped": _skipped(runs.traced),
    }
    return _Seen(loud, len(every) - len(loud), judged.reached, judged.built, counts, notes)


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
) -> tuple[int, Sites]:
    """How many sites a trace reached, and the lines of the others."""
    hit = 0
    never: Sites = {}
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


def _why_never(
    never: Sites, built: set[tuple[str, int]], programs: Sequence[cases.RegisteredCase] | None,
    read: Sequence[files.File], listed: Sequence[str], runs: _Runs, settings: Settings,
) -> dict[str, Any]:  # fmt: skip
    """Why sites were never traced, by names of `Counts`; nothing where no programs were looked for."""
    if not programs:
        return {}
    from layoutcheck.lint.unreached import reasons  # loads what a trace is, which reading does not need

    single = _single(read, settings.lowered and runs.complete)
    why = reasons(never, built, programs, single, listed, runs.traced)
    return {name: getattr(why, name) for name in ("uncalled", "untaken", "because", "elsewhere")}


def _single(read: Sequence[files.File], seen: bool) -> set[tuple[str, int]]:
    """The sites that a kernel may hold unseen: copies by single elements, if not all kernels were lowered."""
    return set() if seen else {
        (file.path, site.line)
        for file in read
        for site in file.reading.sites
        if site.call not in ("cute.copy", "cute.copy_atom_call")
    }  # fmt: skip


def _never_traced(never: Sites, program: bool) -> list[LintFinding]:
    """LC912, one a file; `program` says whether programs of the repository were run."""
    found = []
    what_runs, advice = "case", "Register a case that builds this kernel with the options that lead there."
    if program:
        what_runs, advice = "program", "Add a test or a script that builds this kernel, or a registered case."
    for path, lines in never.items():
        what = f"{len(lines)} copy sites: lines" if len(lines) > 1 else "1 copy site: line"
        title = f"no {what_runs} reached {what} {_shown(lines)}"
        evidence = {"lines": list(lines)}
        found.append(LintFinding("LC912", "note", path, lines[0], 1, title, advice, evidence=evidence))
    return found


def _never_built(read: Sequence[files.File], built: set[str]) -> Iterator[LintFinding]:
    """LC912, one a file without copy sites of which no line was seen to run in a kernel."""
    for file in read:
        if file.reading.bare and not file.reading.sites and file.path not in built:
            lines = file.reading.bare
            what = "the kernel at line" if len(lines) == 1 else "the kernels at lines"
            title = f"no program was seen to run {what} {_shown(lines)}"
            advice = "Add a test or a script that builds it, or a registered case."
            yield LintFinding(
                "LC912", "note", file.path, lines[0], 1, title, advice, evidence={"lines": list(lines)}
            )


def _shown(lines: Sequence[int]) -> str:
    return ", ".join(map(str, lines[:12])) + (", ..." if len(lines) > 12 else "")


def _new(
    wanted: Sequence[LintFinding], known: Counter[baseline.Key],
    place: Callable[[LintFinding], tuple[str, str]], settings: Settings, looked: Sequence[str] | None,
) -> tuple[Sequence[LintFinding], list[str]]:  # fmt: skip
    """The findings that the baseline lacks, and notes on its entries; those of `looked` files may go."""
    new, moved = baseline.new(wanted, known, place, lambda path: not (settings.root / path).exists())
    notes = leftovers.moved(moved)
    if looked is not None:
        kept = Counter({entry: count for entry, count in known.items() if entry not in moved})
        left = baseline.stale(wanted, kept, place)
        notes += leftovers.stale(left, {settings.inside(path) for path in looked}, settings)
    return new, notes
