"""What `layoutcheck lint` found: for eyes, as ruff prints it; or as one JSON object; or as annotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict

from layoutcheck.digits import many
from layoutcheck.findings import json_lines, shortened
from layoutcheck.formats import check_format
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.result import Counts, Result
from layoutcheck.reports.style import VERDICT_COLOUR, Style, one_line

_NEVER_SHOWN = 5  # files or functions


def renderer(name: str, command: str = "lint") -> Callable[[Result, Style], str]:
    """The renderer of a format. Raises InputError where the command has none."""
    check_format(command, name)
    return {"text": text, "json": as_json, "github": github, "sarif": sarif}[name]


def github(result: Result, style: Style) -> str:
    """Workflow commands; then, for the log of the job, what was looked at and what was not."""
    from layoutcheck.reports.github import render_located
    from layoutcheck.reports.located import of_lint

    told = "".join(f"{one_line(line)}\n" for line in summary(result, Style(ascii=style.ascii)))
    return render_located(of_lint(result.findings), style) + told.replace(
        "##[", "## ["
    )  # no command of its own


def sarif(result: Result, style: Style) -> str:
    """A SARIF log."""
    from layoutcheck.reports.located import of_lint
    from layoutcheck.reports.sarif import render_located

    return render_located(of_lint(result.findings), style)


def as_json(result: Result, style: Style) -> str:
    """One object: findings, counts and notes."""
    made = {
        "findings": [asdict(finding) for finding in result.findings],
        "counts": {
            **asdict(result.counts),
            **{
                name: {p: list(lines) for p, lines in getattr(result.counts, name).items()}
                for name in ("never", "uncalled", "untaken")
            },
            "because": {
                path: {reason: list(lines) for reason, lines in found.items()}
                for path, found in result.counts.because.items()
            },
        },
        "notes": list(result.notes),
        "runs": [asdict(run) for run in result.runs],
    }
    return json_lines([made], ascii_=style.ascii)


def text(result: Result, style: Style) -> str:
    """Findings, one or a few lines each; then what was looked at and what was not."""
    lines = [line for finding in result.findings for line in _finding(finding, style)]
    if lines:
        lines.append("")
    lines += summary(result, style)
    return "\n".join(map(one_line, lines)) + "\n"


def _finding(finding: LintFinding, style: Style) -> list[str]:
    place = f"{style(finding.path, 'bold')}:{finding.line}:{finding.column}:"
    colour = VERDICT_COLOUR.get(finding.severity, "blue")
    head = f"{place} {style(f'{finding.severity}[{finding.code}]', 'bold', colour)} {finding.title}"
    lines = [head]
    if finding.message:
        lines += [style(line, "dim") for line in style.wrap(shortened(finding.message), "    ")]
    return lines


def summary(result: Result, style: Style) -> list[str]:
    """What was looked at and what was not, a line each; last the number of findings."""
    counts = result.counts
    unread = "; the others are not parsed" if counts.relevant < counts.files else ""
    lines = [
        f"{many(counts.files, 'file')} ({counts.relevant} with CuTe, {many(counts.lines, 'line')}{unread}), "
        f"{many(counts.sites, 'copy site')}: {_sites(counts)}."
    ]
    if counts.cases:
        lines.append(
            f"{_ran(result)} traced: {many(counts.kernels, 'kernel')}, {_checked(counts)}"
            + (f", {many(counts.as_meant, 'finding')} as expected" if counts.as_meant else "")
            + "."
        )
    if counts.copies:
        from layoutcheck.reports.trace import tiers  # loads the model, which reading does not need

        lines.append(f"{tiers(counts.address_sources)}.")
    lines += [f"unknown: {_copies(number)}: {why}" for why, number in counts.unknown.items()]
    lines += [f"skipped: {many(number, 'test')}: {why}" for why, number in counts.skipped.items()]
    lines += _never(counts)
    lines += [f"note: {note}" for note in result.notes]
    left = [f"{counts.silenced} silenced by comments"] * bool(counts.silenced)
    left += [f"{counts.known} in the baseline"] * bool(counts.known)
    left += [f"{counts.unselected} not selected"] * bool(counts.unselected)
    tail = f" ({', '.join(left)})" if left else ""
    severities = Counter(finding.severity for finding in result.findings)
    found = ", ".join(severity_count(one, number) for one, number in severities.most_common())
    lines.append(
        style(f"{many(len(result.findings), 'finding')}{f': {found}' if found else ''}{tail}.", "bold")
    )
    return lines


def severity_count(severity: str, number: int) -> str:
    """How many findings of a severity: "2 wrong", but "2 notes"."""
    return many(number, severity) if severity == "note" else f"{number} {severity}"


def _checked(counts: Counts) -> str:
    """What was checked of the kernels: copies, and loads and stores of single elements."""
    copies = f"{counts.checked} of {_copies(counts.copies)}" if counts.copies else ""
    known = f"{counts.accesses_known} of {many(counts.accesses, 'element access')}" if counts.accesses else ""
    said = " and ".join(filter(None, (copies, known)))
    return f"{said} checked" if said else "no copy and no element access in them"


def _ran(result: Result) -> str:
    programs = sum(run.program for run in result.runs)
    cases = result.counts.cases - programs
    return ", ".join(
        [many(programs, "program")] * bool(programs) + [many(cases, "case")] * bool(cases or not programs)
    )


def _sites(counts: Counts) -> str:
    """How many sites were traced: of all, and of those that a program may reach."""
    never = sum(map(len, counts.never.values()))
    others = counts.sites - counts.traced - never  # left to other parts of a run
    called = counts.sites - sum(map(len, counts.uncalled.values()))
    traced = f"{counts.traced} traced"
    if counts.traced and never and not others:
        share = f"{100 * counts.traced // counts.sites} %"
        if called < counts.sites:
            share += f", {100 * counts.traced // called} % of the {called} that a program may reach"
        traced += f" ({share})"
    parts = [traced] * bool(counts.cases or others)
    parts += [f"{never} never traced"] * (not others)
    return ", ".join(parts)


def _never(counts: Counts) -> list[str]:
    """The sites that nothing looked at, where cases were traced: why, as far as it is known; and where."""
    if not counts.cases:
        return []
    whole = sum(map(len, counts.never.values()))
    lines = []
    for places, why in (
        (counts.uncalled, "in functions that no program calls, or in notebooks"),
        (counts.untaken, "behind conditions that no kernel met"),
    ):
        if places:
            number = sum(map(len, places.values()))
            lines.append(f"never traced: {number} of {whole} {why}: {_named(list(places))}")
    left = [(path, at, why) for path, found in counts.because.items() for why, at in found.items()]
    if not (counts.because or counts.uncalled or counts.untaken):
        left = [(path, at, "") for path, at in counts.never.items()]
    lines += [
        f"never traced: {path}:{','.join(map(str, at))}" + (f": {why}" if why else "")
        for path, at, why in left[:_NEVER_SHOWN]
    ]
    rest = len(left) - _NEVER_SHOWN
    if rest > 0:
        lines.append(f"never traced: {many(rest, 'more place')} (--format json lists them)")
    return lines


def _named(places: list[str]) -> str:
    more = f" and {len(places) - _NEVER_SHOWN} more" if len(places) > _NEVER_SHOWN else ""
    return ", ".join(places[:_NEVER_SHOWN]) + more


def statistics(result: Result, style: Style) -> str:
    """How often each code was found."""
    counted = Counter((finding.code, finding.severity) for finding in result.findings)
    rows = sorted(counted.items(), key=lambda row: (-row[1], row[0]))
    return (
        "".join(f"{number:6}  {code}  {severity}\n" for (code, severity), number in rows) or "nothing found\n"
    )


def _copies(number: int) -> str:
    return many(number, "copy", "copies")
