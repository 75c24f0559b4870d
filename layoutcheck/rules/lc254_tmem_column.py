"""LC254 tmem-column: an instruction begins in the middle of a column, or at an odd one."""

from __future__ import annotations

import numpy as np

from layoutcheck.atoms.tmem import COLUMN_BITS
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule
from layoutcheck.rules.tensor_memory import EVERYTHING, steps, tmem_atom


@make_rule("wrong", explains=EVERYTHING)
def rule(analysis: Analysis) -> Findings:
    """The first instruction whose offset is no whole, or no even, column."""
    atom, at = tmem_atom(analysis), steps(analysis)
    if atom is None or at is None:
        return
    side = atom.memory_side
    view = analysis.copy.side(side)
    torn = at % COLUMN_BITS != 0
    odd = at % (2 * COLUMN_BITS) != 0
    if torn.any():
        i = int(np.argmax(torn))
        title = "an instruction begins in the middle of a column"
        text = (
            f"{int(at[i])} bits from the base: {int(at[i]) % COLUMN_BITS} bits into a column of {COLUMN_BITS}"
        )
    elif odd.any() and atom.wants_even_columns:
        i = int(np.argmax(odd))
        title = "an instruction begins at an odd column"
        text = f"{int(at[i]) // COLUMN_BITS} columns from the base, and {atom.title} needs an even column"
    else:
        return
    yield rule.finding(
        title,
        f"Instruction {i} of {view.layout} lies {text}.",
        Where(side, None, 0, None, i),
        {"offset_bits": int(at[i]), "instruction": i},
    )
