"""The examples of rules' pages: command lines, as `layoutcheck.check` takes them."""

from __future__ import annotations

import re
import shlex
from typing import Any, NamedTuple

from layoutcheck.cli.arguments import read
from layoutcheck.cli.explain import explain
from layoutcheck.markdown import page_file


class Example(NamedTuple):
    """What the rule flags, and a twin that it leaves alone."""

    flagged: Any
    clean: Any


def commands(code: str) -> Example:
    """The words after `layoutcheck` of both commands."""
    lines = re.findall(r"^\$ layoutcheck (.*)$", page_file(code).partition("## Example")[2], re.MULTILINE)
    return Example(*(tuple(shlex.split(line)) for line in lines))


def example(code: str) -> Example:
    """The arguments of both copies."""
    return Example(*(_arguments(*words) for words in commands(code)))


def _arguments(command: str, *words: str) -> dict[str, Any]:
    assert command == "explain"
    given = read(explain, words)
    assert given is not None and given.pop("mma") == {} and set(given) == {"given"}
    return given["given"]
