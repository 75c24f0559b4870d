"""The rules about order: each turns the problems of some kinds into words.

`words.toml` has those whose words depend on the kind alone, `sentences.py` the others.
"""

from __future__ import annotations

from functools import cache

from layoutcheck.order.rules import sentences
from layoutcheck.order.rules.rule import OrderRule
from layoutcheck.order.rules.worded import worded


@cache
def rules() -> dict[str, OrderRule]:
    """Every rule about order by its code, in the order of the codes."""
    every = [*vars(sentences).values(), *worded()]
    return {
        one.code: one for one in sorted((r for r in every if isinstance(r, OrderRule)), key=lambda r: r.code)
    }


@cache
def _by_kind() -> dict[str, OrderRule]:
    return {kind: rule for rule in rules().values() for kind in rule.kinds}


def rule_of(kind: str) -> OrderRule:
    """The rule that speaks of a kind of problem."""
    return _by_kind()[kind]
