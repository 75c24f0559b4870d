"""All rules by their codes. A rule without a module of its own (order, operands, numbers) is its page."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from layoutcheck.errors import InputError, meant
from layoutcheck.markdown import all_codes, by_page, rule_files

_CODE = re.compile("(?:LC)?([0-9]{3})")
_BEGINNING = re.compile("(?:LC)?([0-9]{1,2})")
_PACKAGES = ("rules", "lint.rules")


def rules() -> dict[str, Any]:
    """Every rule by its code, in the order of the codes."""
    every = (import_module(f"layoutcheck.{package}").rules() for package in _PACKAGES)
    made = {code: rule for some in every for code, rule in some.items()}
    return {code: made.get(code) or by_page(code) for code in all_codes()}


def named(word: str) -> dict[str, Any]:
    """The rules whose name or summary has `word` in it, or whose codes begin with it, by their codes.

    None of a whole code, which needs no other rule (`rule`).
    """
    if _CODE.fullmatch(word.strip().upper()):
        return {}
    beginning = _BEGINNING.fullmatch(word.strip().upper())
    if beginning:
        return {code: each for code, each in rules().items() if code.startswith(f"LC{beginning[1]}")}
    wanted = word.strip().lower()
    words = {code: f"{each.name} {each.summary}".lower() for code, each in rules().items()}
    return {code: each for code, each in rules().items() if wanted and wanted in words[code]}


def rule(code: str) -> Any:
    """The rule of that code, in any case, with or without its letters; raises InputError for another."""
    wanted = code.strip().upper()
    number = _CODE.fullmatch(wanted)
    found = _alone(number[1]) if number else None
    if found is None:
        near = "" if number else meant(wanted, rules())  # the codes beside it say other things
        expected = "a code such as LC201, a beginning such as LC2, or a word: `layoutcheck rule` lists all"
        raise InputError(f"no rule '{code[:40]}'{near}", expected=expected)
    return found


def _alone(number: str) -> Any:
    """The rule of that number; of one with a module that module alone."""
    for package in _PACKAGES:
        folder = str(Path(__file__).parent.joinpath(*package.split(".")))
        for name in rule_files((folder,)):
            if name[2:5] == number:
                return import_module(f"layoutcheck.{package}.{name}").rule
    code = f"LC{number}"
    return by_page(code) if code in all_codes() else None
