"""LC526 box-outside: every box of a tile that TMA loads is outside of the tensor, and brings zeros.

## What it means

A kernel loads tiles in a loop, each in several boxes. In one turn of the outer loop every box lies wholly outside of
the tensor, in another turn not. The sizes are those of a kernel without dynamic extents, or of a call of the program.

## Why

TMA fills with zeros what lies outside of the tensor (PTX ISA, cp.async.bulk.tensor; CUDA Driver API,
cuTensorMapEncodeTiled). It is no fault to the machine, and no sanitizer reports it. gemm_cuteDSL 6d24a83 counted the
tiles of k on, where the next tile of the output begins: every tile of a block but its first was 0.

It is a note, because a kernel may load what it does not use. Nothing is said of single boxes outside: the last tile
may hang over the end.

## How to fix it

Compare the coordinate with the tile that is meant. A pipeline's `state.count` goes on over the tiles of the output; the
number of the tile along k begins again with each. If the load is one that nothing uses, put it under a condition.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule, who


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The load, its coordinate and the extent."""
    place, facts = places[0], problem.facts
    return f"{line(place)} loads by TMA outside of its tensor, where there are zeros", (
        f"{who(place).capitalize()} loads a box of {facts['box']} elements at coordinate {facts['coordinate']} of a "
        f"mode that has {facts['extent']}. All boxes of this turn are outside; in another turn they are not."
    )


FLAGGED = """
while work_tile.is_valid_tile:
    for _ in cutlass.range(k_tiles):
        pipeline.producer_acquire(state)
        cute.copy(atom, gA[None, state.count], sA[None, state.index], tma_bar_ptr=bar)
        state.advance()
"""
CLEAN = """
while work_tile.is_valid_tile:
    for k_tile in cutlass.range(k_tiles):
        pipeline.producer_acquire(state)
        cute.copy(atom, gA[None, k_tile], sA[None, state.index], tma_bar_ptr=bar)
        state.advance()
"""

RULE = make_rule(__doc__, "note", ("box-outside",), tell, FLAGGED, CLEAN)
