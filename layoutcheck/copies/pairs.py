"""Which elements of the two views of a copy belong together, and the predicate's entry that decides each."""

from __future__ import annotations

import numpy as np

from layoutcheck.algebra.inttuple import rank
from layoutcheck.algebra.layout import Layout, text
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.offsets import (
    CompilerFails,
    IntArray,
    has_inner_rest,
    offsets_at,
    rest_modes,
    size,
    v_mode,
)


def refuse_source_v(copy: Copy, what: str) -> None:
    """Raises where the compiler dies on the source's V: it has modes that are not (atom, rest) of both sides.

    Measured for cp.async, ldmatrix and stmatrix.
    """
    src, dst = v_mode(copy.src.layout), v_mode(copy.dst.layout)
    if rank(src.shape) > 1 and not copy.splits_v:
        raise CompilerFails(
            f"the compiler dies lowering {what} whose source's V is {text(src.shape)} "
            f"and whose destination's is {text(dst.shape)}"
        )


def element_pairs(src: Layout, dst: Layout) -> tuple[IntArray, IntArray, int]:
    """Indices into V of corresponding elements, and how many elements have no partner.

    Where both V modes are ((n, m)) with different n, element (i, j) pairs with (i, j).
    """
    a, b = size(v_mode(src)), size(v_mode(dst))
    if a != b and has_inner_rest(src) and has_inner_rest(dst):
        n, m = size(v_mode(src)[0]), size(v_mode(dst)[0])
        inner = min(size(v_mode(src)[1]), size(v_mode(dst)[1]))
        i = np.arange(min(n, m), dtype=np.int64)
        j = np.arange(inner, dtype=np.int64)[:, None]
        return (i + j * n).reshape(-1), (i + j * m).reshape(-1), abs(a - b)
    both = np.arange(min(a, b), dtype=np.int64)
    return both, both, abs(a - b)


def rest_pairs(copy: Copy) -> int:
    """How often a copy iterates: the smaller size of the two sides' rest modes."""
    return min(size(rest_modes(copy.src.layout)), size(rest_modes(copy.dst.layout)))


def pred_of_elements(copy: Copy) -> IntArray | None:
    """The offset of the predicate's entry that guards each element of a thread; None without a predicate."""
    if copy.pred is None:
        return None
    _, index, _ = element_pairs(copy.src.layout, copy.dst.layout)
    rest = rest_pairs(copy)
    if copy.op == "basic_copy_if":
        return offsets_at(copy.pred.layout, np.arange(index.size * rest, dtype=np.int64))
    if has_inner_rest(copy.src.layout):
        index = index // size(v_mode(copy.src.layout)[0])
    return pred_offsets(copy.pred.layout, index, rest)


def pred_offsets(layout: Layout, index: IntArray, rest: int) -> IntArray:
    """A predicate's offset for indices into its mode 0 at each of `rest` iterations: [rest * index].

    A predicate too small for them is read past its end.
    """
    iterations = offsets_at(rest_modes(layout), np.arange(rest, dtype=np.int64))
    return (iterations[:, None] + offsets_at(v_mode(layout), index)).reshape(-1)
