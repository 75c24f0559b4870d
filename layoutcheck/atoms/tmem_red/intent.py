"""Intent of tcgen05.ld.red: that of tcgen05.ld, and one reduced value a thread for each of its rectangles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from layoutcheck.atoms.tmem.addresses import LABELS
from layoutcheck.atoms.tmem.intent import intent as load_intent
from layoutcheck.atoms.tmem_red import TmemLoadRed
from layoutcheck.copies.addresses import AUX_APART
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.lanes import atom_part, iterations_of, lane_offsets, matrix_iterations
from layoutcheck.copies.moves import Intent, Places
from layoutcheck.copies.offsets import IntArray, size
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
