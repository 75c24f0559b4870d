"""All rules by their codes: about copies, about source text, about order, operands, and about numbers."""

from __future__ import annotations

import re

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

_CODE = re.compile("LC[0-9]{3}")
AnyRule = Rule | SourceRule | NumericsRule | OrderRule | OperandRule


def rules() -> dict[str, AnyRule]:
    """Every rule by its code, in the order of the codes."""
    every: dict[str, AnyRule] = {**copies.rules(), **source.rules(), **numerics.rules(), **order.rules()}
    every |= operands.rules()
    return dict(sorted(every.items()))


def named(word: str) -> dict[str, AnyRule]:
    """The rules whose name or summary has `word` in it, by their codes."""
    wanted = word.strip().lower()
    words = {code: f"{each.name} {each.summary}".lower() for code, each in rules().items()}
    return {code: each for code, each in rules().items() if wanted and wanted in words[code]}


def rule(code: str) -> AnyRule:
    """The rule of that code, in any case, with or without its letters; raises InputError for another."""
    every = rules()
    wanted = code.strip().upper()
    found = every.get(wanted) or every.get(f"LC{wanted}")
    if found is None:
        near = "" if _CODE.fullmatch(wanted) else meant(wanted, every)  # the codes beside it say other things
        raise InputError(f"no rule '{code[:40]}'{near}", expected="a code that `layoutcheck rule` lists")
    return found
