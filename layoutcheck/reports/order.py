"""Findings about places of a kernel, of order, operands and element accesses, for eyes and for machines."""

from __future__ import annotations

import linecache
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from layoutcheck.digits import many
from layoutcheck.findings import SEVERITIES, rank, shortened
from layoutcheck.reports.located import Located
from layoutcheck.reports.pictures.order import drawn_text
from layoutcheck.reports.style import Style, kernel_name
from layoutcheck.sources.callers import called_from, shown
from layoutcheck.sources.traced import (
    HOST,
    KEPT,
    ON_THE_CALLER,
    ElementReport,
    Frame,
    KernelFinding,
    KernelPlace,
    OperandReport,
    OrderReport,
    Told,
    Trace,
)

FAILING = ("wrong",)
SHOWN = ("wrong", "slow")
_MOST_NOTES = 6
_ONE_STATEMENT = ("wait-count", "early-wait", "no-barrier", "no-wait")
_COLOURS = {"wrong": "red", "slow": "yellow", "note": "blue"}


def distinct(orders: Iterable[Told]) -> list[tuple[KernelFinding, list[str]]]:
    """Each finding once, with the kernels that have it: worst first, then by place."""
    found: dict[Any, tuple[KernelFinding, list[str]]] = {}
    for order in orders:
        for finding in order.findings:
            key = finding.code, finding.lines
            kernels = found.setdefault(key, (finding, []))[1]
            if order.kernel not in kernels:
                kernels.append(order.kernel)
    return sorted(found.values(), key=lambda one: _order(one[0]))


def _order(finding: KernelFinding) -> tuple[Any, ...]:
    where = main(finding).where
    worst = SEVERITIES.index(finding.severity)
    return worst, where.file, where.line, where.column, *rank(finding.code, finding.severity)


def main(finding: KernelFinding) -> KernelPlace:
    """The place that a finding is shown at: the later access, or the wait."""
    return finding.places[min(1, len(finding.places) - 1)]


class Caused(NamedTuple):
    """A finding, the kernels that have it, and the others that one change of the same statement mends."""

    finding: KernelFinding
    kernels: list[str]
    others: tuple[KernelFinding, ...] = ()

    @property
    def elsewhere(self) -> str:
        """Where the others are, the access before each; "" where there are none."""
        own = main(self.finding).where.file
        pairs = [(main(one).where, one.places[0].where) for one in self.others]
        said = [" after ".join(beside(own, where) for where in pair) for pair in pairs]
        return f"and at {many(len(said), 'more place')}: {', '.join(said)}" if said else ""


def beside(own: str, where: Frame) -> str:
    """A line in short: its file is named where it is not the one that the report is about."""
    return f"{'' if where.file == own else Path(where.file).name}:{where.line}"


def caused(orders: Iterable[Told], everything: bool = False) -> list[Caused]:
    """The findings by what causes them, a cause's clearest first: in the order of `distinct`."""
    groups: dict[Any, list[tuple[KernelFinding, list[str]]]] = {}
    for finding, kernels in distinct(orders):
        key = (finding.code, finding.lines) if everything else _cause(finding)
        groups.setdefault(key, []).append((finding, kernels))
    return [_together(group) for group in groups.values()]


def _cause(finding: KernelFinding) -> tuple[Any, ...]:
    """The statement that is there and does not do it, and why not: one for all findings of that cause."""
    facts, there = finding.evidence, finding.places[2:]
    if not there or facts.get("cause") not in _ONE_STATEMENT:
        return finding.code, finding.lines
    why = (facts.get(name) for name in ("kind", "cause", "in_turn", "parity", "pending"))
    return finding.code, finding.severity, *why, *((one.where, one.stack) for one in there)


def _together(group: Sequence[tuple[KernelFinding, list[str]]]) -> Caused:
    """As the one that mends all says it, and of those one whose second access is no copy again."""
    findings = [finding for finding, _ in group]
    first = min(findings, key=lambda one: (one.evidence.get("most", 0), main(one).kind == one.places[0].kind))
    kernels = list(dict.fromkeys(name for _, names in group for name in names))
    return Caused(first, kernels, tuple(one for one in findings if one is not first))


def render(orders: Sequence[Told], style: Style) -> Iterator[tuple[str, list[str]]]:
    """The findings, notes among them only where everything is asked for: severity and lines."""
    for one in caused(orders, style.everything):
        if one.finding.severity in SHOWN or style.everything:
            yield one.finding.severity, [*_finding(one, style), ""]


