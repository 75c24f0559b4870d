"""What `layoutcheck ci` found as one HTML page: findings in their source, programs, what was not seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from layoutcheck.digits import many
from layoutcheck.findings import SEVERITIES
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.result import Ran, Result
from layoutcheck.regular import regular_lines
from layoutcheck.reports.html import badge, document, table
from layoutcheck.reports.lint import summary
from layoutcheck.reports.pictures.svg import element, escape
from layoutcheck.reports.style import Style

_AROUND = 2  # lines of source above and below a finding


def render(result: Result, style: Style) -> str:
    """The page; it needs nothing else, and says the same without scripts."""
    counted = Counter(finding.severity for finding in result.findings)
    worst = next((each for each in SEVERITIES if counted[each]), "legal")
    *lines, said = summary(result, style)
    told = [element("p", escape(line)) for line in lines]
    heading = element("h1", badge(worst), element("span", escape(said)))
    body = [
        element("article", element("header", heading), *told),
        *_findings(result.findings),
        _programs(result.runs),
        _never(result),
    ]
    return document("layoutcheck ci", "", [part for part in body if part])


def _findings(findings: Sequence[LintFinding]) -> Iterator[str]:
    for path, group in groupby(findings, key=lambda finding: finding.path):
        lines = regular_lines(path)
        parts = [_finding(finding, lines) for finding in group]
        yield element("article", element("h2", element("code", escape(path))), *parts)


def _finding(finding: LintFinding, lines: Sequence[str]) -> str:
    first = max(1, finding.line - _AROUND)
    shown = [
        element("mark" if number == finding.line else "span", escape(f"{number:5}  {text}\n"))
        for number, text in enumerate(lines[first - 1 : finding.line + _AROUND], first)
    ]
    cases = finding.evidence.get("cases", ())
    head = element(
        "summary",
        badge(finding.severity, "small"), " ",
        element("code", escape(finding.code), class_="code"), " ",
        escape(f"line {finding.line}: {finding.title}"),
    )  # fmt: skip
    return element(
        "details",
        head,
        element("p", escape(finding.message), class_="message") if finding.message else "",
        element("pre", *shown) if shown else "",
        element("p", escape(f"seen in {', '.join(map(str, cases))}"), class_="quiet") if cases else "",
        class_="fix",
        open="" if finding.severity in ("rejected", "wrong") else None,
    )


def _programs(runs: Sequence[Ran]) -> str:
    if not runs:
        return ""
    head = ("program", "for", "kernels", "copies", "seconds", "how it ended")
    rows = [(run.name, run.arch, run.kernels, run.copies, _seconds(run), _ending(run)) for run in runs]
    shown = table([map(escape, row) for row in rows], head, class_="runs")
    return element("article", element("h2", "Programs and cases"), shown)


def _seconds(run: Ran) -> str:
    return "kept from before" if run.cached else f"{run.seconds:g}"


def _ending(run: Ran) -> str:
    ended = "; ".join(run.failures) or ("to its end" if run.kernels else "it built no kernel")
    skipped = f"{run.skipped} tests skipped" if run.skipped else ""
    return "; ".join(filter(None, (ended, skipped)))


def _never(result: Result) -> str:
    if not result.counts.never:
        return ""
    rows = [
        (element("code", escape(path)), escape(", ".join(map(str, lines))))
        for path, lines in result.counts.never.items()
    ]
    summary = element("summary", many(len(rows), "file"))
    shown = element("details", summary, table(rows, ("file", "lines"), class_="runs"))
    return element("article", element("h2", "Copy sites that no program reached"), shown)
