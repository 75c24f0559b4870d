"""`predicate-per-vector`: a Boolean predicate with one entry an atom."""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes.draft import Analysis, Drafts
from layoutcheck.fixes.edit import edited
from layoutcheck.machine.dtypes import dtype

STRATEGY = "predicate-per-vector"


def propose(analysis: Analysis) -> Drafts:
    """The shape that the atom reads, in registers, of Booleans."""
    copy = analysis.copy
    if copy.pred is None:
        return
    pred = predicate_of(copy)
    if pred == copy.pred:
        return
    yield edited(
        STRATEGY,
        f"a Boolean predicate of shape {pred.layout.shape}, one entry for each atom",
        copy,
        replace(copy, pred=pred),
        "fill it: entry i says whether atom i is inside the tensor",
    )


def predicate_of(copy: Copy) -> Memref:
    """The predicate that the copy's atom reads."""
    return Memref(dtype("i8"), "rmem", Layout(_shape(copy)), 32)


def _shape(copy: Copy) -> object:
    """`basic_copy_if` takes one entry an element; the atoms one an atom of V = ((n, m))."""
    layout = copy.src.layout
    if copy.op == "basic_copy_if":
        return layout.shape
    v = layout[0].shape
    atoms = v[1] if isinstance(v, tuple) and len(v) == 2 else v
    return (atoms, *(mode.shape for mode in layout.modes[1:]))