def _finding(told: Caused, style: Style) -> Iterator[str]:
    finding, kernels = told.finding, told.kernels
    first = f"{finding.severity}[{finding.code}]: "
    lines = style.wrap(finding.title, "  ", first)
    word = style(finding.severity, "bold", _COLOURS.get(finding.severity, "blue"))
    yield word + style(lines[0][len(finding.severity) :], "bold")
    yield from (style(line, "bold") for line in lines[1:])
    through = [called_from(place.stack, place.where) for place in finding.places]
    for place, above, below in zip(finding.places, through, [*through[1:], None], strict=True):
        yield from _place(place, "" if above == below else above, style)
    yield ""
    if finding.evidence.get("timeline") and len(finding.places) > 1:
        yield from (
            line if " x " not in line else style(line, "bold") for line in drawn_text(finding, style.width)
        )
        yield ""
    yield from style.wrap(shortened(finding.message), "  ")
    if told.others:
        yield from style.wrap(told.elsewhere, "    ", "  ")
    if len(kernels) > 1:
        yield from style.wrap(f"in {len(kernels)} kernels", "  ")


def _place(place: KernelPlace, through: str, style: Style) -> Iterator[str]:
    """Where it is and what it does there, and its callers: not where those of the next place are the same."""
    where = place.where
    if not where.file:
        yield style(f"  --> place unknown: {place.what}", "blue")
        return
    block = f", block {place.block}" if place.block else ""
    turns = f", turn {'.'.join(map(str, place.turns))}" if place.turns else ""
    who = "" if place.thread == HOST else f": thread {place.thread}{block}{turns}"
    yield style(f"  --> {shown(where.file)}:{where.line}", "blue") + f"  {place.what}{who}"
    source = linecache.getline(where.file, where.line).strip()
    if source:
        yield f"        {source[: style.width - 8]}"
    if through:
        yield from style.wrap(through, "        ")


def counts(orders: Sequence[OrderReport], style: Style) -> Iterator[str]:
    """What was checked, what was assumed, and what was not checked."""
    if not orders:
        return
    checked = [order for order in orders if not order.problem]
    found = distinct(orders)
    wrong = sum(finding.severity in FAILING for finding, _ in found)
    notes = len(found) - wrong
    events = sum(order.events for order in checked)
    most = max((order.threads * order.blocks for order in checked), default=0)
    said = f"order: {len(checked)} of {many(len(orders), 'kernel')} followed"
    if checked:
        said += f", with up to {many(most, 'thread')}, {events:,} accesses and synchronisations: "
        causes = sum(one.finding.severity in FAILING for one in caused(checked))
        said += f"{wrong} wrong{of_causes(wrong, causes)}, {many(notes, 'note')}{' (--all)' * bool(notes)}"
    yield from style.wrap(said, "    ", "  ")
    yield from noted(found, style)
    trips = sorted({count for order in checked for count in order.trips})
    if len(trips) > 1:
        yield from style.wrap(f"trip counts tried: {', '.join(map(str, trips))}", "      ", "    ")
    parts = [s for order in checked for s in order.unchecked]
    yield from _sentences("not checked", [*_problems(orders), *parts], style)
    yield from _sentences("assumed", [s for order in checked for s in order.assumed], style)


def of_causes(findings: int, causes: int) -> str:
    """How many causes so many findings have, where those are fewer."""
    return f" of {many(causes, 'cause')}" if causes < findings else ""


def noted(found: Iterable[tuple[KernelFinding, list[str]]], style: Style) -> Iterator[str]:
    """A line for each note, where notes are not shown in full."""
    notes = [(finding, kernels) for finding, kernels in found if finding.severity not in SHOWN]
    for finding, kernels in () if style.everything else notes[:_MOST_NOTES]:
        where = main(finding).where
        launch = _launch(kernels, main(finding).stack) if finding.code == "LC203" else ""
        place = f"{Path(where.file).name}:{where.line}" if where.file else ""
        at = f"{place}: " if place and place not in finding.title else ""
        yield from style.wrap(f"note[{finding.code}] {at}{finding.title}{launch}", "      ", "    ")
    if len(notes) > _MOST_NOTES and not style.everything:
        yield f"    {len(notes) - _MOST_NOTES} more notes"


def _launch(kernels: Sequence[str], stack: Sequence[Frame]) -> str:
    """Where a kernel is launched: a line that says so, or one of the function that gave it its name."""
    said = (one for one in stack if ".launch" in linecache.getline(one.file, one.line))
    named = (one for one in stack if f"_{one.function.rpartition('.')[2]}_" in kernels[0])
    at = next(said, next(named, None))
    return f"; launched at {Path(at.file).name}:{at.line}" if at is not None else ""


def _problems(orders: Iterable[OrderReport]) -> Iterator[str]:
    """Why kernels were not followed, each reason once."""
    by_problem: dict[str, dict[str, None]] = {}
    for order in filter(lambda order: order.problem, orders):
        by_problem.setdefault(order.problem, {})[kernel_name(order.kernel)] = None
    for problem, (first, *others) in by_problem.items():
        more = f" and {many(len(others), 'other kernel')}" if others else ""
        yield f"{first}{more}: {problem}"


def all_counts(trace: Trace, style: Style) -> Iterator[str]:
    """What was looked at beside the copies of a trace, and what was not."""
    yield from element_counts(trace.elements, style)
    yield from operand_counts(trace.operands, style)
    yield from counts(trace.orders, style)


