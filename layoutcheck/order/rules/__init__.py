"""The rules about order: each turns the problems of some kinds into words.

One rule a file, `lc5NN_name.py`, where the words depend on more than the kind; the others are in `words.toml`.
"""

from __future__ import annotations

from functools import cache

from layoutcheck.markdown import rules_in
from layoutcheck.order.rules.rule import OrderRule
from layoutcheck.order.rules.worded import worded


@cache
def rules() -> dict[str, OrderRule]:
    """Every rule about order by its code, in the order of the codes."""
    return dict(sorted((rules_in(__name__) | {one.code: one for one in worded()}).items()))


@cache
def _by_kind() -> dict[str, OrderRule]:
    return {kind: rule for rule in rules().values() for kind in rule.kinds}


def rule_of(kind: str) -> OrderRule:
    """The rule that speaks of a kind of problem."""
    return _by_kind()[kind]
