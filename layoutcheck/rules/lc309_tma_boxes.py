"""LC309 tma-boxes: a TMA copy takes more instructions than its tile needs.

## What it means

The DSL follows the shared layout as far as it runs along the global tensor, and issues one instruction for
each such box. A layout interrupts the run where its rows are longer than the swizzle's span or 256
elements. It makes boxes of a single row: a tile of (64,128) bf16 under S<3,4,3> in plain row-major order
takes 128 instructions instead of 2.

## Why

Read from the boxes of the DSL (also tile-ai/tilelang#2630). One instruction moves a box of at most 256
elements along each dimension, and of the swizzle's span along the first (CUDA Driver API,
cuTensorMapEncodeTiled); the elected thread issues them one by one.

## How to fix it

Lay the tile out in atoms as wide as the span: `tile_to_shape` of (8,64):(64,1) for bf16 under S<3,4,3>,
that is (64,(64,2)):(64,(1,4096)) for a tile of (64,128).

## How to silence it

Silence it if the tile is copied once and nothing waits for it.
"""

from __future__ import annotations

from layoutcheck.atoms.tma.plan import fewest_boxes, smem_side
from layoutcheck.rules.rule import TMA, Analysis, Findings, Where, make_rule
from layoutcheck.rules.tma import whole_tma


def find(analysis: Analysis) -> Findings:
    """More boxes than the limits on boxes ask for."""
    found = whole_tma(analysis)
    if found is None or analysis.effect is not None:
        return
    made, ideal = found.plan.boxes, fewest_boxes(analysis.copy)
    if made <= ideal:
        return
    yield RULE.finding(
        f"{made} TMA instructions instead of {ideal}",
        f"Boxes of {found.map.box} follow shared memory {found.described.layout}; in atoms as wide as the "
        f"{'swizzle' if found.map.swizzle != 'none' else 'box'} allows the tile takes {ideal}.",
        Where(smem_side(analysis.copy)),
        {"instructions": made, "ideal": ideal, "ratio": round(made / ideal, 1), "box": list(found.map.box)},
    )


RULE = make_rule(
    "slow",
    find,
    flagged=TMA | {"dst": '!cute.memref<bf16, smem, align<1024>, S<3,4,3>, "(64,128):(128,1)">'},
    twin={"dst": '!cute.memref<bf16, smem, align<1024>, S<3,4,3>, "(64,(64,2)):(64,(1,4096))">'},
)
