"""Steps of products: mma.sync, wgmma, tcgen05.mma, and loads and stores of tensor memory."""

from __future__ import annotations

import re

import numpy as np

from layoutcheck.dsl.lowered.machine import Step
from layoutcheck.dsl.lowered.types import parse_type
from layoutcheck.dsl.lowered.values import number
from layoutcheck.order.describe import WGMMA
from layoutcheck.provenance.fragments import tensor_cells
from layoutcheck.provenance.refs import Refs, refs_of
from layoutcheck.provenance.tracker import KIND, Tracker
from layoutcheck.sources.mlir import Operation, integers
from layoutcheck.sources.mlir import Value as SsaValue

BLOCK_SCALED = "nvvm.tcgen05.mma.block_scale"
TENSOR_MEMORY = ("nvvm.tcgen05.ld", "nvvm.tcgen05.st")
_TENSOR_SHAPE = re.compile(r"shape_([0-9]+)x([0-9]+)b(?!x)")
_SHAPE = re.compile(r"m = ([0-9]+), n = ([0-9]+), k = ([0-9]+)")
_TCGEN05 = re.compile(r"nvvm\.tcgen05\.mma(?![.\w]*smem_desc)")
_MOST_SUMS = 128 * 256  # accumulators of one tcgen05.mma in one block


def is_wgmma(op: Operation) -> bool:
    """Whether an operation is a wgmma.mma_async, of inline assembly."""
    return op.name == "llvm.inline_asm" and "wgmma.mma_async" in op.attributes.get("asm_string", "")


def is_tcgen05(op: Operation) -> bool:
    """Whether an operation is a tcgen05.mma."""
    return _TCGEN05.match(op.name) is not None


def is_product(op: Operation) -> bool:
    """Whether an operation is an instruction of the tensor cores."""
    return op.name == "nvvm.mma.sync" or is_wgmma(op) or is_tcgen05(op)


def instruction_of(op: Operation) -> str:
    """The PTX name of a product."""
    return "wgmma" if is_wgmma(op) else "tcgen05.mma" if is_tcgen05(op) else "mma.sync"


def accumulator_count(op: Operation) -> int:
    """How many registers of accumulators a wgmma has: these operands come first."""
    kind = parse_type(op.results[0].type)
    return len(kind.parts) if kind.kind == "struct" else 1


def scale_of(op: Operation) -> list[SsaValue]:
    """The operand that says whether the accumulators count: the first word behind the descriptor of B."""
    wide = [i for i, v in enumerate(op.operands) if v.type == "i64"]
    return op.operands[wide[-1] + 1 : wide[-1] + 2] if wide else []


def mma(on: Tracker, op: Operation) -> Step:
    """`mma.sync` of one warp or more."""
    machine, values = on.machine, on.machine.values
    sizes = integers(op.attributes.get("operandSegmentSizes", "")) or (0, 0, 0)
    slots = [(on.slots[v], parse_type(v.type).size_bytes) for v in op.operands]
    cuts = (sizes[0], sizes[0] + sizes[1], sum(sizes[:3]))
    out, kind = on.slots[op.results[0]], parse_type(op.results[0].type)
    shape = _SHAPE.search(op.attributes.get("shape", ""))
    types = tuple(
        KIND.search(op.attributes.get(k, "")) for k in ("multiplicandAPtxType", "multiplicandBPtxType")
    )
    names = tuple(t[1] if t else "" for t in types)
    facts = {"shape": tuple(map(int, shape.groups())) if shape else (), "types": names}
    sparse = "sp" in op.name.split(".")[-1:]

    def run() -> None:
        given = [refs_of(values[slot], n) for slot, n in slots]
        a, b, c = (
            np.concatenate([np.broadcast_to(x, (on.threads, x.shape[1])) for x in part], 1)
            for part in (given[: cuts[0]], given[cuts[0] : cuts[1]], given[cuts[1] : cuts[2]])
        )
        result = on.accumulated(c, kind, np.ones(on.threads, bool))
        values[out], machine.provenance[out] = Refs(result), on.unsaid
        lost = "sparse" if sparse else ""
        on.note("mma", op, refs=(a, b, result), facts=facts, lost=lost)

    return run


