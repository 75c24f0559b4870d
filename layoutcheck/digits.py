r"""Numbers as text: ASCII digits only, as MLIR, PTX and Python source have them.

`str.isdigit`, `int` and the `\d` of a pattern take the digits of every script (８, ٨). tests/test_house.py
keeps all three away from text that a user wrote.
"""

from __future__ import annotations


def is_number(text: str) -> bool:
    """Whether `text` is one or more ASCII digits and nothing else."""
    return text.isascii() and text.isdigit()
