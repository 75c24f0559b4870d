"""tcgen05.ld.red: what the emitted instructions do (PTX ISA; none of it was run on a Blackwell GPU).

Measured on the DSL, in PTX: one instruction for each V[1] coordinate and rest coordinate, of the *atom's*
repetitions, whatever the registers hold: more values than a thread's V has are stored past its end. The
reduced value of each goes where the second destination has that coordinate, whatever the extents there.

The reduced value stands for no byte of memory: its source is a label, of the instruction and the thread.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from layoutcheck.atoms.tmem.execution import instructions, refuse_mixed
from layoutcheck.atoms.tmem_red import TmemLoadRed
from layoutcheck.atoms.tmem_red.intent import WORD_BYTES, aux_base, bytes_of, labels
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.lanes import lane_offsets, matrix_iterations
from layoutcheck.copies.moves import Execution, Places
from layoutcheck.copies.offsets import CompilerFails, has_inner_rest, offsets_at, rest_modes, size, v_mode
from layoutcheck.errors import InputError


def execute(typed: Copy, copy: Copy, atom: TmemLoadRed, src_base: int, dst_base: int) -> Execution:
    """The moves of one or more warps. Raises CompilerFails where code generation fails."""
    aux = copy.aux
    assert aux is not None  # the verifier asks for it
    if atom.lanes == 16 and atom.half_split_off is None:
        raise CompilerFails("code generation fails on a 16x32bx2 reduction without half_split_off")
    if copy.dst.dtype.bits != 32 or copy.src.dtype.bits != 32:
        raise InputError(f"reductions of {copy.src.dtype} to {copy.dst.dtype} are not modelled")
    refuse_mixed(copy)
    done = instructions(typed, copy, atom, src_base, dst_base, atom.split_columns)
    count = matrix_iterations(copy)[0].size
    inner = size(v_mode(copy.src.layout)[1]) if has_inner_rest(copy.src.layout) else 1
    nth = np.arange(count, dtype=np.int64)
    at = offsets_at(rest_modes(aux.layout), nth // inner)
    if has_inner_rest(aux.layout):
        at = at + offsets_at(v_mode(aux.layout)[1], nth % inner)
    elif inner > 1:
        raise InputError(f"V is (atom, rest) in {copy.src.layout}, not in {aux.layout}: not modelled")
    lanes = lane_offsets(copy, "dst", typed.block_threads).reshape(-1)
    reduced = aux_base(dst_base) + (at[:, None] + lanes) * WORD_BYTES
    sides = ((done.src, labels(count, lanes.size)), (done.dst, reduced))
    src, dst = (Places.of(np.concatenate([loaded, bytes_of(word)], axis=2)) for loaded, word in sides)
    return replace(done, source=src, target=dst)
