"""The programs that a rule about source shows on its page: one that it flags, one that it leaves alone."""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutcheck.markdown import page_file


class Example(NamedTuple):
    flagged: str
    clean: str


def example(code: str) -> Example | None:
    """None of a rule about files or cases as a whole."""
    blocks = re.findall(r"```python\n(.*?)```", page_file(code).partition("## Example")[2], re.DOTALL)
    return Example(*blocks) if blocks else None
