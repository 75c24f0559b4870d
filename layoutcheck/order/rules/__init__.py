"""The rules about order: each turns the problems of some kinds into words. One rule a file, `lc5NN_name.py`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from layoutcheck.order.rules.rule import OrderRule


@cache
def rules() -> dict[str, OrderRule]:
    """Every rule about order by its code."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name.startswith("lc"))
    found: list[OrderRule] = [importlib.import_module(f"{__name__}.{name}").RULE for name in names]
    return {rule.code: rule for rule in found}


@cache
def _by_kind() -> dict[str, OrderRule]:
    return {kind: rule for rule in rules().values() for kind in rule.kinds}


def rule_of(kind: str) -> OrderRule:
    """The rule that speaks of a kind of problem."""
    return _by_kind()[kind]
