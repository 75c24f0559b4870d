"""Why copy sites were not reached, as far as the runs of programs tell: for each file, reasons with lines.

`uncalled` and `untaken` speak of the source and of the kernels that were built. What is left has a reason in
what became of the programs that imported the file, the surest first: the DSL refuses its kernel, the program
failed in it, its name is another architecture's, a program failed elsewhere in its file, its programs ended
early, its tests are skipped.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from layoutcheck.digits import many
from layoutcheck.dsl.called import MEASURED
from layoutcheck.dsl.outcomes import ENDED_AT, FAILED_WANTING, TIME_UP
from layoutcheck.lint.called import Called
from layoutcheck.lint.cases import CaseRun, RegisteredCase, shown
from layoutcheck.lint.result import Sites
from layoutcheck.regular import read_regular
from layoutcheck.sources.pasted import cut
from layoutcheck.sources.traced import UNCOMPILED, TraceFailure
from layoutcheck.sources.wanted_arch import BUILT_FOR

_MOST = 140  # characters of a program's words
_TO_THE_END = (  # of programs of which nothing is left
    "the file itself was run, to its end, and did not build its kernel",
    "no program that imports its file built its kernel",
)
_OTHERS = "; others that import it did not end"
_LATE = ("timeout", "ended")
_ARCH = re.compile(r"(?<![a-z])sm_?(8|9|10|11|12)[0-9](?![0-9])|(ampere)|(hopper)|(blackwell)")
_MISSING = (
    re.compile(r"module '(?P<module>cutlass[\w.]*)' has no attribute '(?P<name>\w+)'"),
    re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<module>cutlass[\w.]*)'"),
)
_GENERATIONS = (8, 9, 10)  # of the three names


@dataclass(slots=True)
class Reasons:
    """By file: `uncalled` by `path:function`, or by cell of a notebook; `because` by reason.

    `elsewhere` are the programs that may reach a site if they run for the architecture that its name says.
    """

    uncalled: Sites = field(default_factory=dict)
    untaken: Sites = field(default_factory=dict)
    because: dict[str, Sites] = field(default_factory=dict)
    elsewhere: list[RegisteredCase] = field(default_factory=list)


def reasons(
    never: Mapping[str, Sequence[int]], built: set[tuple[str, int]], programs: Sequence[RegisteredCase],
    unseen: set[tuple[str, int]], listed: Sequence[str], runs: Sequence[CaseRun],
) -> Reasons:  # fmt: skip
    """The reasons of sites that were never traced.

    A site is not taken if other lines of its function are in a kernel, it is not one of those that may be in
    it `unseen`, and all programs that import its file came to their ends.
    """
    out, sources = Reasons(), {}
    for path in listed:
        with contextlib.suppress(OSError):
            sources[path] = read_regular(path)
    tests = [case.path for case in programs if case.command[:2] == ("-m", "pytest")]
    known = Called(sources, tests, [case.path for case in programs if case.path not in tests])
    told = _Runs(runs)
    for path, lines in never.items():
        for line in lines:
            name = known.uncalled(path, line)
            if name or path not in sources:
                _add(out.uncalled, f"{path}:{name}" if name else path, line)
                continue
            why = told.why(path, known.around(path, line), partial(known.reaches, path=path, line=line))
            if (path, line) not in unseen and any((path, one) in built for one in known.span(path, line)):
                if why in _TO_THE_END:
                    _add(out.untaken, path, line)
                    continue
                why = f"behind a condition that no kernel met; {why}"
            _add(out.because.setdefault(path, {}), why, line)
    out.elsewhere = list(told.elsewhere)
    return out


def _add(sites: Sites, place: str, line: int) -> None:
    sites[place] = (*sites.get(place, ()), line)


class _Runs:
    """What became of the programs, by the files that they imported."""

    def __init__(self, runs: Sequence[CaseRun]) -> None:
        self.runs = runs
        self.elsewhere: dict[RegisteredCase, None] = {}
        self._by_file: dict[str, list[CaseRun]] = {}
        for run in runs:
            for file in {run.case.path, *map(shown, run.trace.imported)}:
                self._by_file.setdefault(file, []).append(run)

    def why(
        self, path: str, around: Sequence[tuple[str, range]], reaches: Callable[[str], bool] = lambda _: True
    ) -> str:
        """The reason of a site in these functions and classes, from the outside.

        Programs that `reaches` names have the word, if there are any.
        """
        lines = around[0][1] if around else range(0)
        for run in self.runs:
            for one in run.trace.failures:
                if one.where is not None and shown(one.where.file) == path and one.where.line in lines:
                    refused = one.kind in UNCOMPILED
                    said = "the DSL refuses its kernel" if refused else f"{run.case.name} failed in it"
                    return f"{said}: {_words(one)} (line {one.where.line})"
        near = sorted(self.runs, key=lambda run: (_apart(path, run.case.path), not _late(run)))
        known = {id(run) for run in self._by_file.get(path, ())}
        importing = [run for run in near if (id(run) in known or _of_the_run(run)) and reaches(run.case.path)]
        importing = importing or [run for run in near if id(run) in known]
        if not importing:
            return self._not_imported()
        wanted, had = _other_arch(f"{path} {' '.join(name for name, _ in around)}", importing)
        if wanted:
            again = [one for one in importing if BUILT_FOR.format(wanted) not in one.trace.notes]
            for case in (run.case for run in again if run.case.free):
                name = f"{case}[{wanted}]"
                other = replace(case, arch=wanted, name=name, free=False, named=False, more=True)
                self.elsewhere[other] = None
            return f"its name says {wanted.strip('a')}, and programs ran for {had}"
        for run in importing:
            for one in _of_the_run(run):
                if one.where is not None and shown(one.where.file) == path:
                    return f"{run.case.name} failed in its file: {_words(one)} (line {one.where.line})"
        for run in importing:
            if _late(run):
                return f"the time limit ended {run.case.name}"
            if failed := _of_the_run(run):
                return f"{run.case.name} failed: {_words(failed[0])}"
            if run.case.path == path and not run.trace.skipped:
                return _TO_THE_END[0] if all(map(_whole, importing)) else f"{_TO_THE_END[0]}{_OTHERS}"
        skipped = Counter(reason for run in importing for _, reason in run.trace.skipped)
        if skipped:
            reason, number = skipped.most_common(1)[0]
            return f"{many(number, 'skipped test')} may reach it: {cut(reason, _MOST)}"
        return _TO_THE_END[1] if all(map(_whole, importing)) else f"{_TO_THE_END[1]}{_OTHERS}"

    def _not_imported(self) -> str:
        early = [
            (run, failed[0]) for run in self.runs if (failed := _of_the_run(run)) and not run.trace.kernels
        ]
        if not early:
            return "no program imported its file"
        run, one = early[0]
        more = f" and {len(early) - 1} more" if len(early) > 1 else ""
        return f"no program imported its file; {run.case.name}{more} failed before: {_words(one)}"


def _late(run: CaseRun) -> bool:
    """Whether time ended the program: it left more unseen than one whose tests failed."""
    return any(one.kind in _LATE for one in _of_the_run(run))


def _of_the_run(run: CaseRun) -> list[TraceFailure]:
    """What went wrong in the program: not time to judge its kernels, nor a missing module beside more."""
    failed = [one for one in run.trace.failures if not one.message.endswith(TIME_UP)]
    return [one for one in failed if one.kind != "missing"] or failed


def _whole(run: CaseRun) -> bool:
    """Whether nothing is left of the program that a GPU would run."""
    wanting = any(note.startswith((ENDED_AT, MEASURED)) or FAILED_WANTING in note for note in run.trace.notes)
    return not (wanting or _of_the_run(run) or run.trace.skipped)


def _apart(path: str, program: str) -> int:
    """How many folders lie between a file and a program: the nearest program is mostly the file's own."""
    if path == program:
        return -1
    one, other = path.split("/")[:-1], program.split("/")[:-1]
    same = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return len(one) + len(other) - 2 * same


