"""The rules: each says when a copy is rejected, wrong, slow or unknown, and why.

One rule a file, named `lcNNN_name.py`; docs/rules has its page. A name that begins with a family of
atoms (`lc230_tma_base`) says that the rule speaks of no other: it is not even loaded for them.
"""

from __future__ import annotations

import importlib
from functools import cache

from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.markdown import rule_files, rules_in
from layoutcheck.rules.rule import Rule

FAMILIES = ("bulk", "tma", "tmem")

# Codes of rules that speak of bytes that differ in a run, and of nothing else: they are not loaded where none do.
DIFFERING = frozenset((*range(201, 208), *range(210, 221), 222, 224, 227))


def rules() -> dict[str, Rule]:
    """Every rule by its code, in the order of the codes."""
    return rules_in(__name__)


def rules_for(copy: Copy, *, differs: bool = True) -> dict[str, Rule]:
    """The rules that can have something to say about the copy, likewise; `differs`: whether a run differs."""
    return _rules_for(family_of(copy), differs)


def family_of(copy: Copy) -> str | None:
    """The family that has rules of its own, if the copy's atom is of one."""
    return (copy.atom.rules or None) if copy.atom is not None else None


@cache
def _rules_for(family: str | None, differs: bool) -> dict[str, Rule]:
    others = set(FAMILIES) - {family}
    names = [
        name
        for name in rule_files(tuple(__path__))
        if name.split("_")[1] not in others and (differs or int(name[2:5]) not in DIFFERING)
    ]
    found: list[Rule] = [importlib.import_module(f"{__name__}.{name}").rule for name in names]
    return {rule.code: rule for rule in found}


def rule(code: str) -> Rule:
    """The rule of that code (any case); raises InputError for an unknown one."""
    try:
        return rules()[code.strip().upper()]
    except KeyError:
        known = ", ".join(rules())
        raise InputError(f"no rule '{code[:40]}'", expected=f"one of {known}") from None
