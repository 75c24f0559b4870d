"""LC531 loaded-again: a bulk or TMA load brings the same bytes in every turn of its loop.

## What it means

The source of the load stays the same in all turns of all loops around it. Another load of the same loop moves on, and the
tensor has more than what is loaded. Most often an index is missing, or it is that of the first tile.

## Why

The copy is legal, within bounds and in order: only its data are wrong. FlashAttention b3f1b6a5 mended such a load: the
backward pass loaded the sums of the first tile of queries for each tile. It is a note, because a loop may load a tile again
that its shared memory has no room to keep; then the load can often stand in front of the loop.

## How to fix it

Use the loop's index in the source of the load. If one tile is meant, load it in front of the loop.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The load, and in how many turns it was met."""
    place = places[0]
    return (
        f"{line(place)} {place.what} the same bytes in every turn of its loop",
        f"Thread {place.thread} {place.what} from one place in all {problem.facts['turns']} turns, while another load of "
        "the loop moves on, and the tensor has more. Check the index of its source.",
    )


FLAGGED = """
for tile in range(tiles):
    cute.copy(tma_q, gQ[None, tile], sQ, tma_bar_ptr=bar)
    cute.copy(bulk, gSums[None, first], sSums, mbar_ptr=bar)
"""
CLEAN = """
for tile in range(tiles):
    cute.copy(tma_q, gQ[None, tile], sQ, tma_bar_ptr=bar)
    cute.copy(bulk, gSums[None, tile], sSums, mbar_ptr=bar)
"""

RULE = make_rule(__doc__, "note", ("loaded-again",), tell, FLAGGED, CLEAN)
