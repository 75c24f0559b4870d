"""All rules by their codes, as their pages have them: of copies, source text, order, operands, numbers."""

from __future__ import annotations

import re

from layoutcheck.errors import InputError, meant
from layoutcheck.markdown import Page, all_codes, by_page

_CODE = re.compile("(?:LC)?([0-9]{3})")
_BEGINNING = re.compile("(?:LC)?([0-9]{1,2})")


def rules() -> dict[str, Page]:
    """Every rule by its code, in the order of the codes."""
    return {code: by_page(code) for code in all_codes()}


def named(word: str) -> dict[str, Page]:
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


def rule(code: str) -> Page:
    """The rule of that code, in any case, with or without its letters; raises InputError for another."""
    wanted = code.strip().upper()
    number = _CODE.fullmatch(wanted)
    if number is None or f"LC{number[1]}" not in all_codes():
        near = "" if number else meant(wanted, rules())  # the codes beside it say other things
        expected = "a code such as LC201, a beginning such as LC2, or a word: `layoutcheck rule` lists all"
        raise InputError(f"no rule '{code[:40]}'{near}", expected=expected)
    return by_page(f"LC{number[1]}")
