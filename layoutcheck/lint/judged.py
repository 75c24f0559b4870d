"""Traced copies as findings: each different copy of each place is judged once, by `check`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from layoutcheck.check import Report
from layoutcheck.digits import many
from layoutcheck.findings import VERDICTS
from layoutcheck.judge import judge_traced
from layoutcheck.lint.analyse import of_report
from layoutcheck.lint.cases import (
    CaseRun,
    RegisteredCase,
    failures,
    meant,
    shown,
    undecided,
    unexpected,
)
from layoutcheck.lint.finding import LintFinding
from layoutcheck.sources.callers import told_of_callers
from layoutcheck.sources.traced import UNCOMPILED, KernelFinding, TracedCopy, TraceFailure, distinct

_REPORTED = ("rejected", "wrong", "slow")
_OF_THE_DSL = ("DSL", "OpError")  # how the names of its own errors begin
_MOST_ALIKE = 3
_NUMBER = re.compile(r"[0-9]+")


@dataclass(slots=True)
class JudgedCases:
    """What a run's traces said: findings, the places that were reached, and why copies stayed unknown."""

    findings: list[LintFinding] = field(default_factory=list)
    reached: dict[tuple[str, int], str] = field(default_factory=dict)  # file and line -> worst verdict there
    built: set[tuple[str, int]] = field(default_factory=set)  # files and lines that a kernel was seen to run
    accesses: int = 0  # loads and stores of single elements
    accesses_known: int = 0
    copies: int = 0
    checked: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    address_sources: Counter[str] = field(default_factory=Counter)  # of all copies
    as_meant: int = 0
    undecided: list[str] = field(default_factory=list)  # cases whose expected costs the types do not show

    def tell(self, case: RegisteredCase, finding: LintFinding, codes: set[str]) -> bool:
        """Keep a finding, or count it as what the case means, its code in either case; not a note: False."""
        if finding.severity not in _REPORTED:
            return False
        codes.add(finding.code)
        if meant(case, finding):
            self.as_meant += 1
        else:
            self.findings.append(finding)
        return True


def judge(runs: Iterable[CaseRun], known: dict[Any, Report | None] | None = None) -> JudgedCases:
    """Check every copy of every case, and hold each case against what it expects.

    `known` keeps what was said of a copy, for the next call.
    """
    out = JudgedCases()
    reports: dict[Any, Report | None] = {} if known is None else known
    for run in runs:
        verdict, codes, beyond = "legal", set[str](), set[tuple[str, str, int]]()
        out.address_sources.update(one.address_source for one in run.trace.copies)
        for entry in distinct(run.trace):
            one = entry.first
            report = _report(one, reports)
            out.copies += entry.count
            path = shown(one.where.file)
            here = _verdict(one, report)
            place = (path, one.where.line)
            out.reached[place] = _worse(out.reached.get(place, "legal"), here)
            if here == "unknown":
                out.unknown[_why(one, report)] += entry.count
            else:
                out.checked += entry.count
                verdict = _worse(verdict, here)
            for finding in _findings(one, report, path, run):
                if out.tell(run.case, finding, codes) and finding.code == "LC211":
                    beyond |= {(kernel, one.where.file, one.where.line) for kernel in entry.kernels}
        for path, line in (line for one in run.trace.elements for line in one.lines):
            out.reached.setdefault((shown(path), line), "legal")  # `basic_copy_if` is loads and stores
            out.built.add((shown(path), line))
        stacks = {frame for one in run.trace.copies for frame in (one.where, *one.stack)}
        out.built.update((shown(frame.file), frame.line) for frame in stacks)
        out.accesses += sum(one.accesses for one in run.trace.elements)
        out.accesses_known += sum(one.known for one in run.trace.elements)
        for finding in _orders(run, beyond):
            if out.tell(run.case, finding, codes):
                verdict = _worse(verdict, finding.severity)
        broken = list(failures(run))
        if broken and "rejected" in run.case.expect and verdict != "rejected":
            verdict = "rejected" if any(map(_refuses, run.trace.failures)) else verdict
            broken = [] if verdict == "rejected" else broken
        out.findings += broken
        if undecided(run, verdict):
            out.undecided.append(run.case.name)
        surprise = None if broken else unexpected(run, verdict, frozenset(codes))
        if surprise is not None:
            out.findings.append(surprise)
    out.findings = list(_alike(_once(out.findings)))
    return out


def _refuses(failure: TraceFailure) -> bool:
    """Whether compiler or DSL said no; a case that cannot be run at all was not refused."""
    own = failure.kind == "raised" and failure.message.startswith(_OF_THE_DSL)
    return own or failure.kind in UNCOMPILED


def _report(one: TracedCopy, known: dict[Any, Report | None]) -> Report | None:
    if one.copy is None:
        return None
    if one.judged_by not in known:
        known[one.judged_by] = judge_traced(one)
    return known[one.judged_by]