def _sentences(title: str, sentences: Iterable[str], style: Style) -> Iterator[str]:
    each = list(dict.fromkeys(sentences))
    for sentence in each[:_MOST_NOTES]:
        yield from style.wrap(f"{title}: {sentence}", "      ", "    ")
    if len(each) > _MOST_NOTES:
        yield f"    {title}: {len(each) - _MOST_NOTES} more (--format json lists them)"


def operand_counts(reports: Sequence[OperandReport], style: Style) -> Iterator[str]:
    """How many products there are, what was found, and what was not checked."""
    total = sum(one.products for one in reports)
    found = distinct(reports)
    if not found and not any(one.products or one.unchecked for one in reports):
        return
    wrong = sum(finding.severity in FAILING for finding, _ in found)
    notes = sum(finding.severity == "note" for finding, _ in found)
    followed = sum(one.followed for one in reports)
    what = f"operands: {followed} of {total} products followed" if total else "registers"
    said = f"{what}: {wrong} wrong"
    said += f", {many(notes, 'note')} (--all)" if notes else ""
    yield from style.wrap(said, "    ", "  ")
    yield from noted(found, style)
    yield from _sentences("not checked", (s for one in reports for s in one.unchecked), style)


def element_counts(reports: Sequence[ElementReport], style: Style) -> Iterator[str]:
    """How many element accesses there are, what was found, and what was not checked."""
    total = sum(one.accesses for one in reports)
    if not total and not any(one.problem for one in reports):
        return
    verdicts: Counter[str] = Counter()
    unchecked: Counter[str] = Counter()
    for one in reports:
        verdicts.update(dict(one.verdicts))
        unchecked.update(dict(one.unchecked))
        unchecked.update([f"{kernel_name(one.kernel)}: {one.problem}"] if one.problem else [])
    said = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())) or "none known"
    yield from style.wrap(
        f"element accesses: {sum(one.known for one in reports)} of {total} known for all threads: {said}",
        "    ", "  ",
    )  # fmt: skip
    yield from noted(distinct(reports), style)
    groups = alike(unchecked.items())
    for words, count, _ in groups[:_MOST_NOTES]:
        said = f"not checked: {count}: {words}"
        if words.startswith(ON_THE_CALLER):
            accesses = many(count, "access rests", "accesses rest")
            said = f"{accesses} on the caller to stay in bounds: {words.removeprefix(ON_THE_CALLER)}"
        yield from style.wrap(said, "      ", "    ")
    if len(groups) > _MOST_NOTES:
        yield f"    not checked: {len(groups) - _MOST_NOTES} more reasons (--format json lists them)"


def located(orders: Sequence[Told]) -> list[Located]:
    """Each finding at its own line, with paths from where the run started."""
    return [
        Located(
            finding.code,
            finding.severity,
            finding.title,
            f"{finding.message} {told.elsewhere}".rstrip(),
            *spot(main(finding).where),
            related=tuple(place for one in (finding, *told.others) for place in _related(one)),
            evidence=finding.evidence,
        )
        for told in caused(orders)
        if (finding := told.finding).severity in SHOWN
    ]


def _related(finding: KernelFinding) -> Iterator[tuple[str, int, int, str]]:
    """All places of a finding, each followed by its callers."""
    for place in finding.places:
        turns = f", turn {'.'.join(map(str, place.turns))}" if place.turns else ""
        block = f" of block {place.block}" if place.block else ""
        who = "the host" if place.thread == HOST else f"thread {place.thread}{block}{turns}"
        said = f"{who} {place.what}"
        frames = (place.where, said), *((one, f"called from here: {said}") for one in place.stack)
        for frame, words in frames:
            at = spot(frame)
            if at[0]:
                yield *at, words


def spot(where: Frame) -> tuple[str, int, int]:
    """Path, line and column as annotations have them; an empty path where there is none."""
    if not where.file:
        return "", 0, 0
    return Path(os.path.relpath(where.file)).as_posix(), where.line, max(1, where.column)


# Where the example begins: "... its own: with 64 beside 128 it is left", "...: thread 8 of block (3,2,0) ..."
_EXAMPLE = re.compile(r": (?:with [0-9]|thread [0-9])")


class Alike(NamedTuple):
    """The first of them in words, how often all of them together, and each."""

    words: str
    times: int
    reasons: tuple[str, ...]


def alike(reasons: Iterable[tuple[str, int]]) -> list[Alike]:
    """Reasons with their counts, those that differ in their example alone as one; the most frequent first."""
    groups: dict[tuple[str, bool], list[tuple[str, int]]] = {}
    for reason, count in reasons:
        groups.setdefault((_EXAMPLE.split(reason, maxsplit=1)[0], KEPT in reason), []).append((reason, count))
    found = []
    for members in groups.values():
        members.sort(key=lambda one: -one[1])
        first = members[0][0]
        more = f"; {len(members) - 1} more such, with other numbers" if len(members) > 1 else ""
        found.append(Alike(first + more, sum(n for _, n in members), tuple(reason for reason, _ in members)))
    return sorted(found, key=lambda one: -one.times)
