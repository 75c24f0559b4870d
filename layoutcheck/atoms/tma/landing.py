"""Where boxes land in shared memory, of whole tensors and of views alike, and the execution that they are.

Rows of a box under a swizzle lie a span apart, also where the box is narrower; the machine's swizzle acts on
the address of every byte (measured on an H200, docs/evidence/tma_probes.json).
"""

from __future__ import annotations

import numpy as np

from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.atoms.tma.descriptor import GROUP, machine_swizzle, row_pitch_bytes
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.moves import Access, Execution, Places
from layoutcheck.copies.offsets import IntArray
from layoutcheck.machine.arch import parse_arch

SMEM_ALIGN_BYTES = 128  # PTX ISA, cp.async.bulk.tensor; an H200 faults at less
OPS = {
    "load": "cp.async.bulk.tensor g2s",
    "store": "cp.async.bulk.tensor s2g",
    "reduce": "cp.reduce.async.bulk.tensor",
}


def with_gaps(elements: IntArray, unit: int, per: int) -> IntArray:
    """Where elements begin, in units, that lie one a byte but for 16 of them being packed together."""
    return elements // GROUP * (GROUP * 8 // unit) + elements % GROUP * per


def landed(
    copy: Copy, starts: IntArray, box: tuple[int, int], row_bytes: int, kind: str, unit: int, per: int,
    gaps: bool = False,
) -> IntArray:  # fmt: skip
    """The units of every box's elements, [box, element, unit], of boxes that begin at `starts`, in bytes.

    `box` is (elements, elements of a row); a row takes `row_bytes`, `kind` is the tensor map's swizzle.
    """
    row, along = np.divmod(np.arange(box[0], dtype=np.int64), box[1])
    pitch = row_pitch_bytes(row_bytes, kind) * 8 // unit
    local = row * pitch + (with_gaps(along, unit, per) if gaps else along * per)
    of_byte = 8 // unit
    at: IntArray = starts[:, None, None] * of_byte + local[:, None] + np.arange(per, dtype=np.int64)
    swizzle = machine_swizzle(kind, parse_arch(copy.arch).number)
    return at if swizzle is None else swizzle(at // of_byte) * of_byte + at % of_byte


def execution_of(
    copy: Copy, there: IntArray, here: IntArray, starts: IntArray, box_bytes: int, unit: int, fault: str
) -> Execution:
    """The moves between `there` in global memory, or coordinates, and `here`: [box, element, unit]."""
    atom = copy.atom
    assert isinstance(atom, TmaCopy)
    access = (Access(OPS[atom.kind], "smem", box_bytes, starts[:, None], SMEM_ALIGN_BYTES),)
    far, near = (Places.of(side.reshape(-1, 1, side.shape[-1])) for side in (there, here))
    if atom.loads:
        return Execution(far, near, unit, (), access, fault=fault)
    return Execution(near, far, unit, access, (), fault=fault)
