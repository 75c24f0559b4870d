"""`Rule`: a stable code, what it looks for, and the text that `layoutcheck rule` and docs/rules/ print.

A rule's docstring is `CODE name: summary`; docs/rules/ has its page (`markdown.Page`). Its examples are data, so that
the tests run every one of them; many change one thing in a right copy that stands here. All that most rules need they
import from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from layoutcheck.analysis import Analysis
from layoutcheck.copies.compiler.prediction import Prediction
from layoutcheck.findings import Finding, Where, plain
from layoutcheck.markdown import Page, heading

__all__ = ["Analysis", "Finding", "Findings", "Where", "demanded", "make_rule"]

Findings = Iterator[Finding]


def demanded(field: str, value: Any, demand: Any, source: str, **more: Any) -> dict[str, Any]:
    """The evidence of a finding about a field of an instruction or of its tensor map: what it is, and must be."""
    return {"field": field, "value": value, "demand": demand, "source": source, **more}


class Example(NamedTuple):
    """Arguments of `layoutcheck.check`: one copy that the rule flags, one that it leaves alone."""

    flagged: dict[str, Any]
    clean: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rule(Page):
    """`find` yields this rule's findings about one copy.

    A rule that names a cause `explains` kinds of difference (analysis/comparison); one that only names what was seen
    has them as `symptoms`, and is heard where no cause explains them all. A rule of level `wrong` whose copies do
    not differ in the model says in `beyond` what is wrong with them that no run shows. `told` says whether
    there is a finding, where that is quicker to know than the finding's words.
    """

    find: Callable[[Analysis], Iterable[Finding]]
    example: Example
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

    def page(self) -> str:
        """The rule's page, in Markdown."""
        title = "## What no byte shows\n\nIntent and execution are not seen to differ"
        beyond = f"{title}: {self.beyond}." if self.beyond else ""
        return self.with_commands(command(self.example.flagged), command(self.example.clean), beyond)


def make_rule(
    severity: str,
    find: Callable[[Analysis], Iterable[Finding]],
    *,
    flagged: dict[str, Any],
    twin: dict[str, Any],
    explains: Iterable[str] = (),
    symptoms: Iterable[str] = (),
    beyond: str = "",
    told: Callable[[Analysis], bool] | None = None,
) -> Rule:
    """The rule whose code, name and summary are the docstring of the module of `find`.

    `twin` is what differs from `flagged` in a copy that the rule leaves alone: None takes an argument away. The rest
    is as in `Rule`.
    """
    clean = {key: value for key, value in {**flagged, **twin}.items() if value is not None}
    head = heading(find.__globals__["__doc__"], severity)
    return Rule(
        *head, find, Example(flagged, clean), frozenset(explains), frozenset(symptoms), beyond, told
    )  # fmt: skip


_POSITIONAL = ("src", "dst")
_FLAGS = {"src_space": "src-space", "dst_space": "dst-space"}


def command(arguments: dict[str, Any]) -> str:
    """The `layoutcheck explain` command line that makes the copy of `layoutcheck.check(**arguments)`."""
    import shlex

    words = ["layoutcheck", "explain", *(str(arguments[key]) for key in _POSITIONAL)]
    for key, value in arguments.items():
        if key not in _POSITIONAL:
            words += [f"--{_FLAGS.get(key, key).replace('_', '-')}", str(value)]
    return shlex.join(words)


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


# Copies that are right, as arguments of `layoutcheck.check`, for examples.
TMA: dict[str, Any] = {
    "src": '!cute.memref<bf16, gmem, align<16>, "(256,256):(256,1)">',
    "dst": '!cute.memref<bf16, smem, align<1024>, "(64,64):(64,1)">',
    "atom": "tma_load",
}
IM2COL: dict[str, Any] = {
    "src": '!cute.memref<bf16, gmem, align<16>, "((40,12,6,3),64):((64,2560,30720,184320),1)">',
    "dst": '!cute.memref<bf16, smem, align<1024>, S<3,4,3>, "(64,64):(64,1)">',
    "atom": "im2col_tma_load",
}
CP_ASYNC: dict[str, Any] = {
    "src": '!cute.memref<bf16, gmem, align<16>, "(8):(1)">',
    "dst": '!cute.memref<bf16, smem, align<128>, "(8):(1)">',
    "atom": "cp.async",
    "bits": 128,
}
BULK: dict[str, Any] = {
    "src": '!cute.memref<bf16, gmem, align<16>, "(64):(1)">',
    "dst": '!cute.memref<bf16, smem, align<128>, "(64):(1)">',
    "atom": "bulk.g2s",
}
