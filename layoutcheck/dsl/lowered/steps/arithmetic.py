"""Integer arithmetic beyond two operands and a result: casts, comparisons, choices, wide products, bits."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.integers import BINARY, compare, high_signed, high_unsigned
from layoutcheck.dsl.lowered.machine import Step
from layoutcheck.dsl.lowered.steps import Steps
from layoutcheck.dsl.lowered.types import parse_type
from layoutcheck.dsl.lowered.values import Value, number, select, unsigned, wrap
from layoutcheck.sources.mlir import Operation, integer

_ICMP = {
    name: i for i, name in enumerate(("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"))
}
# PTX ISA, mul: .hi keeps the upper half of the product.
_UPPER_HALF = re.compile(r'\A"mul\.hi\.([us])(?:32|64) \$0, \$1, \$2;"\Z')
# PTX ISA, shl and shr: amounts of the width and more give 0, as in BINARY's.
_SHIFT = re.compile(r'\A"(shl\.b|shr\.u)(?:32|64) \$0, \$1, \$2;"\Z')

EXTENDED = "nvvm.tcgen05_mma_smem_desc_v2"
_PEER = re.compile(r'\A"mapa\.shared::cluster\.u32 \$0, \$1, \$2;"\Z')


def _cast(steps: Steps, op: Operation) -> Step:
    before, after = (parse_type(one.type).element_bits for one in (op.operands[0], op.results[0]))
    if op.name in ("arith.extui", "llvm.zext", "arith.index_castui"):
        if before < 64:
            return steps.unary(op, lambda v: _map(v, lambda n: wrap(unsigned(n, before), after)))
    elif before == 1 and after > 1:
        return steps.unary(op, lambda v: _map(v, lambda n: -(n & 1)))
    return steps.unary(op, lambda v: _map(v, lambda n: wrap(n, after)))


def _map(value: Value, function: Callable[[Any], Any]) -> Value:
    return tuple(function(number(v)) for v in value) if isinstance(value, tuple) else function(number(value))


def _compare(steps: Steps, op: Operation) -> Step:
    text = op.attributes.get("predicate", "0")
    predicate = integer(text)
    if predicate is None:
        predicate = next((i for name, i in _ICMP.items() if name in text), 0)
    bits = parse_type(op.operands[0].type).element_bits
    return steps.binary(op, lambda a, b, _: compare(predicate, a, b, bits))


def _select(steps: Steps, op: Operation) -> Step:
    values, provenance = steps.machine.values, steps.machine.provenance
    c, a, b = (steps.slots[v] for v in op.operands)
    out = steps.slots[op.results[0]]

    def run() -> None:
        chosen = number(values[c])
        if isinstance(chosen, int):
            picked = a if chosen & 1 else b
            values[out], provenance[out] = values[picked], provenance[picked] | provenance[c]
        else:
            values[out] = select(chosen.astype(bool), values[a], values[b])
            provenance[out] = provenance[a] | provenance[b] | provenance[c]

    return run


def _pass(steps: Steps, op: Operation) -> Step:
    if not op.operands:  # a cast of a type that holds nothing
        return steps.constant(op, 0)
    return steps.unary(op, lambda v: v)


def _count_bits(steps: Steps, op: Operation) -> Step:
    bits = parse_type(op.results[0].type).bits
    operation = op.name.rsplit(".", 1)[1]

    def one(value: int) -> int:
        whole = value & ((1 << bits) - 1)
        if operation == "ctpop":
            return whole.bit_count()
        if operation == "ctlz":
            return bits - whole.bit_length()
        return (whole & -whole).bit_length() - 1 if whole else bits

    def run(value: Value) -> Value:
        found = number(value)
        return one(found) if isinstance(found, int) else np.array([one(int(v)) for v in found], np.int64)

    return steps.unary(op, run)


def _extended(steps: Steps, op: Operation) -> Step:
    """The two halves of a product."""
    bits = parse_type(op.results[0].type).bits
    upper = high_unsigned if "mului" in op.name else high_signed

    def halves(a: Value, b: Value) -> tuple[Value, Value]:
        x, y = number(a), number(b)
        return wrap(x * y, bits), upper(x, y, bits)

    return steps.apply(op, halves)


def _inline_asm(steps: Steps, op: Operation) -> Step:
    """Inline PTX: the upper half of a product (fast divisions), shifts (bit masks), mapa of 32 bits."""
    text = op.attributes.get("asm_string", "")
    if _PEER.match(text) and len(op.operands) == 2:
        return steps.binary(op, lambda address, rank, _bits: spaces.of_rank(address, rank))
    if (shift := _SHIFT.search(text)) is not None and len(op.operands) == 2:
        return steps.binary(op, BINARY["llvm.shl" if shift[1] == "shl.b" else "llvm.lshr"])
    match = _UPPER_HALF.search(text)
    if match is None or len(op.operands) != 2:
        return steps.assume(op, "blocked", "llvm.inline_asm is not evaluated")
    return steps.binary(op, high_unsigned if match[1] == "u" else high_signed)


def _funnel(steps: Steps, op: Operation) -> Step:
    """`llvm.intr.fshl` and `fshr`: a window of two words put together, shifted."""
    bits = parse_type(op.results[0].type).bits
    right = op.name.endswith("fshr")

    def one(high: int, low: int, by: int) -> int:
        whole = ((high & ((1 << bits) - 1)) << bits) | (low & ((1 << bits) - 1))
        by %= bits
        return int(wrap(whole >> (by if right else bits - by), bits))

    def each(*words: Value) -> tuple[Value]:
        given: list[Any] = [number(word) for word in words]
        if all(isinstance(n, int) for n in given):
            return (one(*given),)
        columns = np.broadcast_arrays(*given)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return (np.array([one(*row) for row in rows], np.int64),)

    return steps.apply(op, each)


def _matrix_descriptor(steps: Steps, op: Operation) -> Step:
    """The shared memory descriptor of tcgen05: PTX ISA, "Shared memory descriptor".

    Bits 46 to 48 are 1, or what the extended operation is given. It also says where segments of K begin, at
    bits that are not documented: with one that is not 0 the descriptor is not known.
    """
    values, provenance = steps.machine.values, steps.machine.provenance
    slots, out = [steps.slots[v] for v in op.operands], steps.slots[op.results[0]]
    fields = [(0x3FFF, 0), (0x3FFF, 16), (0x3FFF, 32), (7, 49), (1, 52), (7, 61)]
    fixed: int = 1 << 46
    if op.name == EXTENDED:
        fields[3:3], fields[6:6], fixed = [(7, 46)], [(0, 0)], 0
    unknown = steps.assume(op, "blocked", "a descriptor with segments of K is not evaluated")

    def run() -> None:
        found: Any = fixed
        for slot, (mask, shift) in zip(slots, fields, strict=True):
            value = number(values[slot])
            if not mask and np.any(value):
                unknown()
                return
            found = found | (value & mask) << shift
        values[out], provenance[out] = wrap(found, 64), steps.machine.rests_of(slots)

    return run


MAKERS: dict[str, Callable[[Steps, Operation], Step]] = {
    **dict.fromkeys(
        ("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui", "llvm.sext",
         "llvm.zext", "llvm.trunc"), _cast),
    **dict.fromkeys(("arith.cmpi", "llvm.icmp", "index.cmp"), _compare),
    **dict.fromkeys(("arith.select", "llvm.select"), _select),
    **dict.fromkeys(
        ("llvm.ptrtoint", "llvm.inttoptr", "vector.shape_cast", "builtin.unrealized_conversion_cast",
         "vector.broadcast", "vector.splat", "llvm.freeze", "nvvm.readfirstlane", "cuda.cast"), _pass),
    **dict.fromkeys(("math.ctpop", "math.ctlz", "math.cttz", "llvm.intr.ctpop"), _count_bits),
    **dict.fromkeys(("arith.mului_extended", "arith.mulsi_extended"), _extended),
    "llvm.inline_asm": _inline_asm,
    **dict.fromkeys(("nvvm.tcgen05.mma_smem_desc", EXTENDED), _matrix_descriptor),
    **dict.fromkeys(("llvm.intr.fshl", "llvm.intr.fshr"), _funnel),
}  # fmt: skip
