"""The rules about source: one a file, named `lcNNN_name.py`; the file's docstring is the rule's documentation."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from layoutcheck.lint.rule import SourceRule


@cache
def rules() -> dict[str, SourceRule]:
    """Every rule about source by its code, in the order of the codes."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name.startswith("lc"))
    found: list[SourceRule] = [importlib.import_module(f"{__name__}.{name}").RULE for name in names]
    return {rule.code: rule for rule in found}
