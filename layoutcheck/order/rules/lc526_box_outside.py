"""LC526 box-outside: every box of a tile that TMA loads is outside of the tensor, and brings zeros."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule, who


@make_rule("note", "box-outside")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The load, its coordinate and the extent."""
    place, facts = places[0], problem.facts
    return f"{line(place)} loads by TMA outside of its tensor, where there are zeros", (
        f"{who(place).capitalize()} loads a box of {facts['box']} elements at coordinate {facts['coordinate']} of a "
        f"mode that has {facts['extent']}. All boxes of this turn are outside; in another turn they are not."
    )
