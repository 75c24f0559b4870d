"""LC247 tma-filter-offset: the offset of a filter tap does not fit the im2col instruction.

## What it means

The instruction says which tap of the filter it loads: an unsigned offset for each spatial
dimension, of 16 bits for a tensor of rank 3, 8 bits for rank 4 and 5 bits for rank 5. It cannot
reach taps further away, or before the first one.

## Why

PTX ISA, tensor im2col mode: offsets are 0 to 2^16-1, 2^8-1 and 2^5-1 for tensors of 3, 4 and 5 dimensions.
The DSL passes lower_srt + tap * stride_srt without a check. An H200 keeps the offsets side by side in
one number: the excess of one offset is added to the next dimension's (docs/evidence/tma_im2col.json).

## How to fix it

Count taps from 0 (`lower_srt`), and take fewer bits: a smaller dilation, fewer taps, or a tensor of lower rank (a
spatial mode whose filter has one tap and no padding can join N).

## How to silence it

Only where the fault is meant: the copy loads other pixels.
"""

from __future__ import annotations

import numpy as np

from layoutcheck.atoms.tma.descriptor import CORNER_BITS
from layoutcheck.atoms.tma.im2col import reached
from layoutcheck.atoms.tma.plan import gmem_side
from layoutcheck.rules.rule import IM2COL, Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, whole_tma

SOURCE = "PTX ISA, tensor im2col mode"


def find(analysis: Analysis) -> Findings:
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
    yield RULE.finding(
        f"the filter's offset {value} along {'WHD'[i]} does not fit the instruction",
        f"Instruction {k} loads the tap at offsets {[int(n) for n in away[k]]} (W first); each must be {demand}. "
        f"The DSL passes them on without a check, and the machine uses {[int(n) for n in reached(away[k : k + 1])[0]]}.",
        Where(gmem_side(analysis.copy), instruction=k),
        demanded(f"im2colOffsets[{i}]", value, demand, SOURCE),
    )


RULE = make_rule(
    "wrong",
    find,
    flagged=IM2COL | {"im2col": "filter=(3,1,1) padding=(16,0,0) dilation=(16,1,1)", "coord": "(0,2)"},
    twin={"im2col": "filter=(3,1,1) padding=(15,0,0) dilation=(15,1,1)"},
    explains=EFFECTS,
)
