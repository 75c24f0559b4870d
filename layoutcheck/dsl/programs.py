"""Synthesised plans, compiled in a process of the DSL: registers of a thread, and instructions for a tile."""

from __future__ import annotations

from collections.abc import Sequence

from layoutcheck.dsl.session import Session
from layoutcheck.synthesis.compiled import Compiled, items, made_of
from layoutcheck.synthesis.copies import Step
from layoutcheck.synthesis.search import Found
from layoutcheck.synthesis.wanted import Wanted

SECONDS = 15.0
"""Of a program, a hundred times what it takes."""


def compiled(plans: Sequence[tuple[Found, list[list[Step]]]], wanted: Wanted) -> list[Compiled]:
    """Of each plan. Raises DslUnavailable where the DSL cannot be asked, InputError where one fails."""
    with Session() as dsl:
        return [made_of(one) for one in dsl.ask("program", items(plans, wanted), SECONDS * len(plans))]
