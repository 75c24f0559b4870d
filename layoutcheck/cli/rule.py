"""`layoutcheck rule`: a rule's page, or the list of rules."""

from __future__ import annotations

import sys
from typing import Annotated

from layoutcheck.cli.arguments import Option
from layoutcheck.cli.output import style_of


def rule(code: Annotated[str | None, Option("a rule's code, such as LC201", positional=True)] = None) -> int:
    """Print a rule's page; without a code, the list of rules."""
    from layoutcheck.markdown import wrapped
    from layoutcheck.rulebook import rule as find
    from layoutcheck.rulebook import rules

    style = style_of(sys.stdout)
    if code is not None:
        text = wrapped(find(code).page(), style.width)
    else:
        heads = ((each, f"{each.code}  {each.severity:8}  ") for each in rules().values())
        lines = (style.wrap(f"{each.name}: {each.summary}", " " * len(head), head) for each, head in heads)
        text = "\n".join(line for entry in lines for line in entry)
    sys.stdout.write(text.rstrip("\n") + "\n")
    return 0
