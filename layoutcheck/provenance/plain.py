"""Whether k that no sum takes are a fault, where others come twice or copies have brought these.

Of k that come twice, what a sum adds up must be the plain elements of A and B.
Elements that are scaled may be weighted, as by 0 where a tile is taken only to have one. Which k are taken
must not rest on an integer that a run gives, nor on an extent of rows: with others none may come twice. Sums
that take all of their k equally often may be divided by that number before they are stored.
"""

from __future__ import annotations

import re

from layoutcheck.dsl.lowered.arguments import OTHERS
from layoutcheck.dsl.lowered.instructions import is_memory
from layoutcheck.dsl.lowered.needed import CARRIERS, SOURCES, Needed
from layoutcheck.dsl.lowered.types import GLOBAL, SHARED, TENSOR, parse_type
from layoutcheck.provenance.judged import Breach
from layoutcheck.provenance.matrix import TENSOR_MEMORY, is_product
from layoutcheck.provenance.products import Products
from layoutcheck.provenance.tracker import FLOAT
from layoutcheck.sources.mlir import Operation

_LEFT = "sums that never take some k of A and B"
GIVEN = f"{_LEFT}, where an integer or an extent that a run gives says which: if that is meant"
WEIGHED = f"{_LEFT}, and others twice, where elements or sums are computed with: if that is meant"
_PLAIN = CARRIERS | SOURCES | {
    "arith.constant", "arith.extf", "arith.truncf", "vector.broadcast", "vector.splat", *TENSOR_MEMORY
}  # fmt: skip
_PTX = re.compile(r"\b(?!cvt\b)[a-z]+[0-9]?\.(?:[\w.]*\.)?(?:b?f16|f32)")


def unproven(breach: Breach, kernel: Operation, products: Products) -> str:
    """Why nothing is said of k that are left; "" where that is wrong, or no more than a note."""
    if not (breach["twice"] or breach["unread"] or breach["guessed"]):
        return ""
    blocks = products.replay.blocks
    if any(what[1] == OTHERS for one in blocks for what in one.watched.reasons.read(one.rests)):
        return GIVEN
    return WEIGHED if breach["twice"] and _computes(kernel, bool(breach["evenly"])) else ""


def _computes(kernel: Operation, results: bool) -> bool:
    """Whether arithmetic, or a choice, may make what products take, or `results` that are stored."""
    every = list(kernel.walk())
    spaces = (SHARED, TENSOR, GLOBAL) if results else (SHARED, TENSOR)
    roots = [(op, op.operands, []) for op in every if is_product(op) or _stores(op, spaces)]
    return any(map(_changes, Needed(kernel, roots).operations))


def _stores(op: Operation, spaces: tuple[int, ...]) -> bool:
    """Whether an operation stores to one of these, or copies from there."""
    kinds = [parse_type(value.type) for value in op.operands if is_memory(op) and not op.results]
    return any(kind.kind == "pointer" and kind.space in spaces for kind in kinds)


def _changes(op: Operation) -> bool:
    """Whether an operation makes other elements of its operands."""
    if op.regions or is_product(op) or is_memory(op) or op.name in _PLAIN:
        return False
    if "asm" in op.name:
        return _PTX.search(op.attributes.get("asm_string", "")) is not None
    return any(FLOAT.search(value.type) for value in (*op.operands, *op.results))
