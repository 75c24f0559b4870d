"""LC605 swizzle-mismatch: a tile in shared memory is written through one swizzle and read through another.

## What it means

A kernel without a product moves elements from one global tensor to another, through shared memory. layoutcheck followed
them: elements arrive at other coordinates than those they were loaded from, and the coordinates differ as a swizzle changes
them, by an exclusive or of bits. The operation that writes the tile and the one that reads it see it through different swizzles.
In kernels with products the same mistake is [LC602](lc602.md) or [LC603](lc603.md). If the swizzle of a tensor map differs, only
[LC234](lc234.md) reports it, at the TMA copy.

## Why

One allocation has one layout, swizzle included, for all its users; the PTX ISA says the same of tensor maps and matrix
descriptors ("Swizzling modes"). Each copy alone is legal. On an H200 a tile that is stored through `S<3,4,3>` and read
by ldmatrix without it comes out permuted.

## How to fix it

Allocate the tile with its swizzle (`allocate_tensor(..., swizzle=...)`) and give this tensor to every copy. If a tensor
map has the swizzle, make the map from the same layout. If the order in the destination is intended, read and write the
tile through one view and permute the coordinates in the code.
"""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import page_rule


def tell(facts: dict[str, Any]) -> tuple[str, str]:
    """Both swizzles, and the first element that arrives elsewhere."""
    written, read = (f"swizzle {facts[key]}" if facts[key] else "no swizzle" for key in ("written", "read"))
    message = (
        f"the tile is written through {written} and read through {read}: {list(facts['at'])} of the tensor that is "
        f"stored gets {list(facts['held'])} of the one that is loaded; {facts['differ']:,} of {facts['of']:,} elements "
        f"change places. Give all users of the tile one layout, with its swizzle."
    )
    return "a shared tile is written and read through different swizzles", message


FLAGGED = """
raw = smem.allocate_tensor(dtype, cute.make_layout((64, 64), stride=(64, 1)), byte_alignment=1024)
swizzled = cute.recast_ptr(raw.iterator, cute.make_swizzle(3, 4, 3), dtype=dtype)
cute.copy(copy_g2s, tAgA, thr_copy.partition_D(cute.make_tensor(swizzled, raw.layout)))
cute.copy(ldmatrix, thr_matrix.partition_S(raw), registers)  # reads without the swizzle
"""
CLEAN = """
tile = smem.allocate_tensor(dtype, layout, byte_alignment=1024, swizzle=cute.make_swizzle(3, 4, 3))
cute.copy(copy_g2s, tAgA, thr_copy.partition_D(tile))
cute.copy(ldmatrix, thr_matrix.partition_S(tile), registers)
"""

RULE = page_rule(__doc__, "wrong", FLAGGED, CLEAN)
