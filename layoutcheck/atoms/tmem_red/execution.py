"""tcgen05.ld.red: what the emitted instructions do (PTX ISA; none of it was run on a Blackwell GPU).

Measured on the DSL, in PTX: one instruction for each V[1] coordinate and rest coordinate, of the *atom's*
repetitions, whatever the registers hold: more values than a thread's V has are stored past its end. The
reduced value of each goes where the second destination has that coordinate, whatever the extents there.

The reduced value stands for no byte of memory: its source is a label, of the instruction and the thread.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from layoutcheck.atoms.tmem.addresses import LABELS
from layoutcheck.atoms.tmem.execution import instructions, refuse_mixed
from layoutcheck.atoms.tmem.execution import intent as load_intent
from layoutcheck.atoms.tmem_red import TmemLoadRed
from layoutcheck.copies.addresses import AUX_APART
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.lanes import atom_part, iterations_of, lane_offsets, matrix_iterations
from layoutcheck.copies.moves import Execution, Intent, Places
from layoutcheck.copies.offsets import (
    CompilerFails,
    IntArray,
    has_inner_rest,
    offsets_at,
    rest_modes,
    size,
    v_mode,
)
from layoutcheck.errors import InputError

WORD_BYTES = 4


def aux_base(dst_base: int) -> int:
    """Where a thread's registers of the second destination begin."""
    return dst_base + AUX_APART


def labels(count: int, threads: int) -> IntArray:
    """[instruction, thread] -> the label that stands for its reduced value."""
    nth = np.arange(count * threads, dtype=np.int64).reshape(count, threads)
    return LABELS + nth * WORD_BYTES


def bytes_of(words: IntArray) -> IntArray:
    """[..., byte] of words that begin there."""
    return words[..., None] + np.arange(WORD_BYTES, dtype=np.int64)


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


def intent(copy: Copy, atom: TmemLoadRed, src_base: int, dst_base: int) -> Intent:
    """Element i of the second destination is the reduction of what rectangle i is loaded to."""
    aux = copy.aux
    assert aux is not None  # the verifier asks for it
    if copy.dst.dtype.bits != 32 or copy.src.dtype.bits != 32:
        raise InputError(f"reductions of {copy.src.dtype} to {copy.dst.dtype} are not modelled")
    asked = load_intent(copy, atom, src_base, dst_base)
    at, count = iterations_of(aux), matrix_iterations(copy)[0].size
    both = min(at.size, count)
    lanes = lane_offsets(copy, "dst").reshape(-1)
    reduced = aux_base(dst_base) + (at[:both, None] + lanes) * WORD_BYTES
    sides = ((asked.src, labels(count, lanes.size)[:both]), (asked.dst, reduced))
    src, dst = (Places.of(np.concatenate([loaded, bytes_of(word)])) for loaded, word in sides)
    unmatched = asked.unmatched + abs(at.size - count) + abs(size(atom_part(aux.layout)) - 1)
    return replace(asked, source=src, target=dst, unmatched=unmatched)
