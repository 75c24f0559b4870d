"""The second destination as addresses: a word of each thread for every instruction."""

from __future__ import annotations

import numpy as np

from layoutcheck.atoms.tmem.addresses import LABELS
from layoutcheck.copies.addresses import AUX_APART
from layoutcheck.copies.offsets import IntArray

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
