"""`st.async`: stores of the atom's width, as the g2r family's (measured on the DSL, in its PTX)."""

from __future__ import annotations

from layoutcheck.atoms.dsmem import DsmemStore
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.plan import Plan, chunk_starts, refuse_chunks, vectors


def plan(copy: Copy, instance: Copy, atom: DsmemStore) -> Plan:
    """Stores of the atom's width wherever they fall."""
    n = max(1, atom.width_bits // copy.src.dtype.bits)
    refuse_chunks(copy, n)
    return vectors(copy, instance, chunk_starts(copy, n), atom.width_bits, atom.width_bits // 8)._replace(
        dst_op="st.async"
    )
