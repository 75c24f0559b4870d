"""Labels of bytes of registers: 0 for what something has written, else the load that found nothing there."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered.types import parse_type
from layoutcheck.provenance.carry import Carry, carry, is_lanewise
from layoutcheck.provenance.refs import UNKNOWN, Array, Refs, refs_of
from layoutcheck.sources.mlir import Operation, integers

NOTHING = -1  # in an array of registers: no store has been here
CLEAN = Refs(np.zeros((1, 1), np.int64))  # of any size
# Operations that move bytes, and arithmetic of floating point: what is computed of any bits may be anything.
_FOLLOWED = re.compile(
    r"vector\.(?:extract|insert|bitcast|shape_cast|to_elements|from_elements|shuffle|(?:extract|insert)_strided_slice"
    r"|broadcast|splat|reduction|multi_reduction)"
    r"|(?:arith|llvm)\.(?:select|bitcast)|llvm\.(?:extract|insert)value|llvm\.freeze|builtin\.unrealized_conversion_cast"
    r"|arith\.(?:add|sub|mul|div|rem|neg|max(?:imum|num)|min(?:imum|num)|ext|trunc)f"
    r"|llvm\.f(?:add|sub|mul|div|neg|pext|ptrunc)|llvm\.intr\.(?:fma|fabs|sqrt|exp2?|log2?|(?:max|min)(?:num|imum))"
    r"|(?:arith|llvm)\.(?:addi?|subi?|extsi|extui|sext|zext|[su]itofp|fpto[su]i)|math\.(?!abs[i]|ct[lp]|cttz|ipowi)\w+"
    r"|nvvm\.(?:shfl\.sync|f(?:max|min|ma)|(?:add|sub|mul|fma)\.packed\.f32x2|(?:rcp|rsqrt|sqrt|ex2|lg2|tanh)\.[\w.]+)"
)


def hands_on(op: Operation) -> bool:
    """Whether the results of an operation may be bytes that nothing has written if its operands are.

    All others count as written: products, what reaches memory, bits that are put together, parts of a byte. A
    product of integers may be one with a mask of 0.
    """
    kinds = [parse_type(value.type) for value in (*op.operands, *op.results)]
    if any(part.bits < 8 for kind in kinds if kind.kind == "vector" for part in kind.parts if part.bits != 1):
        return False
    if op.name != "llvm.inline_asm":
        return _FOLLOWED.fullmatch(op.name) is not None
    sizes = {kind.size_bytes for kind in kinds}  # several in one register are no lanes of it
    return is_lanewise(op) and (len(kinds) == 2 or len(sizes) == 1)


def is_bare(value: Any) -> bool:
    """Whether nothing has written some byte of a value."""
    return isinstance(value, Refs) and value is not CLEAN and bool(value.at.any())


def labels_of(value: Any, size: int) -> Array:
    """The labels of a value of `size` bytes; what `carry` does not know counts as written."""
    if not isinstance(value, Refs) or value is CLEAN:
        return np.zeros((1, size), np.int64)
    at = refs_of(value, size)
    return np.where(at == UNKNOWN, 0, at) if (at == UNKNOWN).any() else at


def labelled(op: Operation) -> Carry:
    """What an operation does to labels: as `carry`; a reduction may have a number that it begins with."""
    if op.name not in ("vector.reduction", "vector.multi_reduction"):
        return carry(op)
    source, out = op.operands[0].type, parse_type(op.results[0].type).size_bytes
    shape = [int(one) for one in re.findall(r"([0-9]+)x", source)]
    reduced = integers(op.attributes.get("reduction_dims", "")) or range(len(shape))
    modes = tuple(1 + mode for mode in reduced)
    size = parse_type(source).size_bytes // math.prod(shape)

    def run(given: list[Array]) -> list[Array]:
        each = np.broadcast_to(given[0], (len(given[0]), size * math.prod(shape)))
        most = each.reshape(-1, *shape, size).max((*modes, -1)).reshape(len(each), -1)
        most = np.repeat(most, out // most.shape[1], 1)
        return [np.maximum(most, given[1]) if len(given) > 1 else most]

    return run


class Cells:
    """The labels of one array of registers, (threads, bytes); what its labels rest on.

    `clean` has a bit for each byte that is known to be written in all threads of `mask`.
    """

    def __init__(self, op: Operation, at: Array) -> None:
        self.op, self.at, self.rests = op, at, 0
        self.writers: dict[Operation, None] = {}
        self.mask: Any = ()
        self.clean = 0

    def _cells(self, offset: Any, width: int, mask: Any) -> tuple[Any, int]:
        """The index of bytes in the threads of `mask`, and their bits, 0 where threads differ."""
        rows: Any = slice(None) if mask is None else np.flatnonzero(mask)
        if isinstance(offset, int):
            return (rows, slice(offset, offset + width)), ((1 << width) - 1) << offset
        columns = np.clip(offset[:, None] + np.arange(width), 0, self.at.shape[1] - 1)
        return (np.arange(len(self.at))[rows, None], columns[rows]), 0

    def _known(self, bits: int, mask: Any) -> None:
        if self.mask is not mask:
            self.mask, self.clean = mask, 0
        self.clean |= bits

    def _is_clean(self, offset: Any, width: int, mask: Any) -> bool:
        """Whether bytes are known to be written in the threads of `mask`."""
        full = (1 << width) - 1
        return self.mask is mask and isinstance(offset, int) and self.clean >> offset & full == full

    def load(self, offset: Any, width: int, mask: Any, label: int) -> Refs:
        """The labels of bytes; `label` where nothing has written one."""
        if self._is_clean(offset, width, mask):
            return CLEAN
        if self.outside(offset, width, mask).size:
            return CLEAN  # no element of the array
        cells, bits = self._cells(offset, width, mask)
        found = np.zeros((len(self.at), width), np.int64)
        found[slice(None) if mask is None else mask] = np.where(
            self.at[cells] == NOTHING, label, self.at[cells]
        )
        if found.any():
            return Refs(found)
        self._known(bits, mask)
        return CLEAN

    def outside(self, offset: Any, width: int, mask: Any) -> Array:
        """The offsets of accesses that do not lie in the array."""
        if isinstance(offset, int):
            return np.array([offset] * (offset < 0 or offset + width > self.at.shape[1]), np.int64)
        at = offset if mask is None else offset[mask]
        return np.unique(at[(at < 0) | (at + width > self.at.shape[1])])

    def elsewhere(self, offset: Any, width: int) -> bool:
        """Whether another thread has written bytes that are unset in some: a predicate decides who does."""
        if not isinstance(offset, int):
            return False
        unset = self.at[:, offset : offset + width] != 0
        return bool((unset.any(0) & ~unset.all(0)).any())

    def store(
        self, op: Operation, offset: Any, width: int, mask: Any, labels: Array | None, rests: int
    ) -> None:
        """Put labels there in the threads of `mask`; None: all are written."""
        self.writers[op] = None
        if labels is None and self._is_clean(offset, width, mask):
            return
        cells, bits = self._cells(offset, width, mask)
        self.rests |= rests
        if labels is None:
            self.at[cells] = 0
            self._known(bits, mask)
        else:
            self.at[cells] = np.broadcast_to(labels, (len(self.at), width))[
                slice(None) if mask is None else mask
            ]
            self.clean = 0
