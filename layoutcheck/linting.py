"""`layoutcheck lint` and `layoutcheck ci`: options in, one run, one report out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from layoutcheck import settings as reading
from layoutcheck.errors import InputError, check_workers
from layoutcheck.gate import Part
from layoutcheck.lint.cache import Cache
from layoutcheck.lint.cases import RegisteredCase, shown
from layoutcheck.lint.result import Result
from layoutcheck.lint.run import cache_folder, lint
from layoutcheck.progress import bar
from layoutcheck.regular import inside
from layoutcheck.settings import Settings

NO_PROGRAM = "no test or script that compiles kernels was found (notebooks are not run)"

# Called with the programs that would be run; raises InputError where they may not.
Approve = Callable[[Sequence[RegisteredCase], Settings], None]


def settings_for(
    paths: Sequence[str], config: Path | None, select: str | None, ignore: str | None
) -> Settings:
    """The project's settings with those of the command line: a code that is given there wins."""
    if config is not None:
        settings = reading.read(config) or Settings()
    else:
        first = Path(paths[0]) if paths else Path()
        settings = reading.find(first if first.is_dir() else first.parent)
    if select is not None:
        settings = replace(settings, select=_codes(select, "--select"))
    if ignore is not None:
        settings = replace(settings, ignore=settings.ignore + _codes(ignore, "--ignore"))
    return settings


def linted(
    paths: Sequence[str], *, config: Path | None = None, select: str | None = None,
    ignore: str | None = None, static: bool = False, fix: bool = False, baseline: Path | None = None,
    write_baseline: Path | None = None, force_exclude: bool = False, cache: bool = True,
    lowered: bool = True, order: bool = True, workers: int = 0, arch: str | None = None,
    timeout_s: int | None = None, approve: Approve | None = None, part: Part | None = None,
) -> tuple[Result, list[str]]:  # fmt: skip
    """The result of a run, and what was repaired in the files first. Raises InputError for unusable input.

    `approve`, where given, asks for the repository's programs too, for `arch` (several with commas) and at
    most `timeout_s` seconds each: it is called with them before they are run, and may raise. With `part` only
    that part of programs and cases is run, and nothing is said of what none of them reached.
    """
    check_workers(workers)
    settings = settings_for(paths, config, select, ignore)
    settings = replace(
        settings,
        cache=settings.cache if cache else None,
        lowered=lowered and reading.wants_lowered(settings),
        order=order and reading.wants_order(settings),
        order_seconds=reading.order_seconds(settings),
        run_timeout=settings.run_timeout if timeout_s is None else reading.seconds(timeout_s, "--timeout"),
        run_arch=settings.run_arch if arch is None else reading.architectures(arch),
    )
    if baseline is None and settings.baseline is not None and write_baseline is None:
        baseline = inside(settings.root, settings.baseline, "baseline")
    if force_exclude:
        paths = [path for path in paths if not settings.excluded(path)]
    repaired = _repaired(paths, settings, static) if fix else []
    programs, untold = (None, ()) if approve is None else _programs(paths, settings, part)
    if approve is not None:
        approve(programs or [], settings)
    with bar(("read", "trace")) as progress:
        result = lint(
            paths, settings, static=static, workers=workers, baseline_file=baseline,
            write_baseline=write_baseline, progress=progress, programs=programs, part=part,
        )  # fmt: skip
    return replace(result, notes=(*result.notes, *untold)), repaired


def _repaired(paths: Sequence[str], settings: Settings, static: bool) -> list[str]:
    from layoutcheck.lint.fixing import repair

    return repair(paths, settings) + ([] if static else _in_cases(paths, settings))


def _programs(
    paths: Sequence[str], settings: Settings, part: Part | None
) -> tuple[list[RegisteredCase] | None, Sequence[str]]:
    """What is to be run, None where nothing was asked of this machine; notes on what was not found."""
    from layoutcheck.lint.programs import discover

    notes: list[str] = []
    programs = discover(paths, settings, Cache(cache_folder(settings), "outlines"), notes.append)
    if not programs:
        return programs, [*notes, f"{NO_PROGRAM}; `run` in [tool.layoutcheck] names programs"]
    mine = programs if part is None else part.of(programs)
    if not mine and part is not None:
        return None, [*notes, f"no program is in part {part.index} of {part.count}"]
    return mine, notes


def _in_cases(paths: Sequence[str], settings: Settings) -> list[str]:
    """What was repaired in the kernels of registered cases, a line each."""
    from layoutcheck.patching.cases import repair_cases

    lines = []
    for _, found in repair_cases(paths, settings):
        for one in found.repairs:
            places = ", ".join(f"{shown(place.file)}:{place.line}" for place in one.places)
            lines.append(f"{places}: {one.title}")
    return lines


def _codes(text: str, option: str) -> tuple[str, ...]:
    named = [each for each in text.split(",") if each.strip()]
    if option == "--select" and not named:  # with no rule selected every file passes
        raise InputError("--select names no rule", expected="--select LC260,LC3")
    return reading.codes(named, option)