def _words(failure: TraceFailure) -> str:
    """A failure's own words; where it misses a name of the DSL, which versions have that."""
    said = cut(failure.message, _MOST)
    for pattern in _MISSING:
        if found := pattern.search(" ".join(failure.message.split())):
            from layoutcheck.catalogue import dsl_names  # its package takes long to import

            known = dsl_names.of_module(found["module"], found["name"])
            return "; ".join([said, *known[:1]])
    return said


def _other_arch(names: str, importing: Sequence[CaseRun]) -> tuple[str, str]:
    """The architecture of the names around a site, and those of the programs, if all are of others; else "".

    A kernel may ask for another one than its program's: that of a program that ended before it built one
    says nothing.
    """
    wanted = {
        int(number) if number else next(g for g, name in zip(_GENERATIONS, rest, strict=True) if name)
        for number, *rest in _ARCH.findall(names.lower())
    }
    told = [run for run in importing if run.trace.kernels or not _of_the_run(run)]
    had = {arch for run in told for arch in (run.case.arch, *(one.arch for one in run.trace.kernels))}
    generations = {int(found[1]) for arch in had if (found := re.match(r"sm_([0-9]+)[0-9]", arch))}
    if not (wanted and had) or wanted & generations:
        return "", ""
    return f"sm_{min(wanted)}0{'a' * (min(wanted) > 8)}", ", ".join(sorted(had))
