"""What a lint returns: its findings, what it looked at, the cases and programs that it ran, its status."""

from __future__ import annotations

from dataclasses import dataclass, field

from layoutcheck.gate import NO_GATE, Gate
from layoutcheck.lint.analyse import UNREADABLE
from layoutcheck.lint.cases import CaseRun
from layoutcheck.lint.finding import LintFinding

Sites = dict[str, tuple[int, ...]]
"""The lines of copy sites, by file or by what else the dictionary is said to be by."""
_FAILING = frozenset(("rejected", "wrong"))
_FAILING_STRICT = _FAILING | {"slow", "unknown"}
_CASE_FAILED = ("LC911", "LC915")


@dataclass(frozen=True, slots=True)
class Counts:
    """What a run looked at.

    `unknown` are reasons with numbers of copies, `address_sources` numbers of copies by how they are known,
    `never` the sites that no case reached, `untraced` registered cases that could not be run here, `skipped`
    reasons with numbers of tests that were skipped in every run. Of those sites, `uncalled` are in functions
    that no program calls (`path:function` -> lines), and `untaken` in functions of kernels that were built;
    `because` has the others by file and reason.
    `accesses` of single elements are checked beside copies, `accesses_known` of them.
    """

    files: int = 0
    relevant: int = 0
    lines: int = 0
    sites: int = 0
    traced: int = 0
    copies: int = 0
    checked: int = 0
    cases: int = 0
    untraced: int = 0
    kernels: int = 0
    silenced: int = 0
    known: int = 0
    unselected: int = 0
    as_meant: int = 0
    unknown: dict[str, int] = field(default_factory=dict)
    address_sources: dict[str, int] = field(default_factory=dict)
    never: Sites = field(default_factory=dict)
    uncalled: Sites = field(default_factory=dict)
    untaken: Sites = field(default_factory=dict)
    because: dict[str, Sites] = field(default_factory=dict)
    accesses: int = 0
    accesses_known: int = 0
    skipped: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ran:
    """A case or program that was run: `failures` are what kept kernels of it from being seen.

    `skipped` is the number of its tests that did not run.
    """

    name: str
    path: str
    arch: str
    kernels: int
    copies: int
    seconds: float
    cached: bool
    failures: tuple[str, ...] = ()
    program: bool = False
    skipped: int = 0

    @classmethod
    def of(cls, run: CaseRun) -> Ran:
        """What is told of a run."""
        case, trace = run.case, run.trace
        failures = tuple(f"{one.kind}: {' '.join(one.message.split())}" for one in trace.failures)
        return cls(
            case.name, case.path, case.arch, len(trace.kernels), len(trace.copies), round(run.seconds, 1),
            run.cached, failures, bool(case.command), len(trace.skipped),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """Findings in the order of files and lines; `notes` say what was not done, and why.

    `runs` are the cases and programs that were run.
    """

    findings: tuple[LintFinding, ...]
    counts: Counts
    notes: tuple[str, ...] = ()
    runs: tuple[Ran, ...] = ()
    wanted: bool = False  # programs were looked for, and there may be none

    @property
    def ended(self) -> int:
        """The number of runs that SIGTERM ended."""
        return sum(any(one.startswith("ended: ") for one in run.failures) for run in self.runs)

    def status(self, strict: bool = False, gate: Gate = NO_GATE) -> int:
        """The exit status, as `gate.py` has it."""
        failing = _FAILING_STRICT if strict else _FAILING
        if strict and self.counts.unknown:
            return 1
        if any(finding.severity in failing for finding in self.findings):
            return 1
        return 2 if self.unseen(gate) else 0

    def unseen(self, gate: Gate) -> list[str]:
        """What the gate asks for and was not seen; a case's findings may be silenced or in the baseline."""
        counts = self.counts
        failed = counts.untraced + len(
            {finding.origin for finding in self.findings if finding.code in _CASE_FAILED}
        )
        types = counts.address_sources.get("types", 0)
        kernels = counts.kernels if counts.cases or self.wanted else None
        ended = [f"SIGTERM came before {self.ended} of {len(self.runs)} runs had ended"] if self.ended else []
        skipped = sum(counts.skipped.values())
        unreadable = len({finding.path for finding in self.findings if finding.code == UNREADABLE})
        return ended + gate.unseen(failed, kernels, types, counts.traced, counts.sites, skipped, unreadable)
