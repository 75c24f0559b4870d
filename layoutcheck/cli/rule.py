"""`layoutcheck rule`: a rule's page, or the list of rules."""

from __future__ import annotations

import sys
from typing import Annotated

from layoutcheck.cli.arguments import Option
from layoutcheck.cli.output import style_of


def rule(
    code: Annotated[
        str | None, Option("a rule's code, such as LC201, its beginning, or a word", positional=True)
    ] = None,
) -> int:
    """Print the page of a rule, or list rules: all, those of a beginning (LC2), or those with a word."""
    from layoutcheck.markdown import wrapped
    from layoutcheck.rulebook import named, rules
    from layoutcheck.rulebook import rule as find

    style = style_of(sys.stdout)
    listed = rules() if code is None else named(code)
    if code is not None and len(listed) < 2:
        found = next(iter(listed.values())) if listed else find(code)
        text = wrapped(found.page(), style.width)
    else:
        heads = ((each, f"{each.code}  {each.severity:8}  ") for each in listed.values())
        lines = (style.wrap(f"{each.name}: {each.summary}", " " * len(head), head) for each, head in heads)
        text = "\n".join(line for entry in lines for line in entry)
    sys.stdout.write(text.rstrip("\n") + "\n")
    return 0
