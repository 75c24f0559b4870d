"""A judged trace as what an editor says of lines: messages, hints at a line's end, reports to hover over."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from layoutcheck.analysis.summary import issued
from layoutcheck.check import Report
from layoutcheck.lint.resolve import TILED
from layoutcheck.patching.program import Program, Site
from layoutcheck.regular import regular_lines
from layoutcheck.reports import order, text
from layoutcheck.reports.groups import SHOWN, subject
from layoutcheck.reports.run_page import cost_of
from layoutcheck.reports.style import Style
from layoutcheck.reports.trace import JudgedTrace, refusal
from layoutcheck.sources.traced import Distinct, Frame
from layoutcheck.syntax import name_of

_TILES = ("local_tile", "zipped_divide", "flat_divide")


@dataclass(frozen=True, slots=True)
class Said:
    """A finding at a line; `column` counts from 1, 0 where it is not known."""

    line: int
    column: int
    severity: str
    code: str
    message: str


@dataclass(slots=True)
class Lines:
    """What the last trace says of one file: its text then, findings, hints and reports by line."""

    before: list[str]
    said: list[Said] = field(default_factory=list)
    hints: dict[int, str] = field(default_factory=dict)
    reports: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def failing(self) -> bool:
        """Whether a repair may help."""
        return any(one.severity in ("rejected", "wrong") for one in self.said)


def lines_of(judged: JudgedTrace) -> dict[str, Lines]:
    """What a trace says of each of its files, by path."""
    found: dict[str, Lines] = {}

    def at(path: str) -> Lines:
        if path not in found:
            found[path] = Lines(regular_lines(path))
        return found[path]

    def say(where: Frame | None, severity: str, code: str, message: str) -> None:
        if where is not None and where.file:
            at(where.file).said.append(Said(where.line, where.column, severity, code, message))

    for failure in judged.uncompiled:
        one = refusal(failure)
        say(failure.where, "rejected", one.code, f"{one.title}. {one.message}")
    for failure in judged.broken:
        say(failure.where, "unknown", "LC911", f"the trace ended here: {failure.message}")
    for finding, _ in order.distinct(judged.trace.told):
        others = "; ".join(f"{one.what}: line {one.where.line}" for one in finding.places)
        message = f"{finding.title}. {finding.message} ({others})"
        say(order.main(finding).where, finding.severity, finding.code, message)
    for seen, report in judged.reports:
        where = seen.first.where
        if report is not None and where.file:
            _copy(at(where.file), seen, report)
    program = Program({path: "\n".join(lines.before) for path, lines in found.items() if _parses(lines)})
    for seen, report in judged.reports:
        if report is not None:
            for path, line, hint in _made_by(program, seen, report):
                at(path).hints.setdefault(line, hint)
    return found


def _copy(lines: Lines, seen: Distinct, report: Report) -> None:
    """A copy: its findings, its hint, its report."""
    where = seen.first.where
    for finding in report.findings:
        if finding.severity in SHOWN:
            fix = f" Fix: {report.fixes[0].title}." if report.fixes else ""
            message = f"{finding.title}. {finding.message}{fix}"
            lines.said.append(Said(where.line, where.column, finding.severity, finding.code, message))
    width = issued(report.analysis).get("width_bits")
    words = [report.verdict, f"{width} bits" if width else "", cost_of(seen, report)]
    lines.hints.setdefault(where.line, ", ".join(word for word in words if word))
    head = f"**{report.verdict}** {subject(seen)}"
    lines.reports[where.line].append(f"{head}\n\n```text\n{text.render([report], Style())}```")


def _made_by(program: Program, seen: Distinct, report: Report) -> Iterator[tuple[str, int, str]]:
    """(file, line, hint) of the tiled copy and of the tiles that the text names as this copy's."""
    tiling = report.copy.tiling
    where = seen.first.where
    site = program.copy_at(where.file, where.line) if tiling is not None else None
    if site is None or tiling is None:
        return
    made = _nearest(program, program.argument(site, "atom"), TILED)
    if made is not None:
        threads = f", {tiling.block_threads} launched" if tiling.block_threads is not None else ""
        yield made.path, _end(made), f"thread, value {tiling.tiled.layout_tv}{threads}"
    for side, memref in (("src", tiling.src), ("dst", tiling.dst)):
        tile = _nearest(program, program.argument(site, side), _TILES)
        if tile is not None:
            yield tile.path, _end(tile), f"tile {memref.layout} {memref.dtype} {memref.space}"


def _nearest(program: Program, start: Site | None, names: tuple[str, ...]) -> Site | None:
    """The one call of these that an expression comes from; None where there are more."""
    if start is None:
        return None
    found = {
        id(site.node): site
        for site in program.reached(start)
        if isinstance(site.node, ast.Call) and name_of(site.node) in names
    }
    return next(iter(found.values())) if len(found) == 1 else None


def _end(site: Site) -> int:
    return site.node.end_lineno or site.node.lineno


def _parses(lines: Lines) -> bool:
    try:
        ast.parse("\n".join(lines.before))
    except (SyntaxError, ValueError):
        return False
    return True


class Moved:
    """Lines of `before` in `now`: the same ones in front of and behind what changed.

    Lines count from 1. What stands between the first and the last difference has no place any more.
    """

    def __init__(self, before: Sequence[str], now: Sequence[str]) -> None:
        least = min(len(before), len(now))
        head = 0
        while head < least and before[head] == now[head]:
            head += 1
        tail = 0
        while tail < least - head and before[-1 - tail] == now[-1 - tail]:
            tail += 1
        self._head, self._behind, self._by = head, len(before) - tail, len(now) - len(before)
        self._count = len(before)

    def line(self, line: int) -> int | None:
        """The line's number now; None where it was edited, and where there was no such line."""
        if line > self._count:
            return None
        if line <= self._head:
            return line
        return line + self._by if line > self._behind else None
