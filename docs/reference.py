"""Reference pages made of the program itself: --help, the JSON schema; the other pages that are made so."""

from __future__ import annotations

from typing import Any

import typer

from docs.api_page import api_page
from docs.error_catalogue import catalogue_page
from docs.examples import output
from docs.schema_page import schema_page
from layoutcheck.cli import app

_CLI = """# Command line

Every command's own `--help`. Exit status of all: 0 nothing wrong, 1 something `rejected` or `wrong` (with
`--strict` also `slow` and `unknown`), 2 unusable input, with one message on stderr. Colour only on a
terminal or with `FORCE_COLOR` set, and never with `NO_COLOR` set.
"""


def reference_pages() -> dict[str, str]:
    """The pages by their names in docs/."""
    return {"cli.md": _cli(), "api.md": api_page(), "schema.md": schema_page(), "errors.md": catalogue_page()}


def _cli() -> str:
    root = typer.main.get_command(app())
    commands = [_help(f"layoutcheck {' '.join(words)}", "#") for words in _words(root)]
    return "\n".join([_CLI, _help("layoutcheck", ""), *commands])


def _words(group: Any) -> list[tuple[str, ...]]:
    """Every command below a group, in its own order, as the words that call it."""
    found: list[tuple[str, ...]] = []
    for name, command in getattr(group, "commands", {}).items():
        found += [(name,), *((name, *more) for more in _words(command))]
    return found


def _help(command: str, deeper: str) -> str:
    return f"##{deeper} {command}\n\n```text\n{output(f'{command} --help')}```\n"
