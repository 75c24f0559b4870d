"""One file: everything that its text alone says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from layoutcheck.lint.finding import LintFinding, from_dict
from layoutcheck.lint.rules import rules
from layoutcheck.lint.sites import Site, sites
from layoutcheck.lint.source import Module
from layoutcheck.lint.suppressions import Suppressions
from layoutcheck.lint.text import Unreadable, decode

UNREADABLE = "LC910"
_WORDS = (b"cute", b"cutlass")
# Of copies that are written out; a note about a promise is not news there.
_LITERAL_SEVERITIES = ("rejected", "wrong", "slow")


@dataclass(frozen=True, slots=True)
class Reading:
    """What one file's text says: findings (those that a comment silences apart), copy sites, lines, cases."""

    findings: tuple[LintFinding, ...] = ()
    silenced: int = 0
    sites: tuple[Site, ...] = ()
    lines: int = 0
    relevant: bool = True  # whether the file mentions CuTe at all

    def to_dict(self) -> dict[str, Any]:
        """For the cache."""
        return {
            "findings": [finding.to_dict() for finding in self.findings],
            "silenced": self.silenced,
            "sites": [site.to_dict() for site in self.sites],
            "lines": self.lines,
            "relevant": self.relevant,
        }


def from_cache(stored: dict[str, Any], path: str) -> Reading:
    """The analysis that was stored, of a file that may have moved since."""
    return Reading(
        tuple(replace(from_dict(each), path=path) for each in stored["findings"]),
        stored["silenced"],
        tuple(Site(**each) for each in stored["sites"]),
        stored["lines"],
        stored["relevant"],
    )


def analyse(raw: bytes, path: str) -> Reading:
    """Read a file's bytes. Whatever is in them, this returns: what cannot be read is a finding, LC910."""
    if not any(word in raw for word in _WORDS):
        return Reading(lines=raw.count(b"\n"), relevant=False)
    lines = raw.count(b"\n")
    try:
        module = Module(decode(raw))
        found, verdicts = _literal(module, path)
        for rule in rules().values():
            found += rule.findings(module, path)
        made = tuple(sites(module, verdicts))
    except Unreadable as error:
        finding = LintFinding(
            UNREADABLE, "unknown", path, error.line, error.column, f"cannot be read: {error.reason}",
            "Nothing in this file was checked.",
        )  # fmt: skip
        return Reading((finding,), 0, (), lines)
    except (RecursionError, MemoryError):
        finding = LintFinding(UNREADABLE, "unknown", path, 1, 1, "cannot be read: nested too deep")
        return Reading((finding,), 0, (), lines)
    silent = Suppressions(module.text)
    found += silent.complaints(path)
    kept = [finding for finding in found if not silent.silences(finding)]
    kept.sort(key=lambda finding: finding.order)
    return Reading(tuple(kept), len(found) - len(kept), made, lines)


def _literal(module: Module, path: str) -> tuple[list[LintFinding], dict[tuple[int, int], str]]:
    """Findings and verdicts of the copies that are written out."""
    if not any(name in module.calls for name in ("make_tensor", "allocate_tensor", "make_rmem_tensor")):
        return [], {}
    from layoutcheck.lint.literal import judge

    found: list[LintFinding] = []
    verdicts: dict[tuple[int, int], str] = {}
    for call, report in judge(module):
        node = call.node
        line, last = node.lineno, node.end_lineno or node.lineno
        at = (line, module.column(line, node.col_offset))
        end = (last, module.column(last, node.end_col_offset or 0))
        verdicts[at] = report.verdict
        found += [
            of_report(finding, report, path, at, end)
            for finding in report.findings
            if finding.severity in _LITERAL_SEVERITIES
        ]
    return found, verdicts


def of_report(
    finding: Any,
    report: Any,
    path: str,
    at: tuple[int, int],
    end: tuple[int, int] | None = None,
    origin: str = "source",
) -> LintFinding:
    """A finding about a copy (`rules.Finding`), at its line and column in the source."""
    fix = report.fixes[0] if report.fixes else None
    message = finding.message + (f" Fix: {fix.strategy} ({fix.title})." if fix is not None else "")
    evidence = {**finding.evidence, "verdict": report.verdict}
    if report.assumptions:
        evidence["assumptions"] = list(report.assumptions)
    line, column = at[0], max(1, at[1])
    last = end or (line, column)
    return LintFinding(
        finding.code,
        finding.severity,
        path,
        line,
        column,
        finding.title,
        message,
        *last,
        evidence,
        None,
        origin,
    )
