"""`OrderRule`: a rule about the order of accesses; its module's docstring is its page, as everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from layoutcheck.markdown import Example, PageRule, heading
from layoutcheck.order.problems import Problem
from layoutcheck.sources.traced import KernelPlace

Tell = Callable[[Problem, Sequence[KernelPlace]], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class OrderRule(PageRule):
    """`tell` gives title and message of a problem of one of `kinds`, whose parties stand at the places given."""

    kinds: frozenset[str]
    tell: Tell


def make_rule(
    module_doc: str | None, severity: str, kinds: Sequence[str], tell: Tell, flagged: str, clean: str
) -> OrderRule:
    """The rule whose code, name, summary and documentation are in its module's docstring."""
    code, name, summary, doc = heading(module_doc, "`--no-order` leaves out all rules about order.")
    return OrderRule(code, name, severity, summary, doc, Example(flagged, clean), frozenset(kinds), tell)
