"""The rules: each says when a copy is rejected, wrong, slow or unknown, and why.

One rule a file, named `lcNNN_name.py`; the file's docstring is the rule's documentation.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from layoutcheck.errors import InputError
from layoutcheck.rules.rule import Rule


@cache
def rules() -> dict[str, Rule]:
    """Every rule by its code, in the order of the codes."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name.startswith("lc"))
    found: list[Rule] = [importlib.import_module(f"{__name__}.{name}").RULE for name in names]
    return {rule.code: rule for rule in found}


def rule(code: str) -> Rule:
    """The rule of that code (any case); raises InputError for an unknown one."""
    try:
        return rules()[code.strip().upper()]
    except KeyError:
        known = ", ".join(rules())
        raise InputError(f"no rule '{code[:40]}'", expected=f"one of {known}") from None
