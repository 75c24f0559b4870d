"""One file: everything that its text alone says, its copy sites and kernels without one among it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from layoutcheck import cells
from layoutcheck.lint import notebook
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.rules import rules
from layoutcheck.lint.scopes import Call
from layoutcheck.lint.source import COPIES, Source
from layoutcheck.lint.suppressions import Mark, Suppressions
from layoutcheck.lint.text import Unreadable, decode
from layoutcheck.stored import reader

UNREADABLE = "LC910"
_WORDS = (b"cute", b"cutlass")


@dataclass(frozen=True, slots=True)
class Reading:
    """What one file's text says: findings (those that a comment silences apart), copy sites, lines, cases.

    `bare` are the lines of the kernels without a copy site; a notebook has none.
    """

    findings: tuple[LintFinding, ...] = ()
    silenced: int = 0
    sites: tuple[CopySite, ...] = ()
    lines: int = 0
    relevant: bool = True  # whether the file mentions CuTe at all
    bare: tuple[int, ...] = ()
    marks: tuple[Mark, ...] = ()  # the comments that silence findings


def from_cache(stored: dict[str, Any], path: str) -> Reading:
    """The analysis that was stored, of a file that may have moved since."""
    made: Reading = reader(Reading)(stored)
    notebook = path.endswith(cells.SUFFIX)
    found = (replace(one, path=cells.moved(one.path, path) if notebook else path) for one in made.findings)
    return replace(made, findings=tuple(found))


def analyse(raw: bytes, path: str) -> Reading:
    """Read a file's bytes. Whatever is in them, this returns: what cannot be read is a finding, LC910."""
    if not any(word in raw for word in _WORDS):
        return Reading(lines=raw.count(b"\n"), relevant=False)
    if path.endswith(cells.SUFFIX):
        return _notebook(raw, path)
    return _python(raw, path)


def _notebook(raw: bytes, path: str) -> Reading:
    """Read the code cells as one text, and give what is found there its cell and line."""
    try:
        made = notebook.read(raw)
    except Unreadable as error:
        return _unreadable(error, path, 0)
    whole = _python(made.text.encode("utf-8", "replace"), path)

    def placed(found: LintFinding) -> LintFinding:
        cell, line = made.place(found.line)
        end = made.place(found.end_line)[1] if found.end_line else 0
        return replace(found, path=cells.named(path, cell.number), line=line, end_line=end)

    findings = list(map(placed, whole.findings))
    for cell, line, said in made.broken:
        title = f"cannot be read: does not parse: {said}"
        advice = "Nothing in this cell was checked."
        where = cells.named(path, cell.number)
        findings.append(LintFinding(UNREADABLE, "unknown", where, line, 1, title, advice))
    sites = []
    for site in whole.sites:
        cell, line = made.place(site.line)
        sites.append(replace(site, line=line, end_line=made.place(site.end_line)[1], cell=cell.number))
    findings.sort(key=lambda finding: finding.order)
    return replace(whole, findings=tuple(findings), sites=tuple(sites), bare=(), marks=())


def _unreadable(error: Unreadable, path: str, lines: int) -> Reading:
    finding = LintFinding(
        UNREADABLE, "unknown", path, error.line, error.column, f"cannot be read: {error.reason}",
        "Nothing in this file was checked.",
    )  # fmt: skip
    return Reading((finding,), 0, (), lines)


def _python(raw: bytes, path: str) -> Reading:
    lines = raw.count(b"\n")
    try:
        source = Source(path, decode(raw))
        found = [finding for rule in rules().values() for finding in rule.findings(source, path)]
        made = tuple(sites(source))
        bare = bare_kernels(source, made)
    except Unreadable as error:
        return _unreadable(error, path, lines)
    except (RecursionError, MemoryError):
        finding = LintFinding(UNREADABLE, "unknown", path, 1, 1, "cannot be read: nested too deep")
        return Reading((finding,), 0, (), lines)
    silent = Suppressions(source.text)
    found += silent.complaints(path)
    kept = [finding for finding in found if not silent.silences(finding)]
    kept.sort(key=lambda finding: finding.order)
    return Reading(tuple(kept), len(found) - len(kept), made, lines, bare=bare, marks=tuple(silent.marks))


def of_report(
    finding: Any, report: Any, path: str, at: tuple[int, int], *, origin: str = "source"
) -> LintFinding:
    """A finding about a copy (`rules.Finding`), at its line and column in the source."""
    fix = report.fixes[0] if report.fixes else None
    message = finding.message + (f" Fix: {fix.strategy} ({fix.title})." if fix is not None else "")
    evidence = {**finding.evidence, "verdict": report.verdict}
    if report.assumptions:
        evidence["assumptions"] = list(report.assumptions)
    line, column = at[0], max(1, at[1])
    return LintFinding(
        finding.code, finding.severity, path, line, column, finding.title, message, line, column, evidence,
        origin=origin,
    )  # fmt: skip


_STAR = "cutlass.cute.*"  # the alias that a star import leaves


@dataclass(frozen=True, slots=True)
class CopySite:
    """A call that copies."""

    line: int
    end_line: int
    column: int
    call: str
    cell: int = 0  # of a notebook


def is_cute(source: Source, call: Call) -> bool:
    """Whether a call named `copy` is CuTe's, not a dictionary's; also if another module hands `cute` on."""
    *owner, name = call.name.split(".")
    if owner or not name:
        return "cute" in owner
    return name != "copy" or (source.aliases.get("*") == _STAR and name not in source.scopes[0].values)


def sites(source: Source) -> list[CopySite]:
    """Every copy site."""
    found = []
    for name in COPIES:
        for call in source.called(name):
            if is_cute(source, call):
                node = call.node
                at = (node.lineno, source.column(node.lineno, node.col_offset))
                found.append(CopySite(at[0], node.end_lineno or at[0], at[1], f"cute.{name}"))
    return sorted(found, key=lambda site: (site.line, site.column))


def bare_kernels(source: Source, inside: Sequence[CopySite]) -> tuple[int, ...]:
    """The lines of the kernels that have none of these copy sites: they access elements, or call others."""
    found = []
    for node in (scope.node for scope in source.scopes):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names = [
                source.dotted(each.func if isinstance(each, ast.Call) else each).split(".")
                for each in node.decorator_list
            ]
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            kernel = any(name[-1] == "kernel" and "cute" in name for name in names)
            if kernel and not any(site.line in lines for site in inside):
                found.append(node.lineno)
    return tuple(sorted(found))
