"""`Rule`: a stable code, and what it looks for. All that most rules need they import from here.

A rule's docstring is `CODE name: summary`; docs/rules/ has its page with its examples (`markdown.Page`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from layoutcheck.analysis import Analysis
from layoutcheck.copies.compiler.prediction import Prediction
from layoutcheck.findings import Finding, Where, plain
from layoutcheck.markdown import Page, heading

__all__ = ["Analysis", "Finding", "Findings", "Where", "demanded", "make_rule"]

Findings = Iterator[Finding]


def demanded(field: str, value: Any, demand: Any, source: str, **more: Any) -> dict[str, Any]:
    """The evidence of a finding about a field of an instruction or of its tensor map: what it is, and must be."""
    return {"field": field, "value": value, "demand": demand, "source": source, **more}


@dataclass(frozen=True, slots=True)
class Rule(Page):
    """`find` yields this rule's findings about one copy.

    A rule that names a cause `explains` kinds of difference (analysis/comparison); one that only names what was seen
    has them as `symptoms`, and is heard where no cause explains them all. A rule of level `wrong` whose copies do
    not differ in the model says in `beyond` what is wrong with them that no run shows. `told` says whether
    there is a finding, where that is quicker to know than the finding's words.
    """

    find: Callable[[Analysis], Iterable[Finding]]
    explains: frozenset[str] = frozenset()
    symptoms: frozenset[str] = frozenset()
    beyond: str = ""
    told: Callable[[Analysis], bool] | None = None

    def finding(
        self,
        title: str,
        message: str,
        where: Where | None = None,
        evidence: Mapping[str, Any] | None = None,
        severity: str = "",
    ) -> Finding:
        """A finding of this rule, of its own severity unless another is given."""
        severity = severity or self.severity
        return Finding(self.code, severity, title, message, where or Where(), dict(evidence or {}))

    def occurs(self, analysis: Analysis) -> bool:
        """Whether the rule has a finding about the copy."""
        if self.told is not None:
            return self.told(analysis)
        return any(True for _ in self.find(analysis))


def make_rule(
    severity: str,
    *,
    explains: Iterable[str] = (),
    symptoms: Iterable[str] = (),
    beyond: str = "",
    told: Callable[[Analysis], bool] | None = None,
) -> Callable[[Callable[[Analysis], Iterable[Finding]]], Rule]:
    """Makes a `find` the rule whose code, name and summary are the docstring of its module."""

    def made(find: Callable[[Analysis], Iterable[Finding]]) -> Rule:
        head = heading(find.__globals__["__doc__"], severity)
        return Rule(*head, find, frozenset(explains), frozenset(symptoms), beyond, told)

    return made


def refusal(analysis: Analysis, *kinds: str) -> Prediction | None:
    """The compiler's answer where it refuses the copy for a reason of these kinds (for any, without)."""
    said = analysis.prediction
    return said if said.outcome == "rejected" and (not kinds or said.kind in kinds) else None


def refused(
    rule: Rule, said: Prediction, title: str, message: str = "", operand: str | None = None
) -> Finding:
    """The refusal as a finding of the rule; in the compiler's own sentence, without a `message`.

    `operand` is where, if not at the operand that the compiler names.
    """
    return rule.finding(
        title,
        message or f"{said.message}.",
        Where(operand or said.operand),
        {"compiler": said.message, **plain(said.evidence)},
    )
