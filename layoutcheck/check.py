"""`check(copy) -> Report`: the one entry point every frontend uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from layoutcheck.analysis import Analysis, analysed
from layoutcheck.atoms.as_dict import copy_to_dict
from layoutcheck.copies.changes import Change
from layoutcheck.copies.compiler.prediction import Prediction
from layoutcheck.copies.copy import Copy
from layoutcheck.display import Page
from layoutcheck.findings import SCHEMA_VERSION, Finding, rank, verdict
from layoutcheck.rules import rules_for
from layoutcheck.rules.effects import occurred
from layoutcheck.versions import MODELLED

if TYPE_CHECKING:
    from layoutcheck.sources.traced import Addresses


@dataclass(frozen=True, slots=True)
class Fix:
    """One repaired version: paste-ready `code`, the re-checked `copies` it makes, and what confirmed it.

    `verdict` is "legal" or "slow"; `changes` lists every argument of the copy that it changes; `predicted`
    holds counts such as `instructions_per_thread`; `confirmed_by` a subset of ("model", "compiler", "gpu").
    `sketch` says why it is no more than a sketch: what it takes in the program is not known; "" where it is.
    """

    strategy: str
    title: str
    verdict: str
    code: str
    copies: tuple[Copy, ...] = field(repr=False)
    changes: tuple[Change, ...] = field(default=(), repr=False)
    predicted: dict[str, Any] = field(default_factory=dict)
    confirmed_by: tuple[str, ...] = ("model",)
    note: str = ""  # what the fix costs or asks elsewhere, one line
    sketch: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As the JSON schema has it."""
        return {
            **{one.name: getattr(self, one.name) for one in fields(self)},
            "copies": [copy_to_dict(copy) for copy in self.copies],
            "changes": [change._asdict() for change in self.changes],
            "confirmed_by": list(self.confirmed_by),
        }


class Repairs:
    """The fixes of a report and, where there is none, why: worked out when they are first asked for.

    Finding them takes ten times as long as the verdict does, and most callers read no more than that.
    """

    def __init__(self, find: Callable[[], tuple[tuple[Fix, ...], str | None]]) -> None:
        self._find = find

    @cached_property
    def found(self) -> tuple[tuple[Fix, ...], str | None]:
        """The fixes, best first, and the obstacle."""
        return self._find()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Repairs) and self.found == other.found

    def __hash__(self) -> int:
        return hash(self.found[1])

    def __reduce__(self) -> tuple[Any, ...]:
        return repairs, self.found


def repairs(fixes: tuple[Fix, ...] = (), obstacle: str | None = None) -> Repairs:
    """Repairs that are known."""
    return Repairs(lambda: (fixes, obstacle))


@dataclass(frozen=True, slots=True, repr=False)
class Report(Page):
    """The three answers about a copy, and the fixes proposed for it.

    `verdict` is "legal", "slow", "wrong", "rejected" or "unknown"; `findings` come worst first, `fixes` best
    first; `obstacle` says why no fix is offered, where none is. `asked` is what the installed DSL said, where
    it was asked. `analysis` has all that was worked out on the way, and works out the rest when it is asked:
    pictures are made of it.
    """

    analysis: Analysis
    verdict: str
    findings: tuple[Finding, ...]
    repairs: Repairs = field(default_factory=repairs)
    subject: str | None = None  # the case's name or the place the copy came from
    assumptions: tuple[str, ...] = ()  # what was taken for granted because the input did not say it
    asked: Prediction | None = None  # what the installed DSL said, where it was asked

    def __repr__(self) -> str:
        main = f" {self.findings[0].code}: {self.findings[0].title}" if self.findings else ""
        return f"<Report {self.verdict}{main}>"  # no fixes: they are not searched for a line

    @property
    def copy(self) -> Copy:
        """The copy that was checked."""
        return self.analysis.copy

    @property
    def fixes(self) -> tuple[Fix, ...]:
        """What repairs the copy, or makes it faster; best first."""
        return self.repairs.found[0]

    @property
    def obstacle(self) -> str | None:
        """Why there is no fix, if there is none."""
        return self.repairs.found[1]

    @property
    def compiler(self) -> Prediction:
        """What the compiler says: as the model predicts, or as a trace observed."""
        return self.analysis.prediction

    @property
    def inference(self) -> dict[str, Any]:
        """Proved alignment of both sides, the widest vector, what limits it."""
        return self.analysis.inference

    @property
    def execution(self) -> dict[str, Any]:
        """What one thread issues. Empty for a copy that never runs."""
        return self.analysis.issued

    @property
    def drawing(self) -> dict[str, Any]:
        """What is needed to draw the offending vector (see `reports.text`)."""
        return self.analysis.drawing

    def lean(self) -> Report:
        """The same for keeping: its analysis without the addresses of the runs (megabytes)."""
        return replace(self, analysis=self.analysis.lean())

    def to_dict(self) -> dict[str, Any]:
        """As the JSON schema has it."""
        return {
            "schema_version": SCHEMA_VERSION,
            "subject": self.subject,
            "copy": copy_to_dict(self.copy),
            "assumptions": list(self.assumptions),
            "verdict": self.verdict,
            "dsl": MODELLED,
            "compiler": _prediction(self.compiler),
            "asked": None if self.asked is None else _prediction(self.asked),
            "findings": [finding.to_dict() for finding in self.findings],
            "inference": self.inference,
            "execution": self.execution,
            "fixes": [fix.to_dict() for fix in self.fixes],
            "obstacle": self.obstacle,
        }


