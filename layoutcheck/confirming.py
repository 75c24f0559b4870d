"""`layoutcheck confirm`: copies from a named case, a file or registered cases, run; with reproducers."""

from __future__ import annotations

import sys
from pathlib import Path

from layoutcheck import settings
from layoutcheck.copies.copy import Copy
from layoutcheck.dsl.session import DslUnavailable
from layoutcheck.errors import InputError, meant
from layoutcheck.gpu.confirm import confirm
from layoutcheck.gpu.process import machine_here
from layoutcheck.gpu.races import MOST_SEEDS, STAGES, TIMEOUT_S, Races, command_of, confirm_order
from layoutcheck.lint import cases as registered
from layoutcheck.lint import files, runs
from layoutcheck.lint.cache import Cache
from layoutcheck.lint.run import cache_folder
from layoutcheck.progress import Progress, bar, standard_input
from layoutcheck.reports import reproducer
from layoutcheck.reports.confirmation import Confirmed
from layoutcheck.reports.outcome import Failure
from layoutcheck.sources.cases import case, case_names
from layoutcheck.sources.records import read_lines, read_record
from layoutcheck.sources.request import build

SEEDS = 8  # of delays, where nothing else is asked for

Named = list[tuple[str, Copy]]


def confirmed(source: str, workers: int = 4, folder: Path = Path()) -> Confirmed:
    """Confirm a named case, a JSONL file, standard input ('-'), or a path's registered cases.

    Python under a path is run, in child processes, to see what it builds. Reproducers go to `folder`.
    Raises InputError for a source that cannot be used, and where the DSL cannot be asked.
    """
    if not 1 <= workers <= 64:
        raise InputError(f"{workers} workers is out of range", expected="1 to 64")
    surprises: list[str] = []
    of_a_repository = Path(source).is_dir() or source.endswith(".py")
    named, failures = ([], []) if of_a_repository else read(source)  # typed, perhaps, where no bar may be
    with bar(("trace", "compile", "run")) as progress:
        if of_a_repository:
            named, failures, surprises = _traced(source, progress)
        try:
            found, machine = confirm(named, workers=workers, progress=progress) if named else ([], {})
        except DslUnavailable as error:
            raise InputError(f"nothing can be confirmed: {error}") from None
    scripts = {}
    for i, one in enumerate(found):
        if one.disagrees:
            try:
                scripts[i] = reproducer.write(folder, one.name, named[i][1])
            except InputError as error:  # what was measured is told in any case
                sys.stderr.write(f"warning: {error}\n")
    return Confirmed(found, machine, failures, scripts, surprises)


def confirmed_order(
    program: str,
    workers: int = 4,
    seeds: int | None = None,
    seed: int | None = None,
    timeout: int | None = None,
) -> Races:
    """Run a program with delays at what the order check finds in its kernels; `seed` is the only one tried.

    Raises InputError for what cannot be run, and where there is no GPU.
    """
    for name, value, most in (
        ("workers", workers, 64),
        ("seeds", seeds, MOST_SEEDS),
        ("timeout", timeout, 3600),
    ):
        if value is not None and not 1 <= value <= most:
            raise InputError(f"{value} {name} is out of range", expected=f"1 to {most}")
    if seed is not None and (seeds is not None or seed < 0):
        said = "--seed and --seeds exclude each other" if seeds is not None else f"no seed {seed}"
        raise InputError(said, expected="a number from 0 on, or how many")
    command_of(program)  # a program that is not there is said before what this machine lacks
    machine = machine_here()
    if machine.get("why"):
        raise InputError(f"nothing can be run: {machine['why']}", expected="a GPU")
    project = settings.find(Path())
    with bar(STAGES) as progress:
        return confirm_order(
            program, machine, seeds=range(seeds or SEEDS) if seed is None else [seed], workers=workers,
            timeout_s=timeout or TIMEOUT_S, order_seconds=settings.order_seconds(project), progress=progress,
        )  # fmt: skip


def _traced(source: str, progress: Progress | None) -> tuple[Named, list[Failure], list[str]]:
    """The copies of every registered case under a path, what could not be traced, and broken expectations."""
    from layoutcheck.lint.judged import judge
    from layoutcheck.sources.traced import distinct

    path = Path(source)
    project = settings.find(path if path.is_dir() else path.parent)
    found = registered.all_of(files.collect([source], project), project.arch)
    if not found:
        raise InputError(
            f"'{source[:200]}' registers no cases",
            expected="functions with @layoutcheck.case (of a test suite: pytest --layoutcheck=confirm)",
        )
    reason = registered.require_dsl()
    if reason is not None:
        raise InputError(f"nothing can be confirmed: {reason}")
    store = Cache(cache_folder(project), "traces")
    try:
        traced = runs.trace(found, project, store, progress=progress)
    finally:
        store.save()
    named: Named = []
    for run in traced:
        for entry in distinct(run.trace):
            one, place = entry.first, registered.shown(entry.first.where.file)
            if one.copy is not None:
                named.append((f"{run.case} {Path(place).name}:{one.where.line}", one.copy))
    judged = judge(traced)
    broken = [finding for finding in judged.findings if finding.code == "LC911"]
    broken += [registered.unusable(case) for case in found if case.problem]
    failures = [Failure(f"{finding.path}:{finding.line}", InputError(finding.title)) for finding in broken]
    surprises = [
        f"{finding.path}:{finding.line}: {finding.title}"
        for finding in judged.findings
        if finding.code == "LC913"
    ]
    return named, failures, surprises


def read(source: str) -> tuple[Named, list[Failure]]:
    """The copies, each with a name, and the lines that cannot be used."""
    if source.strip().lower() in case_names():
        found = case(source)
        made = [build(**request)[0] for request in found.copies]
        if len(made) == 1:
            return [(found.name, made[0])], []
        return [(f"{found.name}[{i}]", copy) for i, copy in enumerate(made)], []
    if source == "-":
        return _records(list(read_lines(standard_input("Copies as JSON, one a line"))))
    path = Path(source)
    try:
        with path.open("rb") as file:
            lines = list(read_lines(file))
    except (OSError, ValueError) as error:
        if path.suffix or len(path.parts) > 1:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"cannot read '{source[:200]}': {reason}", expected="a JSONL file") from None
        raise InputError(
            f"no case or file '{source[:60]}'{meant(source, case_names())}",
            expected="a file, or a name that `layoutcheck explain --case` lists",
        ) from None
    return _records(lines)


def _records(lines: list[tuple[int, str]]) -> tuple[Named, list[Failure]]:
    if not lines:
        raise InputError(
            "no copies to confirm", expected='JSON objects, one a line: {"src": ..., "dst": ...}'
        )
    read = [_record(number, line) for number, line in lines]
    failures = [one for one in read if isinstance(one, Failure)]
    return [one for one in read if not isinstance(one, Failure)], failures


def _record(number: int, line: str) -> tuple[str, Copy] | Failure:
    try:
        record = read_record(line)
    except InputError as error:
        return Failure(f"line {number}", error)
    return record.subject or f"line {number}", record.copy
