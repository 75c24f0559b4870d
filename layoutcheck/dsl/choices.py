"""Arguments for a script that is run without any, where its parser says what they may be.

A required argument gets its `default` (of one without a dash, argparse ignores that), else the first of its
`choices`. Where a required argument has neither, nothing is given, and the script ends as it would.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from layoutcheck.dsl.imports import when_imported


def give_choices(tell: Callable[[list[str]], None]) -> None:
    """Have argparse take the first choices of a process without arguments, and `tell` them; from here on."""
    when_imported("argparse", lambda module: _watch(module.ArgumentParser, tell))


def _watch(parser: Any, tell: Callable[[list[str]], None]) -> None:
    parse = parser.parse_known_args

    def parse_known_args(self: Any, args: Any = None, namespace: Any = None) -> Any:
        given = first_choices(self) if args is None and len(sys.argv) == 1 else []
        if given:
            tell(given)
        return parse(self, given or args, namespace)

    parser.parse_known_args = parse_known_args


def first_choices(parser: Any) -> list[str]:
    """A value for everything that a parser requires; none if for something it names no single word."""
    given: list[str] = []
    for action in parser._actions:
        if action.required:
            choices = action.choices if isinstance(action.choices, (list, tuple)) else ()
            values = [one for one in (action.default, *choices) if one not in (None, "==SUPPRESS==")]
            if not values or action.nargs is not None:
                return []
            given += [*action.option_strings[-1:], str(values[0])]
    return given
