"""The formats of each command's report: what `--format` takes, its help says and a shell completes."""

from __future__ import annotations

from layoutcheck.errors import InputError

_TABLE = ("text", "json")
_LOCATED = ("text", "json", "github", "sarif")

# The default stands first. An option that asks for another report of a command has formats of its own.
FORMATS: dict[str, tuple[str, ...]] = {
    "explain": (*_LOCATED, "html", "svg"),
    "explain --mma": ("text", "json", "html", "svg"),
    "check": ("json", "text", "github"),
    "lint": _LOCATED,
    "lint --statistics": ("text",),
    "ci": _LOCATED,
    "confirm": _TABLE,
    "draw": ("svg", "text"),
    "trace": (*_LOCATED, "html"),
    "trace --memory": (*_TABLE, "svg"),
    "trace --lines": _TABLE,
    "trace --banks": _TABLE,
    "trace --fix": ("text",),
    "banks": _TABLE,
    "canonical": _TABLE,
    "synth": _TABLE,
    "numerics": _LOCATED,
    "resources": _LOCATED,
}


def listed(report: str) -> str:
    """The formats in words: `text, json or svg`."""
    *others, last = FORMATS[report]
    return f"{', '.join(others)} or {last}" if others else last


def check_format(report: str, name: str) -> None:
    """Raise InputError if the report (of a command, or of a command's option) has no format of this name."""
    if name not in FORMATS[report]:
        raise InputError(f"{report.split()[-1]} has no format '{name[:40]}'", expected=listed(report))
