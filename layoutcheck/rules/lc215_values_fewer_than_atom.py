"""LC215 values-fewer-than-atom: a thread is given fewer values than its atom moves.

## What it means

With a value layout of 4 and an atom of 8, `make_tiled_copy_tv` widens V to 8. Neighbouring slices then
overlap by half, every other one starts at half the vector's alignment, and the last leaves the tile.

## Why

Measured on the DSL: the number of values is never compared with the atom's; V is the atom's n.

## How to fix it

Use a value layout of at least one whole vector, or a narrower copy:
`num_bits_per_copy = values * element bits`.
"""

from __future__ import annotations

from layoutcheck.algebra import inttuple
from layoutcheck.rules.effects import MISPLACED, evidence, misplaced, occurred, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule


def find(analysis: Analysis) -> Findings:
    """A tiled copy whose thread owns less than one instruction moves."""
    tiling = analysis.copy.tiling
    if tiling is None or not occurred(analysis):
        return
    values = inttuple.product(tiling.tiled.layout_tv[1].shape)
    n = analysis.per_instruction
    if not isinstance(values, int) or values % n == 0:
        return
    yield RULE.finding(
        f"a thread has {values} values, but one instruction moves {n}",
        f"The DSL widens V to whole {analysis.width_bits}-bit instructions, so slices overlap. "
        f"{sentence(analysis, 'misaligned_src', 'race', 'outside_dst')}",
        where(analysis, misplaced(analysis), "tiled"),
        {"values": values, "elements": n, **evidence(analysis, *MISPLACED)},
    )


RULE = make_rule(
    "wrong",
    find,
    flagged={
        "src": "(32,64):(64,1)",
        "dst": "(32,64):(64,1)",
        "dtype": "bf16",
        "thr": "(32,1)",
        "val": "(1,4)",
        "atom": "cp.async",
        "bits": 128,
    },
    twin={"val": "(1,8)"},
    explains=MISPLACED,
)
