"""PTX as text: instructions, operands, and the width that a name states."""

from __future__ import annotations

import re

LINE = re.compile(r"\s*(?:@(!?)(%\w+)\s+)?([a-z][\w.:]*)\s*(.*?);")
PARAMETER = re.compile(r"\.param\s[^,)]*?(\w+)(?:\[[0-9]+\])?\s*(?=[,)])")
LABEL = re.compile(r"\s*(\$[\w$]+):")
ADDRESS = re.compile(r"\[\s*([%\w$]+)\s*(?:\+\s*(-?\w+))?\s*\]")
_WIDTH = re.compile(r"(?:[bsuf]|pred)([0-9]+)\Z")


def operands_of(text: str) -> list[str]:
    """Split at the commas outside braces and brackets."""
    return [part.strip() for part in re.split(r",(?![^{]*\})(?![^\[]*\])", text)] if text.strip() else []


def registers_in(operand: str) -> list[str]:
    """The registers of `{a, b}`, or the one that stands alone."""
    return [r.strip() for r in operand[1:-1].split(",")] if operand.startswith("{") else [operand]


def width_of(name: str) -> int:
    """Bits of the instruction's type: the last for most, the first (target) for cvt."""
    words = name.split(".")
    widths = [int(m[1]) for m in map(_WIDTH.match, words[1:]) if m]
    if not widths:
        return 1
    return widths[0] if words[0] == "cvt" else widths[-1]


def cvt_source(words: list[str]) -> int:
    """Bits of what a cvt converts."""
    widths = [int(m[1]) for m in map(_WIDTH.match, words[1:]) if m]
    return widths[-1]


def literal(text: str) -> int:
    """The bits of a number as written; of a floating-point one, those of its hexadecimal form."""
    if re.match(r"0[fFdD]", text):
        return int(text[2:], 16)
    if text in ("true", "false"):
        return int(text == "true")
    return int(text.rstrip("U"), 0)
