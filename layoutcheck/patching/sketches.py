"""Which fixes of traced copies are sketches, from the sources, without running anything.

A fix that is none may be tried by `trace --fix`, and the second trace proves it. A sketch is right for the
copy by itself; what it takes in the program, the program's text does not say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from layoutcheck.check import Fix, Report, repairs
from layoutcheck.errors import InputError
from layoutcheck.patching.causes import texts_of
from layoutcheck.patching.edits import candidates
from layoutcheck.patching.program import Program
from layoutcheck.patching.readers import ranked
from layoutcheck.patching.ways import moves_global, other_registers
from layoutcheck.sources.traced import Distinct

Reports = list[tuple[Distinct, Report | None]]


def labelled(reports: Sequence[tuple[Distinct, Report | None]]) -> Reports:
    """The reports; fixes are ranked with the time of a tile's other copies, sketches named so and last."""
    program = Program(dict(texts_of(one for one, report in reports if report is not None and report.fixes)))
    return [
        (one, report if report is None or not report.fixes else _labelled(program, reports, one, report))
        for one, report in reports
    ]


def _labelled(
    program: Program, reports: Sequence[tuple[Distinct, Report | None]], one: Distinct, report: Report
) -> Report:
    try:
        found = ranked(program, reports, one, report)
    except InputError:
        found = list(report.fixes)
    fixes = [replace(fix, sketch=_why(program, one, report, fix)) for fix in found]
    return replace(report, repairs=repairs(tuple(sorted(fixes, key=lambda fix: bool(fix.sketch)))))


def _why(program: Program, one: Distinct, report: Report, fix: Fix) -> str:
    try:
        site = program.copy_at(one.first.where.file, one.first.where.line)
        if site is None:
            return "the copy's statement is not at hand"
        if moves_global(report.copy, fix):
            return "what the global tensor's memory holds is its owner's"
        if other_registers(report, fix):
            return "whoever else uses the registers must take them so"
        if next(iter(candidates(program, report.copy, fix, site)), None) is None:
            return "no statement of the program was found that it changes"
    except InputError:  # a file that is not Python: a notebook's cell, text with magic
        return "the copy's statement is not at hand"
    return ""
