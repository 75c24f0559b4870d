"""What every report carries: what was inferred of the operands, what the machine executes, a vector drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import crd2idx
from layoutcheck.analysis.vector import elements, width_bits
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import Execution
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.copies.vectors import max_vector
from layoutcheck.errors import InputError
from layoutcheck.machine.cost import predicted_time

if TYPE_CHECKING:
    from layoutcheck.analysis import Analysis


def inference(analysis: Analysis) -> dict[str, Any]:
    """The JSON schema's `inference`: proved alignment of both sides, the widest vector, what limits it."""
    src, dst = analysis.copy.src, analysis.copy.dst
    if isinstance(src, OtherOperand) or isinstance(dst, OtherOperand):
        return {}
    found: dict[str, Any] = {
        "src_align_bytes": src.access_align_bytes,
        "dst_align_bytes": dst.access_align_bytes,
    }
    try:
        widest = max_vector(src, dst)
    except InputError as error:
        return {**found, "max_vector_bits": None, "limit": error.message}
    return {**found, "max_vector_bits": widest.bits, "limit": widest.limit}


def issued(analysis: Analysis) -> dict[str, Any]:
    """The JSON schema's `execution`: what one thread issues. Empty for a copy that never runs."""
    if not analysis.runs:
        return {}
    run = analysis.runs[-1]
    done, asked = run.execution, run.intent
    units_per_byte = 8 // done.unit_bits
    threads = max(1, done.source.shape[1])
    widths = sorted({a.width_bytes * 8 for a in (*done.src_accesses, *done.dst_accesses)})
    return {
        **_traffic(analysis),
        "instructions_per_thread": done.instructions * run.times,
        "width_bits": widths[0] if widths else analysis.width_bits,
        "operations": {name: count * run.times for name, count in operations(done).items()},
        "threads": threads,
        "bytes_per_thread": done.target.size // threads // units_per_byte * run.times,
        "bytes_asked": asked.target.size // units_per_byte * run.times,
        "ideal_instructions_per_thread": _ideal(analysis, done) * run.times,
    }


def _traffic(analysis: Analysis) -> dict[str, Any]:
    """Wavefronts, sectors and predicted cycles of all warps together, where every address is known."""
    found = analysis.cost
    if found is None:
        return {}
    shared = [side for side in found.sides if side.ideal_wavefronts]
    memory = [side for side in found.sides if side.ideal_sectors]
    times = analysis.runs[-1].times
    return {
        "smem_wavefronts": sum(side.wavefronts for side in shared) * times,
        "ideal_smem_wavefronts": sum(side.ideal_wavefronts for side in shared) * times,
        "gmem_sectors": sum(side.sectors for side in memory) * times,
        "ideal_gmem_sectors": sum(side.ideal_sectors for side in memory) * times,
        "predicted_cycles": round(predicted_time(found.counts).cycles * times, 1),
    }


def operations(done: Execution) -> dict[str, int]:
    """PTX operations and how often one thread issues each: {"ld.global 16 B": 4}."""
    out: dict[str, int] = {}
    for access in done.issued:
        name = f"{access.op} {access.width_bytes} B"
        out[name] = out.get(name, 0) + access.addresses.shape[0]
    return out


def _ideal(analysis: Analysis, done: Execution) -> int:
    """The instructions of one thread if every access were as wide as `_widest`.

    Never more than there are: a bulk copy moves more at a time.
    """
    accesses = (*done.src_accesses, *done.dst_accesses)
    if accesses and accesses[0].space == "tmem":  # as wide as the fragment makes it (LC311)
        return done.instructions
    units_per_byte = 8 // done.unit_bits
    per_thread: int = -(-done.target.size // units_per_byte // max(1, done.target.shape[1]))
    sides = sum(side.space != "rmem" for side in (analysis.copy.src, analysis.copy.dst))
    if done.src_accesses and done.src_accesses[0].op.startswith("cp.async"):
        sides = 1
    whole = analysis.copy.tiling or analysis.copy
    width = min(_widest(whole.src), _widest(whole.dst))
    return min(done.instructions, max(1, -(-per_thread // width)) * max(1, sides))


def _widest(memref: Memref) -> int:
    """The bytes of the widest access: 16 (PTX ISA: the most of ld and cp.async), or what fits the rows.

    Rows in global memory that are a fixed pitch apart begin at multiples of no more than that.
    """
    if memref.space != "gmem":
        return 16
    strides = zip(flatten(memref.layout.shape), flatten(memref.layout.stride), strict=True)
    fixed = sorted((by, extent) for extent, by in strides if isinstance(by, int) and isinstance(extent, int))
    row, steps = 1, list[int]()
    for by, extent in fixed:
        if by == row:
            row *= extent
        elif extent != 1:
            steps.append(by * memref.dtype.bits // 8)
    return math.gcd(16, *(step for step in steps if step >= 16))


_MOST = 16  # elements drawn


def drawing(analysis: Analysis) -> dict[str, Any]:
    """`{"elements", "element_bytes", "width_bytes", "src": side, "dst": side}`, of the first instruction.

    A side is `{"asked": [byte offset or None], "used": [byte offset]}`: offsets from the address of the
    vector's first element; None where a run-time stride leaves it open, fewer where the view has no more
    elements. Empty where nothing is one vector.
    """
    copy = analysis.resolved if analysis.accepted else analysis.copy
    if isinstance(copy.src, OtherOperand) or isinstance(copy.dst, OtherOperand):
        return {}
    element_bits = copy.src.dtype.bits
    if copy.dst.dtype.bits != element_bits or element_bits % 8 or not width_bits(copy):
        return {}
    n = min(elements(copy), _MOST)
    size = element_bits // 8
    return {
        "elements": n,
        "element_bytes": size,
        "width_bytes": width_bits(copy) // 8,
        "src": {"asked": _asked(copy.src, n), "used": [i * size for i in range(n)]},
        "dst": {"asked": _asked(copy.dst, n), "used": [i * size for i in range(n)]},
    }


def _asked(memref: Memref, n: int) -> list[int | None]:
    """Byte offsets of the first n elements of the view by its layout; fewer where it has no more."""
    shape = tuple(n if isinstance(extent, Dynamic) else extent for extent in flatten(memref.layout.shape))
    stride = flatten(memref.layout.stride)
    count = math.prod(shape)
    offsets = [crd2idx(i, shape, stride) for i in range(min(n, count))]
    return [None if isinstance(offset, Dynamic) else offset * memref.dtype.bits // 8 for offset in offsets]
