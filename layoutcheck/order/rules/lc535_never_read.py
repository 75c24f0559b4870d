"""LC535 never-read: threads store partial results, and what reads them leaves some out."""

from __future__ import annotations

from layoutcheck.digits import many
from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule("note", "never-read")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The warp whose number is left out, and a thread that reads the others."""
    store, count, of = places[0], problem.facts["read"], problem.facts["of"]
    first = problem.first
    assert first is not None
    at = f"byte {first.address} of shared memory"
    if len(places) < 2:
        return f"nothing reads the {of} partial results that {line(store)} stores", (
            f"{does(store).capitalize()} a sum or a maximum to {at}, and nothing reads what any thread stores there."
        )
    read, warp = places[1], problem.facts["warp"]
    mine, others, each = "a partial result", many(int(count), "other"), f"{count} of {of} partial results"
    if warp != -1:
        mine, others = f"the number of warp {warp}", f"the numbers of {many(int(count), 'other warp')}"
        each = f"the numbers of {count} of {of} warps"
    return f"{line(read)} reads {each} that {line(store)} stores", (
        f"{does(store).capitalize()} {mine} to {at}, and nothing reads it. {does(read).capitalize()} {others}."
    )
