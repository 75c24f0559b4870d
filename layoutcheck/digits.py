r"""Numbers as text: ASCII digits only, as MLIR and PTX have them; and how they are told.

`str.isdigit`, `int`, `float` and the `\d` of a pattern take the digits of every script (８, ٨), and `int` and
`float` read `1_0` as 10. tests/test_house.py keeps the first two away from text that a user wrote.
"""

from __future__ import annotations


def is_number(text: str) -> bool:
    """Whether `text` is one or more ASCII digits and nothing else."""
    return text.isascii() and text.isdigit()


def decimal(text: str) -> float:
    """The number that `text` spells in digits 0 to 9 without `_`. Raises ValueError."""
    if not text.isascii() or "_" in text:
        raise ValueError(text)
    return float(text)


def only_python_reads(text: str) -> bool:
    """Whether `int` and `float` read a number that is spelt in other digits, or as `1_0`."""
    try:
        float(text)
    except ValueError:
        return False
    return not text.isascii() or "_" in text


def many(number: int, one: str, more: str = "") -> str:
    """A number and what it counts: "1 copy", "2 copies"; `more` where the plural is not made by an s."""
    if number == 1:
        return f"1 {one}"
    return f"{number:,} {more or one + ('es' if one.endswith('s') else 's')}"
