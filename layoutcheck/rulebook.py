"""All rules by their codes: about copies, about source text, about order, operands, and about numbers."""

from __future__ import annotations

from layoutcheck import rules as copies
from layoutcheck.errors import InputError, meant
from layoutcheck.lint import rules as source
from layoutcheck.lint.rule import SourceRule
from layoutcheck.numerics import rules as numerics
from layoutcheck.numerics.rules import Rule as NumericsRule
from layoutcheck.operands import rules as operands
from layoutcheck.operands.rules.rule import OperandRule
from layoutcheck.order import rules as order
from layoutcheck.order.rules.rule import OrderRule
from layoutcheck.rules.rule import Rule

AnyRule = Rule | SourceRule | NumericsRule | OrderRule | OperandRule


def rules() -> dict[str, AnyRule]:
    """Every rule by its code, in the order of the codes."""
    every: dict[str, AnyRule] = {**copies.rules(), **source.rules(), **numerics.rules(), **order.rules()}
    every |= operands.rules()
    return dict(sorted(every.items()))


def rule(code: str) -> AnyRule:
    """The rule of that code, in any case, with or without its letters; raises InputError for another."""
    every = rules()
    wanted = code.strip().upper()
    found = every.get(wanted) or every.get(f"LC{wanted}")
    if found is None:
        raise InputError(
            f"no rule '{code[:40]}'{meant(wanted, every)}", expected="a code that `layoutcheck rule` lists"
        )
    return found
