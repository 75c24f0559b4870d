"""LC507 transaction-bytes: the bytes announced to an mbarrier are not the bytes that are copied."""

from __future__ import annotations

from layoutcheck.digits import many
from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule("wrong", "too-few-bytes", "bytes-never-arrive")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """What was announced, and what was copied."""
    facts = problem.facts
    if problem.kind == "too-few-bytes":
        return f"{line(places[0])} announces fewer bytes than the copies bring", (
            f"Phase {facts['phase']} of the mbarrier expects {facts['expected']} bytes ({line(places[0])}) and is over "
            f"while {facts['missing_bytes']} bytes of copies are still under way ({line(places[1])}). Missing: the bytes of all copies of a "
            "phase in what is announced."
        )
    if int(facts["bytes"]) < 0:
        return f"{line(places[0])} announces fewer bytes than the copies bring", (
            f"The copies bring {-int(facts['bytes'])} bytes more than {line(places[0])} announces: {does(places[1])}, and the phase "
            "ends before all bytes are there, or never. Missing: the bytes of all copies of a phase in what is announced."
        )
    return f"{line(places[0])} announces bytes that no copy brings", (
        f"{facts['bytes']} bytes are announced and never copied ({line(places[0])}): {does(places[1])} and never continues; {many(int(facts['warps']), 'warp of the block waits', 'warps of the block wait')}."
    )