def tcgen05(on: Tracker, op: Operation) -> Step:
    """tcgen05.mma: accumulators, A, B, the instruction's descriptor, whether the accumulators count.

    What is behind these are the places of scale factors, which are not followed.
    """
    values = on.machine.values
    slots = [on.slots[v] for v in op.operands[:5]]
    plain = op.name in ("nvvm.tcgen05.mma", BLOCK_SCALED) and len(slots) == 5 and op.operands[4].type == "i1"
    kind = KIND.search(op.attributes.get("kind", ""))
    facts = {
        "kind": kind[1] if kind else "", "pair": "cta_2" in op.attributes.get("ctaGroup", ""),
        "in_tensor_memory": parse_type(op.operands[1].type).kind == "pointer",
    }  # fmt: skip

    plain = plain and not (op.name == BLOCK_SCALED and facts["in_tensor_memory"])

    def run() -> None:
        lost = (
            on.unknown_source(*slots)
            if plain
            else "a sparse tcgen05.mma, or block scales and A in tensor memory"
        )
        base = on.next
        on.next += _MOST_SUMS
        numbers = tuple(number(values[slot]) for slot in slots)
        on.note("tcgen05", op, base=base, numbers=numbers, facts=facts, lost=lost)

    return run


def tensor_memory(on: Tracker, op: Operation) -> Step:
    """tcgen05.ld and tcgen05.st of every shape but 16x32bx2, and not packed."""
    machine, values = on.machine, on.machine.values
    load = op.name == TENSOR_MEMORY[0]
    pointer = next(v for v in op.operands if parse_type(v.type).kind == "pointer")
    data = (
        op.results[0] if load else next(v for v in op.operands[::-1] if v.type != "i1" and v is not pointer)
    )
    at, slot, width = on.slots[pointer], on.slots[data], parse_type(data.type).size_bytes
    shape = _TENSOR_SHAPE.search(op.attributes.get("shape", ""))
    cells = None
    if shape is not None and "pack" not in op.attributes:
        cells = tensor_cells(int(shape[1]), int(shape[2]), width)
    facts = {"cells": cells}

    def run() -> None:
        lost = on.unknown_why(at) or (
            "" if cells is not None else "tensor memory in packed halves or two parts"
        )
        address = number(values[at])
        if load:
            base, refs = on.fresh(width)
            values[slot], machine.provenance[slot] = refs, on.unsaid
            on.note("tensor_load", op, address, width=width, base=base, facts=facts, lost=lost)
        else:
            given = (refs_of(values[slot], width),)
            on.note("tensor_store", op, address, width=width, refs=given, facts=facts, lost=lost)

    return run


def wgmma(on: Tracker, op: Operation) -> Step:
    """`wgmma`: descriptors, or A in registers; accumulators that may not count."""
    machine, values = on.machine, on.machine.values
    match = WGMMA.search(op.attributes.get("asm_string", ""))
    count, kind, out = accumulator_count(op), parse_type(op.results[0].type), on.slots[op.results[0]]
    rest = op.operands[count:]
    wide = [on.slots[v] for v in rest if v.type == "i64"]
    first = next((i for i, v in enumerate(rest) if v.type == "i64"), 0)
    registers = [on.slots[v] for v in rest[:first]]
    accumulators = [(on.slots[v], parse_type(v.type).size_bytes) for v in op.operands[:count]]
    scale = [on.slots[v] for v in scale_of(op)]
    facts = {"match": match, "majors": on.meanings[op].facts["majors"]}

    def run() -> None:
        before = [refs_of(values[slot], n) for slot, n in accumulators]
        c = np.concatenate([np.broadcast_to(x, (on.threads, x.shape[1])) for x in before], 1)
        keeps = np.broadcast_to(np.asarray(number(values[scale[0]]) if scale else 1) != 0, (on.threads,))
        result = on.accumulated(c, kind, keeps)
        values[out], machine.provenance[out] = Refs(result), on.unsaid
        a = tuple(refs_of(values[slot], 4) for slot in registers)
        descriptors, why = tuple(number(values[slot]) for slot in wide), on.unknown_source(*wide, *scale)
        on.note("wgmma", op, refs=(*a, result), facts=facts, numbers=descriptors, lost=why)

    return run
