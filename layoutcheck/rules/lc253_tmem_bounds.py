"""LC253 tmem-bounds: the copy leaves the 128 lanes and 512 columns of tensor memory."""

from __future__ import annotations

from layoutcheck.atoms.tmem import COLUMNS, LANES
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule
from layoutcheck.rules.tensor_memory import tmem_atom


@make_rule("wrong")
def rule(analysis: Analysis) -> Findings:
    """The first instruction that leaves; run-time strides and addresses that are no whole column aside."""
    atom, bounds = tmem_atom(analysis), analysis.observables.get("bounds")
    if atom is None or bounds is None or not analysis.copy.side(atom.memory_side).layout.is_static:
        return
    thread, instruction = bounds.first[:2]
    assert type(bounds.done) is tuple
    lane, column = bounds.done
    yield rule.finding(
        "the copy leaves tensor memory",
        f"{atom.title}: instruction {instruction} reaches lane {lane}, column {column} from the base of its view; "
        f"there are {LANES} lanes of {COLUMNS} columns.",
        Where(atom.memory_side, None, thread, None, instruction),
        {"lane": lane, "column": column},
    )