def _verdict(one: TracedCopy, report: Report | None) -> str:
    """The compiler is the judge of what it refuses."""
    if one.refused is not None:
        return "rejected"
    return "unknown" if report is None else report.verdict


def _findings(one: TracedCopy, report: Report | None, path: str, run: CaseRun) -> list[LintFinding]:
    line, column, origin = one.where.line, one.where.column, run.case.name
    through = told_of_callers(one.stack, one.where)
    found: list[LintFinding] = []
    if report is not None:
        found = [
            of_report(finding, report, path, (line, column), origin=origin)
            for finding in report.findings
            if finding.severity in _REPORTED
        ]
    if one.refused is not None and not any(finding.severity == "rejected" for finding in found):
        title = f"the compiler refuses it: {one.refused}"
        found.append(LintFinding("LC100", "rejected", path, line, max(1, column), title, origin=origin))
    return [
        replace(finding, message=" ".join((finding.message, through)).strip(),
                evidence={**finding.evidence, "kernel": one.kernel, "arch": one.arch})
        for finding in found
    ]  # fmt: skip


def _orders(run: CaseRun, beyond: Collection[tuple[str, str, int]]) -> Iterator[LintFinding]:
    """What nothing orders in the case's kernels, at the later of the two places."""
    for findings in (one.findings for one in run.trace.told):
        for finding in findings:
            place = finding.places[min(1, len(finding.places) - 1)]
            where, through = place.where, told_of_callers(place.stack, place.where)
            evidence = {**finding.evidence, "places": [str(one.where) for one in finding.places]}
            message = _mended_first(finding, evidence, beyond)
            yield LintFinding(
                finding.code, finding.severity, shown(where.file), max(1, where.line), max(1, where.column),
                finding.title, " ".join((message, through)).strip(), evidence=evidence,
                origin=run.case.name,
            )  # fmt: skip


def _mended_first(
    finding: KernelFinding, evidence: dict[str, Any], beyond: Collection[tuple[str, str, int]]
) -> str:
    """The message of a finding, without its remedy where a copy in it is one of those `beyond` their tiles.

    These are known by kernel, file and line. What such a copy writes may meet an access by that fault alone,
    and then no wait mends it.
    """
    kernel = evidence.get("kernel")
    for where in (one.where for one in finding.places[:2]):
        if finding.code.startswith("LC5") and (kernel, where.file, where.line) in beyond:
            evidence.pop("missing", None)
            told = finding.message.partition("Missing: ")[0]
            cause = f"First mend LC211 at {shown(where.file)}:{where.line}"
            return f"{told}{cause}: the copy moves more than its tile has, perhaps over these bytes."
    return finding.message


def _why(one: TracedCopy, report: Report | None) -> str:
    """Why a copy is unknown, in a few words."""
    if one.copy is None:
        return one.missing or "its types cannot be read"
    for finding in report.findings if report is not None else ():
        if finding.severity == "unknown":
            return f"{finding.code} {finding.title}"
    return one.missing or "not enough is static"


def _worse(a: str, b: str) -> str:
    return max(a, b, key=VERDICTS.index)


def _once(findings: list[LintFinding]) -> list[LintFinding]:
    """One finding a place, code and title, however many cases show it; the evidence names them."""
    found: dict[Any, LintFinding] = {}
    cases: dict[Any, list[str]] = {}
    for finding in findings:
        key = (finding.path, finding.line, finding.column, finding.code, finding.title)
        found.setdefault(key, finding)
        cases.setdefault(key, []).append(finding.origin)
    return [
        replace(finding, evidence={**finding.evidence, "cases": list(dict.fromkeys(cases[key]))})
        for key, finding in found.items()
    ]


def _alike(findings: Iterable[LintFinding]) -> Iterator[LintFinding]:
    """Of slow copies of a place whose titles differ in numbers alone the worst, which names the others.

    How many there are depends on the shapes that a suite happens to build.
    """
    groups: dict[Any, list[LintFinding]] = {}
    for finding in findings:
        title = _NUMBER.sub("", finding.title) if finding.severity == "slow" else finding.title
        key = (finding.path, finding.line, finding.column, finding.code, finding.severity, title)
        groups.setdefault(key, []).append(finding)
    for same in groups.values():
        worst = max(same, key=lambda one: (one.evidence.get("ratio", 0), one.title))
        others = sorted(one.title for one in same if one is not worst)
        if not others:
            yield worst
            continue
        named = "; ".join(others[:_MOST_ALIKE]) + ("; ..." if len(others) > _MOST_ALIKE else ".")
        message = f"{worst.message} {many(len(others), 'copy', 'copies')} more there: {named}"
        cases = dict.fromkeys(case for one in same for case in one.evidence["cases"])
        evidence = {**worst.evidence, "alike": others, "cases": list(cases)}
        yield replace(worst, message=message, evidence=evidence)
