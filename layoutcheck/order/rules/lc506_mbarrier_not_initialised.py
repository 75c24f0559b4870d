"""LC506 mbarrier-not-initialised: a thread uses an mbarrier whose initialisation is missing or not ordered before the use."""

from __future__ import annotations

from layoutcheck.order.rules.rule import KernelPlace, Places, Problem, does, line, make_rule

LARGEST = (1 << 20) - 1  # PTX ISA, mbarrier.init


@make_rule("wrong", "not-initialised", "initialisation-not-seen", "count-out-of-range")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """Who initialises it, if anybody does, and who uses it."""
    if problem.kind == "count-out-of-range":
        return f"{line(places[0])} {places[0].what} for {problem.facts['count']} arrivals", (
            f"{does(places[0])}. PTX has counts from 1 to {LARGEST:,}; with another the mbarrier is undefined."
        )
    if problem.kind == "not-initialised":
        return f"{line(places[0])} {_uses(places[0])} that is not initialised at that time", (
            f"{does(places[0])}; no mbarrier is initialised at byte {problem.facts['address']} of shared memory before. "
            "Possible causes: a stage index beyond the stages, or a missing barrier between the initialisation and this use."
        )
    return (
        f"{line(places[1])} {_uses(places[1])} that {line(places[0])} initialises, with no barrier between",
        f"{does(places[0])}; {does(places[1])}. Missing: mbarrier_init_fence() and sync_threads() after "
        f"{line(places[0])} and before {line(places[1])}.",
    )


def _uses(place: KernelPlace) -> str:
    return place.what if "mbarrier" in place.what else f"{place.what} with an mbarrier"
