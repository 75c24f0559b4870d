"""`layoutcheck rule`: a rule's page, or the list of rules."""

from __future__ import annotations

import sys
from typing import Annotated

from layoutcheck.cli.arguments import Option


def rule(code: Annotated[str | None, Option("a rule's code, such as LC201", positional=True)] = None) -> int:
    """Print a rule's page; without a code, the list of rules."""
    from layoutcheck.rulebook import rule as find
    from layoutcheck.rulebook import rules

    listed = [f"{each.code}  {each.severity:8}  {each.name}: {each.summary}" for each in rules().values()]
    text = "\n".join(listed) if code is None else find(code).page()
    sys.stdout.write(text.rstrip("\n") + "\n")
    return 0
