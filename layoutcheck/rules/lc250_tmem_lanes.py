"""LC250 tmem-lanes: a warp accesses lanes of tensor memory that it does not own."""

from __future__ import annotations

from layoutcheck.atoms.tmem import WARP_LANES
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule
from layoutcheck.rules.tensor_memory import warp_atom, warp_of


@make_rule("wrong")
def rule(analysis: Analysis) -> Findings:
    """The first instruction of the first warp that leaves its lanes."""
    atom, lanes = warp_atom(analysis), analysis.observables.get("lanes")
    if atom is None or lanes is None:
        return
    thread, instruction = lanes.first[:2]
    assert thread is not None and type(lanes.asked) is int
    lane, owned = lanes.done, lanes.asked
    verb = "read" if atom.memory_side == "src" else "write"
    where = "" if analysis.copy.tiling is not None else ", counted from the first lane of its view"
    yield rule.finding(
        "a warp accesses tensor-memory lanes that it does not own",
        f"{atom.title}: instruction {instruction} of warp {warp_of(thread)} would {verb} lane {lane}{where}; the warp owns {owned} to {owned + WARP_LANES - 1}.",
        Where(atom.memory_side, None, thread, None, instruction),
        {"warp": warp_of(thread), "lane": lane, "owned_first": owned, "owned_last": owned + WARP_LANES - 1},
    )
