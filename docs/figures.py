"""Figures of a page that is written by hand: the part between two comments is made from docs/evidence/."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

EVIDENCE = Path(__file__).parent / "evidence"
WIDTH = 118


def read(stem: str) -> dict[str, Any]:
    """A file of docs/evidence/."""
    found: dict[str, Any] = json.loads((EVIDENCE / f"{stem}.json").read_text(encoding="utf-8"))
    return found


def with_figures(text: str, name: str, figures: Callable[[], str]) -> str:
    """The page with the figures between `<!-- name -->` and `<!-- end of name -->`, where it has these."""
    shown = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    return shown.sub(lambda found: found[1] + figures() + found[2], text)


def filled(text: str) -> str:
    """A paragraph in lines of the pages' width, without an end of line."""
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)


def bullet(text: str) -> str:
    """The same as a point of a list."""
    return textwrap.fill(f"- {text}", WIDTH, subsequent_indent="  ", break_on_hyphens=False)
