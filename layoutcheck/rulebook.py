"""All rules by their codes: those about copies and those about numbers, which do not know each other."""

from __future__ import annotations

from layoutcheck import rules as copies
from layoutcheck.errors import InputError
from layoutcheck.numerics import rules as numerics
from layoutcheck.numerics.rules import Rule as NumericsRule
from layoutcheck.rules.rule import Rule


def rules() -> dict[str, Rule | NumericsRule]:
    """Every rule by its code, in the order of the codes."""
    every: dict[str, Rule | NumericsRule] = {**copies.rules(), **numerics.rules()}
    return dict(sorted(every.items()))


def rule(code: str) -> Rule | NumericsRule:
    """The rule of that code (any case); raises InputError for an unknown one."""
    every = rules()
    try:
        return every[code.strip().upper()]
    except KeyError:
        raise InputError(f"no rule '{code[:40]}'", expected=f"one of {', '.join(every)}") from None
