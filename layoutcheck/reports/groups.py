"""Copies of a trace of which the same is found, as one: those of a place, and those of a function."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from layoutcheck.check import Report
from layoutcheck.digits import many
from layoutcheck.reports.order import beside
from layoutcheck.sources.callers import called_from, shown
from layoutcheck.sources.traced import Distinct, Frame

SHOWN = ("rejected", "wrong", "slow")


class Group(NamedTuple):
    """The number of its first copy, that with the count and kernels of its place, the other places."""

    number: int
    one: Distinct
    report: Report | None
    others: tuple[Frame, ...]

    @property
    def elsewhere(self) -> str:
        """Where else the same is found; "" where it is nowhere."""
        lines = ", ".join(beside(self.one.first.where.file, where) for where in self.others)
        return f"and at {many(len(self.others), 'more place')}: {lines}" if lines else ""

    @property
    def subject(self) -> str:
        """The line above its report."""
        return f"{subject(self.one)} {self.elsewhere}".rstrip()


def subject(one: Distinct) -> str:
    """Where it stands, how often, and who called it."""
    first = one.first
    notes = []
    if one.count > 1:
        notes.append(f"{one.count} alike")
    if len(one.kernels) > 1:
        notes.append(f"in {len(one.kernels)} kernels")
    if first.in_dsl:
        notes.append("by DSL library code called there")
    if through := called_from(first.stack, first.where):
        notes.append(through)
    place = f"{shown(first.where.file)}:{first.where.line}" if first.where.file else "place unknown"
    return f"{place}{f':{first.where.column}' if first.where.column else ''}" + (
        f" ({'; '.join(notes)})" if notes else ""
    )


def grouped(reports: Sequence[tuple[Distinct, Report | None]], alone: Collection[int]) -> list[Group]:
    """The groups by their first copies; the copies with the numbers given are by themselves."""
    groups: list[list[int]] = []
    known: dict[Any, list[int]] = {}
    for n, (one, report) in enumerate(reports):
        group: list[int] = []
        if report is not None and report.findings and n not in alone and report.verdict in SHOWN:
            keys = [(one.first.where, tuple(each.title for each in report.findings)), _found(one, report)]
            group = next((known[key] for key in keys if key in known), group)
            known |= dict.fromkeys(keys, group)
        if not group:
            groups.append(group)
        group.append(n)
    return [_group(reports, group) for group in groups]


def _found(one: Distinct, report: Report) -> str:
    """What is found in which numbers, of which layouts: a store is found what its load is."""
    numbers = [
        (each.code, {name: value for name, value in each.evidence.items() if name != "op"})
        for each in report.findings
        if each.severity in SHOWN
    ]
    copy, tiling = report.copy, report.copy.tiling
    views = sorted(f"{view.dtype} {view.space} {view.layout}" for view in (copy.src, copy.dst))
    return repr((one.first.where.file, one.first.stack, numbers, views, tiling and tiling.tiled))


def _group(reports: Sequence[tuple[Distinct, Report | None]], numbers: Sequence[int]) -> Group:
    (first, report), everywhere = reports[numbers[0]], [reports[n][0] for n in numbers]
    here = [one for one in everywhere if one.first.where == first.first.where]
    kernels = tuple(dict.fromkeys(name for one in here for name in one.kernels))
    places = tuple(dict.fromkeys(one.first.where for one in everywhere))
    return Group(
        numbers[0], replace(first, count=sum(one.count for one in here), kernels=kernels), report, places[1:]
    )
