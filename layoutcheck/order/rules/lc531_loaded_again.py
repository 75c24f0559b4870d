"""LC531 loaded-again: a bulk or TMA load brings the same bytes in every turn of its loop."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule


@make_rule("note", "loaded-again")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The load, and in how many turns it was met."""
    place = places[0]
    return (
        f"{line(place)} {place.what} the same bytes in every turn of its loop",
        f"Thread {place.thread} {place.what} from one place in all {problem.facts['turns']} turns, while another load of "
        "the loop moves on, and the tensor has more. Check the index of its source.",
    )
