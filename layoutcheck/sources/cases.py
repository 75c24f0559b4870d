"""Named cases: copies from published reports, for `layoutcheck explain --case NAME`.

A case is a JSON file in `cases/` beside this module:

    name, title, url     what it is and where it was reported
    copies               objects whose keys are the arguments of `layoutcheck.check`, as text
    expected             the verdict of the worst of them
    notes                what happens and why, in a few sentences
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from layoutcheck.errors import InputError, meant

_FOLDER = Path(__file__).with_name("cases")


class NamedCase(NamedTuple):
    """One published case; `copies` are arguments of a `Request`."""

    name: str
    title: str
    url: str
    copies: tuple[dict[str, Any], ...]
    expected: str
    notes: str = ""


def case_names() -> list[str]:
    """The names of all cases, sorted."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def case(name: str) -> NamedCase:
    """The case of that name; raises InputError, which says where they are listed, for any other."""
    names = case_names()
    wanted = name.strip().lower()
    if wanted not in names:
        raise InputError(
            f"no case '{name[:60]}'{meant(wanted, names)}",
            expected="a name that `layoutcheck explain --case` lists",
        )
    fields = json.loads((_FOLDER / f"{wanted}.json").read_text(encoding="utf-8"))
    return NamedCase(
        fields["name"],
        fields["title"],
        fields["url"],
        tuple(fields["copies"]),
        fields["expected"],
        fields.get("notes", ""),
    )
