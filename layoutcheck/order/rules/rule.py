"""`OrderRule`: a rule about the order of accesses; its module's docstring is its page, as everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from layoutcheck.markdown import heading, source_page
from layoutcheck.order.problems import Problem
from layoutcheck.sources.traced import KernelPlace

Tell = Callable[[Problem, Sequence[KernelPlace]], tuple[str, str]]


class OrderRule(NamedTuple):
    """`tell` gives title and message of a problem of one of `kinds`, whose parties stand at the places given."""

    code: str
    name: str
    severity: str
    summary: str
    doc: str
    kinds: frozenset[str]
    tell: Tell
    example: tuple[str, str]

    def page(self) -> str:
        """The rule's page, in Markdown."""
        return source_page(self.code, self.name, self.severity, self.summary, self.doc, self.example)


def make_rule(
    module_doc: str | None, severity: str, kinds: Sequence[str], tell: Tell, flagged: str, clean: str
) -> OrderRule:
    """The rule whose code, name, summary and documentation are in its module's docstring."""
    code, name, summary, doc = heading(module_doc, "`--no-order` leaves out all rules about order.")
    return OrderRule(code, name, severity, summary, doc, frozenset(kinds), tell, (flagged, clean))
