"""A trace whose places are the files that an edit writes: behind links, and for an overlay its project's."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from layoutcheck.sources.shared_uses import SharedReport
from layoutcheck.sources.traced import ElementReport, Frame, KernelPlace, OperandReport, OrderReport, Trace

_Told = TypeVar("_Told", OrderReport, ElementReport, OperandReport)


def located(trace: Trace, there: str = "", project: str = "") -> Trace:
    """The trace with every place in the file itself; files below `there` are those of `project`."""

    @cache
    def path(file: str) -> str:
        real = os.path.realpath(file) if Path(file).is_file() else file
        return project + real[len(there) :] if there and real.startswith(there + os.sep) else real

    def frame(one: Frame) -> Frame:
        return replace(one, file=path(one.file))

    def place(one: KernelPlace) -> KernelPlace:
        return replace(one, where=frame(one.where), stack=tuple(map(frame, one.stack)))

    def told(reports: tuple[_Told, ...]) -> tuple[_Told, ...]:
        return tuple(
            replace(
                one,
                findings=tuple(
                    replace(finding, places=tuple(map(place, finding.places))) for finding in one.findings
                ),
            )
            for one in reports
        )

    def uses(one: OrderReport) -> OrderReport:
        if not isinstance(one, SharedReport):
            return one
        lines = tuple(use._replace(file=path(use.file)) for use in one.uses.lines)
        pairs = one.uses.unread
        if pairs is not None:
            pairs = tuple(
                each._replace(
                    first=(path(each.first[0]), each.first[1]), second=(path(each.second[0]), each.second[1])
                )
                for each in pairs
            )
        return replace(one, uses=replace(one.uses, lines=lines, unread=pairs))

    return replace(
        trace,
        copies=tuple(
            replace(one, where=frame(one.where), stack=tuple(map(frame, one.stack))) for one in trace.copies
        ),
        failures=tuple(
            replace(one, where=one.where and frame(one.where), stack=tuple(map(frame, one.stack)))
            for one in trace.failures
        ),
        orders=tuple(map(uses, told(trace.orders))),
        elements=tuple(
            replace(one, inside=tuple((path(file), line, move) for file, line, move in one.inside))
            for one in told(trace.elements)
        ),
        operands=told(trace.operands),
    )
