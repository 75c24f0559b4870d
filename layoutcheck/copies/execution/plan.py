"""`Plan`: the instructions of one thread before they have addresses; one family of atoms a file makes them.

A chunk is what the compiler moves at once: `bits` contiguous bits from `src_at[k]` to `dst_at[k]`, which are
offsets in elements from the thread's base. The pointer's swizzle is applied to the chunk's first byte only;
the rest of the chunk follows contiguously. A chunk is loaded and stored by accesses of `piece_bytes` each.
Of a chunk's bits the first `data_bits` come from the source, the others are zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from layoutcheck.copies.copy import Copy
from layoutcheck.copies.intent import pred_offsets, rest_pairs
from layoutcheck.copies.offsets import IntArray, limit, offsets, offsets_at, rest_modes, size, v_mode

MAX_ACCESS_BYTES = 16


@dataclass(frozen=True, slots=True)
class Plan:
    """`pred` is the predicate's offset that guards each chunk; see the module's text for the rest."""

    src_at: IntArray
    dst_at: IntArray
    bits: int
    piece_bytes: int
    src_op: str
    dst_op: str
    pred: IntArray | None = None
    data_bits: int = 0


# How PTX names the window of each space in an instruction.
WINDOW = {"gmem": "global", "smem": "shared", "dsmem": "shared", "generic": "generic", "rmem": "local"}


def vectors(
    copy: Copy,
    witness: Copy,
    starts: IntArray,
    bits: int,
    piece_bytes: int,
    dst_starts: IntArray | None = None,
    data_bits: int | None = None,
) -> Plan:
    """Chunks of `bits` at V indices `starts`, at every rest coordinate, in pieces of `piece_bytes`."""
    rest = rest_pairs(witness)
    limit(starts.size * rest * max(1, bits // 8))
    src_at, dst_at = (
        (offsets(rest_modes(layout))[:rest, None] + offsets_at(v_mode(layout), at)).reshape(-1)
        for layout, at in (
            (witness.src.layout, starts),
            (witness.dst.layout, starts if dst_starts is None else dst_starts),
        )
    )
    return Plan(
        src_at,
        dst_at,
        bits,
        piece_bytes,
        f"ld.{WINDOW[copy.src.space]}",
        f"st.{WINDOW[copy.dst.space]}",
        pred_offsets(witness, starts, rest) if copy.pred else None,
        data_bits=bits if data_bits is None else data_bits,
    )


def chunk_starts(copy: Copy, elements: int) -> IntArray:
    """0, n, 2n, ...: ceil(size(V) / n) chunks of n elements cover V, the last one perhaps more than V."""
    limit(size(v_mode(copy.src.layout)))
    return np.arange(0, size(v_mode(copy.src.layout)), elements, dtype=np.int64)
