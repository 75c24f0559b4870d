"""The g2r family: loads and stores of a fixed width (measured on the DSL, in its PTX).

For every rest coordinate and every n = width / element elements of V there is one access of the width,
aligned to it, no matter what is proved. Strides are not looked at again: n contiguous elements are moved
whatever the layout.
"""

from __future__ import annotations

from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.register.attributes import refused
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.offsets import CompilerFails
from layoutcheck.copies.plan import NIBBLES_MOST_BYTES, Plan, chunk_starts, refuse_chunks, vectors


def plan(copy: Copy, instance: Copy, atom: RegisterCopy) -> Plan:
    """Accesses of the atom's width wherever they fall. Raises CompilerFails for what ptxas refuses."""
    width = atom.width_bits
    memory = copy.dst if atom.kind[0] == "r" else copy.src
    vector = width > max(32, min(64, copy.src.dtype.bits))
    if why := refused(atom.kind, memory.space, vector, atom.options):
        raise CompilerFails(f"ptxas refuses it: {why}")
    n = max(1, width // copy.src.dtype.bits)
    refuse_chunks(copy, n)
    starts = chunk_starts(copy, n)
    most = NIBBLES_MOST_BYTES if copy.src.dtype.bits == 4 else width
    return vectors(copy, instance, starts, width, min(max(1, width // 8), most))
