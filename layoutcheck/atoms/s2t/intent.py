"""Intent of tcgen05.cp: every element of V is the part of the row that its own lane and column stand for."""

from __future__ import annotations

import numpy as np

from layoutcheck.atoms.s2t import S2TCopy
from layoutcheck.atoms.s2t.execution import LABEL, rows_of
from layoutcheck.atoms.tmem.addresses import LANE_BYTES
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.lanes import atom_part, matrix_iterations
from layoutcheck.copies.moves import Intent, Places
from layoutcheck.copies.offsets import limit, offsets
from layoutcheck.errors import InputError


def intent(copy: Copy, atom: S2TCopy, _src_base: int, dst_base: int) -> Intent:
    """Every element of V is the part of the row that its own lane and column stand for.

    Of 4x256b V may also name the whole rectangle of 128 lanes that is "refreshed" (atoms/s2t), as
    `make_s2t_copy` has it partitioned: the four lanes that are written are then what is asked.
    """
    bits, unit = copy.dst.dtype.bits, 4 if copy.dst.dtype.bits == 4 else 8
    if bits % unit:
        raise InputError(f"tcgen05.cp of {bits}-bit elements is not modelled")
    at = offsets(atom_part(copy.dst.layout)) * (bits // unit)
    relative = (at[:, None] + np.arange(bits // unit, dtype=np.int64)).reshape(-1)
    rows, row_units = rows_of(atom), atom.width_bits // unit
    lane, within = np.divmod(relative, LANE_BYTES * 8 // unit)
    inside = (lane >= 0) & (lane < rows.size) & (within < row_units)
    row = rows[np.where(inside, lane, 0)]
    label = np.where(inside & (row >= 0), row * row_units + within, LABEL // 2 + relative)
    unmatched = 0 if inside.all() else int(np.count_nonzero(~inside)) * unit // bits
    if atom.lanes == 4 and np.unique(relative[inside]).size == rows.size * row_units:
        relative, label = relative[row >= 0], label[row >= 0]
    steps = matrix_iterations(copy)[1] * (bits // unit)
    limit(steps.size * relative.size)
    src = np.arange(steps.size, dtype=np.int64)[:, None] * LABEL + label
    dst = steps[:, None] + relative + dst_base * (8 // unit)
    return Intent(Places(src.reshape(-1, 1), 1), Places(dst.reshape(-1, 1), 1), unit, None, unmatched)
