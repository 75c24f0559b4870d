"""What a view was recast from: `cute.recast_tensor` found again in printed IR.

The DSL recasts a tensor's pointer and its layout each by itself (measured): a pointer without
the swizzle of the old one, strides rounded up, and of elements that are not adjacent only the first part of
each. The types of a copy do not show it; the operations that made its operands do.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.errors import InputError
from layoutcheck.sources.mlir import Operation, Value
from layoutcheck.sources.types import parse_memref

MAX_STEPS = 64

# Operations whose result is a view of their first operand.
_VIEWS = frozenset(
    ("cute.slice", "cute.group_modes", "cute.get_iter", "cute.add_offset", "cute.coalesce",
     "cute.filter_zeros", "cute.flatten", "cute.append_to_rank", "cute.prepend_to_rank",
     "cute.logical_divide", "cute.zipped_divide", "cute.tiled_divide", "cute.flat_divide",
     "cute.local_tile", "cute.local_partition", "cute.composition", "cute.domain_offset",
     "cute.make_view", "cute.select", "cute.tiled.copy.retile")
)  # fmt: skip
_PARTITIONS = {"cute.tiled.copy.partition_S", "cute.tiled.copy.partition_D"}


def with_recasts(op: Operation, copy: Copy) -> Copy:
    """The copy whose operands, and the tensors they are partitions of, know what they were recast from."""
    for side, value in (("src", op.operands[1]), ("dst", op.operands[2])):
        view = copy.side(side)
        if isinstance(view, OtherOperand) or view.space == "rmem":
            continue
        found = recast_from(value)
        if found is None:
            continue
        copy = copy.on_side(side, partial(replace, recast_from=found))
    return copy


def recast_from(value: Value) -> Memref | None:
    """The tensor that `recast_tensor` was given, where a view was made through one and it has to be known.

    That is, where another view than this one of the same memory may mean other bytes: see the module's text.
    """
    for _ in range(MAX_STEPS):
        made = value.definition
        if made is None or not made.operands:
            return None
        if made.name == "cute.make_view":
            found = _recast(made)
            if found is not None:
                return found
        if made.name in _PARTITIONS:
            value = made.operands[1]
        elif made.name in _VIEWS:
            value = made.operands[0]
        else:
            return None
    return None


def _recast(made: Operation) -> Memref | None:
    """The tensor of which pointer and layout were recast to make this view."""
    if len(made.operands) < 2:
        return None
    pointer, layout = made.operands[0].definition, made.operands[1].definition
    if pointer is None or layout is None:
        return None
    if pointer.name != "cute.recast_iter" or layout.name != "cute.recast_layout":
        return None
    iterator, given = pointer.operands[0].definition, layout.operands[0].definition
    if iterator is None or iterator.name != "cute.get_iter":
        return None
    tensor = iterator.operands[0]
    if given is not None and given.name == "cute.get_layout" and given.operands[0] is not tensor:
        return None
    try:
        found = parse_memref(tensor.type)
    except InputError:
        return None
    return None if isinstance(found, OtherOperand) else found