def _prediction(prediction: Prediction) -> dict[str, Any]:
    return {
        "outcome": prediction.outcome,
        "message": prediction.message,
        "kind": prediction.kind,
        "operand": prediction.operand,
    }


# Heard only where nothing else explains what the compiler says, or what the machine does.
REFUSED, DISAGREES = "LC100", "LC200"


def check(copy: Copy | Analysis) -> Report:
    """The compiler's answer, the machine's, the cost, and what follows. Never raises for a valid Copy.

    Of a copy that was analysed before the analysis is taken.
    """
    analysis = analysed(copy)
    findings = find_all(analysis)
    return Report(analysis, verdict_of(analysis, findings), findings)


def with_addresses(made: Report, addresses: Addresses) -> Report:
    """The report with what the compiler's lowering shows beyond it: findings of codes that it has not.

    Without what the lowering shows not to be so.
    """
    if made.verdict == "rejected":
        return made
    from layoutcheck.rules import lowered  # of traces alone: `explain` starts without it

    own = [finding for finding in made.findings if not lowered.settled(finding, addresses)]
    known = {finding.code for finding in own}
    more = [finding for finding in lowered.findings(addresses) if finding.code not in known]
    found = tuple(sorted((*own, *more), key=lambda one: rank(one.code, one.severity)))
    return replace(made, verdict=verdict_of(made.analysis, found), findings=found)


def find_all(analysis: Analysis) -> tuple[Finding, ...]:
    """Every rule's findings, worst first; symptoms are left out where a cause explains them."""
    found: list[Finding] = []
    explained: set[str] = set()
    seen = occurred(analysis)
    rules = rules_for(analysis.copy, differs=bool(seen))
    for rule in rules.values():
        if rule.code in (REFUSED, DISAGREES) or rule.symptoms:
            continue
        mine = [replace(one, beyond=rule.beyond) for one in rule.find(analysis)]
        found += mine
        if mine:
            explained |= rule.explains
    for rule in rules.values():
        unexplained = rule.symptoms & seen - explained
        if unexplained:
            found += rule.find(analysis)
    if seen and not any(finding.severity == "wrong" for finding in found):
        found += rules[DISAGREES].find(analysis)
    if not any(finding.severity == "rejected" for finding in found):
        found += rules[REFUSED].find(analysis)
    return tuple(sorted(found, key=lambda one: rank(one.code, one.severity)))


def quality(analysis: Analysis) -> str | None:
    """The verdict of a copy that is `legal` or `slow`, else None. No slow rule is asked for its words."""
    if not analysis.works():
        return None
    rules = rules_for(analysis.copy, differs=False).values()
    found = [one for rule in rules if rule.severity != "slow" for one in rule.find(analysis)]
    if verdict(found) not in ("legal", "slow"):
        return None
    if verdict(found) == "slow" or any(rule.occurs(analysis) for rule in rules if rule.severity == "slow"):
        return "slow"
    return "legal"


def verdict_of(analysis: Analysis, findings: tuple[Finding, ...]) -> str:
    """The worst finding decides; what the compiler refuses is `rejected`, whatever else is said of it."""
    return "rejected" if analysis.prediction.outcome in ("rejected", "aborts") else verdict(findings)
