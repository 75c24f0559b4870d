"""LC311 tmem-repeats: the copy takes many small tensor-memory instructions instead of one with more repetitions."""

from __future__ import annotations

import numpy as np

from layoutcheck.atoms.tmem import COLUMN_BITS, FORMS, columns
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule
from layoutcheck.rules.tensor_memory import steps, warp_atom

_SMALL = 4  # repetitions
_MANY = 8  # instructions in a row


@make_rule("slow")
def rule(analysis: Analysis) -> Findings:
    """At least eight instructions whose columns follow each other."""
    atom, at = warp_atom(analysis), steps(analysis)
    if atom is None or at is None or analysis.worst is not None:
        return
    _, most = FORMS[atom.lanes, atom.width_bits]
    if atom.repeat > _SMALL or at.size < _MANY:
        return
    adjacent = np.diff(at) == columns(atom) * COLUMN_BITS
    run = 1
    while run < at.size and adjacent[run - 1]:
        run += 1
    if run < _MANY:
        return
    better = min(most, atom.repeat << (run.bit_length() - 1))
    yield rule.finding(
        f"{run} instructions in a row where x{better} takes {-(-run * atom.repeat // better)}",
        f"{atom.title} takes {columns(atom)} columns at a time, and {run} of them follow each other.",
        Where(atom.memory_side),
        {"instructions": int(at.size), "in_a_row": run, "repeat": atom.repeat, "better": better},
    )
