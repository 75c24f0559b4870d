"""LC247 tma-filter-offset: the offset of a filter tap does not fit the im2col instruction."""

from __future__ import annotations

import numpy as np

from layoutcheck.atoms.tma.descriptor import CORNER_BITS
from layoutcheck.atoms.tma.im2col import reached
from layoutcheck.atoms.tma.plan import gmem_side
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, whole_tma

SOURCE = "PTX ISA, tensor im2col mode"


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """The first instruction with an offset that is negative or too large, where other pixels come of it."""
    found = whole_tma(analysis)
    if found is None or found.plan.filter_offsets is None or analysis.effect is None:
        return
    away = found.plan.filter_offsets
    most = (1 << CORNER_BITS[away.shape[1]]) - 1
    bad = np.argwhere((away < 0) | (away > most))
    if not bad.size:
        return
    k, i = (int(n) for n in bad[0])
    value, demand = int(away[k, i]), f"0 to {most} for a tensor of rank {found.map.rank}"
    yield rule.finding(
        f"the filter's offset {value} along {'WHD'[i]} does not fit the instruction",
        f"Instruction {k} loads the tap at offsets {[int(n) for n in away[k]]} (W first); each must be {demand}. "
        f"The DSL passes them on without a check, and the machine uses {[int(n) for n in reached(away[k : k + 1])[0]]}.",
        Where(gmem_side(analysis.copy), instruction=k),
        demanded(f"im2colOffsets[{i}]", value, demand, SOURCE),
    )
