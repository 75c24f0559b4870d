"""What operations on registers do to references: moved bytes take theirs along, arithmetic keeps places."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from layoutcheck.dsl.lowered.types import Type, parse_type
from layoutcheck.provenance.refs import MASKED, MIXED, UNKNOWN, Array, Combine, beside, elements, joined
from layoutcheck.sources.mlir import Operation, integer, integers

# The references of the operands -> those of the results.
Carry: TypeAlias = "Callable[[list[Array]], list[Array]]"

_SUMS = re.compile(r"(?:arith|llvm|nvvm|math)\.\w*(?:add|max|min)\w*")
_SAME = frozenset(
    ("llvm.bitcast", "vector.bitcast", "arith.bitcast", "vector.shape_cast", "vector.from_elements",
     "builtin.unrealized_conversion_cast", "llvm.freeze")
)  # fmt: skip
# PTX ISA, cvt: of `cvt...x2 d, a, b` the upper half of d comes from a, the lower from b.
_PACK = re.compile(r"cvt\.[\w.]*x2\.[\w.]*\s+[^,]+,\s*\$([0-9]+),\s*\$([0-9]+)")
_TIMES = re.compile(r"(?:mulf|fmul|fma|mul\.(?:rn\.|ftz\.)*f(?:32|16))")
_LESS = re.compile(r"(?:arith|llvm|nvvm)\.f?sub")
_INFINITY = re.compile(r"0xFF800000|-inf", re.IGNORECASE)
_PACKED = re.compile(r"nvvm\.(?:cvt\.packfloat|convert\.f32x2)")
_DOT = re.compile(r"^[\s{]*dp4a\.[su]32\.[su]32\s[^;]*;?[\s}]*$")
_LANEWISE = re.compile(
    r"^[\s{]*(?:\.reg[^;]*;\s*)*"
    r"(?:cvt\.(?:r[nzmp]i?\.|sat\.|satfinite\.|relu\.|ftz\.)*(?:[usbf]|bf|tf)[0-9]+\.(?:[usbf]|bf)[0-9]+\s"
    r"|(?:ex2|lg2|rcp|rsqrt|sqrt|tanh|sin|cos|fma|add|sub|mul|max|min|mov|neg|abs)\.)[^;]*;?[\s}]*$"
)


def carry(op: Operation, combine: Combine | None = None, every: bool = False) -> Carry:
    """The function of an operation that reaches no memory; `combine` is for elements that meet.

    They do in products and differences, in `every` operation if that is asked for.
    """
    kinds = [parse_type(v.type) for v in op.operands]
    made = [parse_type(v.type) for v in op.results]
    if any(kind.kind == "vector" and kind.parts[0].bits < 8 for kind in made):
        return lambda given: _unknown(given, made)
    name = op.name
    if is_masked(op):
        return lambda given: [np.full((1, max(1, kind.size_bytes)), MASKED, np.int64) for kind in made]
    if name in _SAME:  # an atom's type has no size: what is cast from it has no bytes of it
        whole = sum(kind.size_bytes for kind in kinds) == sum(kind.size_bytes for kind in made)
        return lambda given: [beside(given)] if whole else _unknown(given, made)
    if name == "vector.to_elements":
        size = made[0].size_bytes
        return lambda given: [given[0][:, i * size : (i + 1) * size] for i in range(len(made))]
    if name in ("vector.extract", "llvm.extractvalue", "vector.insert", "llvm.insertvalue"):
        return _part(op, kinds)
    if name in ("vector.shuffle", "vector.extract_strided_slice", "vector.insert_strided_slice"):
        return _rearranged(op, kinds, made)
    if name in ("vector.broadcast", "vector.splat"):
        count = max(1, made[0].size_bytes // max(1, kinds[0].size_bytes))
        return lambda given: [np.tile(given[0], (1, count))]
    if name.endswith((".cmpf", ".cmpi", ".icmp", ".fcmp")):
        return lambda given: [np.zeros((1, max(1, kind.size_bytes)), np.int64) for kind in made]
    if name.endswith(".select"):
        choose = _elementwise(op, kinds[1:], made)
        return lambda given: choose([np.where(x == MASKED, 0, x) for x in given[1:]])
    if name == "vector.reduction":
        return lambda given: [_reduced(elements(given[0], kinds[0]), made[0].size_bytes)]
    packs = _packing(op, kinds, made)
    if packs is not None:
        order, each = packs
        return lambda given: [beside([np.repeat(given[i][:, :1], each, 1) for i in order])]
    picked = _picked(op)
    if picked is not None:
        return lambda given: [_bytes_of(given, picked)]
    if "asm" in name and not is_lanewise(op):
        return lambda given: _unknown(given, made)
    if name.startswith(("nvvm.tcgen05", "nvvm.wgmma", "nvvm.mma")):
        return lambda given: _opaque(made)
    return _elementwise(op, kinds, made, combine, every)


def is_masked(op: Operation) -> bool:
    """Whether an operation is the constant minus infinity."""
    return not op.operands and _INFINITY.search(op.attributes.get("value", "")) is not None


def is_lanewise(op: Operation) -> bool:
    """Whether inline PTX is one instruction that computes its result from each of its operands."""
    return _LANEWISE.match(_assembly(op)) is not None


def multiplies(op: Operation) -> bool:
    """Whether an operation multiplies its first two operands, element by element."""
    return _TIMES.search(op.name + op.attributes.get("asm_string", "")) is not None


def _opaque(made: list[Type]) -> list[Array]:
    return [np.full((1, max(1, kind.size_bytes)), UNKNOWN, np.int64) for kind in made]


def _unknown(given: list[Array], made: list[Type]) -> list[Array]:
    """Results of which only this is known: whether anything that is followed went into them."""
    return _opaque(made) if any(one.any() for one in given) else [np.zeros_like(x) for x in _opaque(made)]


def _part(op: Operation, kinds: list[Type]) -> Carry:
    path = integers(op.attributes.get("position", op.attributes.get("static_position", ""))) or ()
    inserts = "insert" in op.name
    whole = (0 if op.name.startswith("llvm.") else 1) if inserts else 0
    offset, part = 0, kinds[whole]
    for index in path:
        if index < 0:
            return lambda given: [np.full_like(given[0][:1], UNKNOWN)]
        offset, part = offset + part.offset(index), part.part(index)
    size = part.size_bytes
    if not inserts:
        return lambda given: [given[0][:, offset : offset + size]]

    def put(given: list[Array]) -> list[Array]:
        into, new = given[whole], given[1 - whole]
        return [beside([p for p in (into[:, :offset], new, into[:, offset + size :]) if p.shape[1]])]

    return put


def _rearranged(op: Operation, kinds: list[Type], made: list[Type]) -> Carry:
    size = (made[0].parts[0] if made[0].parts else made[0]).size_bytes
    if op.name == "vector.shuffle":
        mask = integers(op.attributes.get("mask", ""))
        if not mask:
            return lambda given: _unknown(given, made)
        chosen = np.concatenate([np.arange(i * size, i * size + size) for i in mask])
        return lambda given: [beside(given)[:, chosen]]
    # one mode, of stride 1: the vectors of a lowered module are flat
    at = size * int(op.attributes.get("offsets", "[0]").strip("[]"))
    if op.name == "vector.extract_strided_slice":
        return lambda given: [given[0][:, at : at + made[0].size_bytes]]
    width = kinds[0].size_bytes
    return lambda given: [
        beside([p for p in (given[1][:, :at], given[0], given[1][:, at + width :]) if p.shape[1]])
    ]


def _reduced(at: Array, size: int) -> Array:
    first = np.where(at == MASKED, 0, at).max(1, keepdims=True)
    several = (at != first).any(1, keepdims=True) & (first > UNKNOWN)
    return np.repeat(np.where(several, first | MIXED, first), size, 1)


def _packing(op: Operation, kinds: list[Type], made: list[Type]) -> tuple[list[int], int] | None:
    """Of an instruction that rounds and packs: the operands in the order of the result, bytes of each."""
    if len(made) != 1:
        return None
    order: list[int] = []
    if "asm" in op.name:
        for match in _PACK.finditer(op.attributes.get("asm_string", "")):
            order += [int(match[2]) - 1, int(match[1]) - 1]
    elif _PACKED.match(op.name):
        order = [1, 0]
    size = made[0].size_bytes
    known = order and max(order) < len(kinds) and sorted(order) == list(range(len(order)))
    if not known or size % len(order) or any(kinds[i].size_bytes != 4 for i in order):
        return None
    return order, size // len(order)


def _assembly(op: Operation) -> str:
    return op.attributes.get("asm_string", "").strip('"').replace("\\0A", " ")


def _picked(op: Operation) -> list[int] | None:
    """The bytes of its first operand that dp4a adds up: those whose factor, a constant, is not 0.

    PTX ISA, dp4a: d = c + the sum over the four bytes of a and of b of their products.
    """
    if not _DOT.match(_assembly(op)) or len(op.operands) != 3:
        return None
    owner = op.operands[1].owner
    factors = integer(owner.attributes.get("value", "")) if isinstance(owner, Operation) else None
    return None if factors is None else [i for i in range(4) if factors >> 8 * i & 255]


def _bytes_of(given: list[Array], picked: list[int]) -> Array:
    found = given[2][:, :1]
    for i in picked:
        found = joined(found, given[0][:, i : i + 1], sums=True)
    return np.repeat(found, 4, 1)


def _elementwise(
    op: Operation, kinds: list[Type], made: list[Type], combine: Combine | None = None, every: bool = False
) -> Carry:
    times, less = multiplies(op), _subtracts(op)
    sums = bool(_SUMS.match(op.name)) and not less
    fused = "fma" in op.name or "fma." in op.attributes.get("asm_string", "")
    pairs = combine if times or less or every else None

    def run(given: list[Array]) -> list[Array]:
        found = []
        for kind in made:
            parts = [_as(at, source, kind) for at, source in zip(given, kinds, strict=True)]
            out = parts[0] if parts else np.zeros((1, kind.size_bytes), np.int64)
            for i, part in enumerate(parts[1:], 1):
                adds = sums or (fused and i == 2 and bool((out & MIXED).any()))
                out = joined(out, part, sums=adds, times=times and i == 1, combine=pairs if i == 1 else None)
            found.append(out)
        return found

    return run


def _subtracts(op: Operation) -> bool:
    """Whether an operation takes its second operand from the first: no step of a sum over elements."""
    if _LESS.match(op.name):
        return True
    if len(op.operands) != 2 or not _SUMS.match(op.name):
        return False
    owner = op.operands[1].owner
    made = [owner]
    if isinstance(owner, Operation) and owner.name == "vector.from_elements":
        made = [value.owner for value in owner.operands]
    return all(isinstance(one, Operation) and one.name in ("arith.negf", "llvm.fneg") for one in made)


def _as(at: Array, source: Type, target: Type) -> Array:
    """The references of an operand, element by element of the result."""
    if len(at) == 1 and not at.any():
        return np.zeros((1, target.size_bytes), np.int64)
    if source.size_bytes == target.size_bytes:
        return at
    count = target.count if target.kind == "vector" else 1
    own = source.count if source.kind == "vector" else 1
    each = target.size_bytes // count
    if own not in (1, count):
        return np.full((1, target.size_bytes), UNKNOWN, np.int64)
    chosen = elements(at, source)
    return np.repeat(np.broadcast_to(chosen, (len(chosen), count)), each, 1)
