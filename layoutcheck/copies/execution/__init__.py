"""Execution: what the machine does when a copy runs, as byte addresses.

Instruction k of thread t moves contiguous bytes from one address to another (or, for ldmatrix and stmatrix,
what those are defined to do). What is emitted is decided by the copy's *types*, dynamic strides and all:
the alignment that divisibility proves, the strides that are taken for 1 because they are unknown. Where it
goes is decided by the *values*, which a witness gives (analysis/instantiation.py). `execution` takes both.

Threads: with a tiling thread t works at the partition's offset of t; `block_threads` of them run, those
past the tiled copy's size continuing its thread layout out of the tile, as `get_slice(tid)` does. Without a
tiling there is one thread (a warp for ldmatrix and stmatrix, whose lanes' rows then lie far apart, since
only one lane's view is known).

Predicates (measured on DSL 4.8.1): each chunk asks the entry of its V[1] coordinate where V is ((n, m)); else
chunk j asks entry j, even where chunks are wider than one element. A floating-point predicate is folded to
false.
"""

from __future__ import annotations

import numpy as np

from layoutcheck.copies.addresses import swizzled, thread_offsets, unit_bits
from layoutcheck.copies.cluster import OUTSIDE
from layoutcheck.copies.compiler.types import default_width
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.execution.autovec import plan_autovec, plan_elements
from layoutcheck.copies.execution.bulk import address_bits, plan_bulk
from layoutcheck.copies.execution.cp_async import plan_cp_async
from layoutcheck.copies.execution.matrix import execute_matrix
from layoutcheck.copies.execution.plan import Plan
from layoutcheck.copies.execution.registers import plan_dsmem, plan_fixed, plan_universal
from layoutcheck.copies.execution.tmem import execute_s2t, execute_tmem
from layoutcheck.copies.moves import NOTHING, Access, Execution
from layoutcheck.copies.offsets import CompilerFails, limit, size
from layoutcheck.copies.tma.moves import execute_tma
from layoutcheck.errors import InputError
from layoutcheck.machine.atoms import (
    BulkCopy,
    CpAsync,
    DsmemStore,
    LdMatrix,
    RegisterCopy,
    S2TCopy,
    StMatrix,
    TmaCopy,
    TmemLoad,
    TmemStore,
    UniversalCopy,
)

__all__ = ["Access", "Execution", "execution"]


def execution(copy: Copy, src_base: int, dst_base: int, witness: Copy | None = None) -> Execution:
    """What the machine does for `copy` with its dynamic values as in `witness` (the copy itself if static).

    The bases are the byte addresses of the operands (of the whole tiles, with a tiling) before any swizzle.
    Raises TooLarge for copies of too many bytes, InputError where the atom or form is not modelled or the
    compiler fails after accepting.
    """
    done = _executed(copy, copy if witness is None else witness, src_base, dst_base)
    if copy.cluster is not None and copy.cluster.outside and done.dst.size:
        return done._replace(fault=OUTSIDE)
    return done


def _executed(copy: Copy, witness: Copy, src_base: int, dst_base: int) -> Execution:
    """`execution`, whatever the blocks that it writes to."""
    if isinstance(copy.atom, TmaCopy):
        return execute_tma(copy, witness, src_base, dst_base)
    for memref in (copy.src, copy.dst):
        size(memref.layout)  # extents must be known: nothing is emitted otherwise
    # A width of 0 is one element, where it is not the universal copy's "auto" (measured, DSL 4.8.1).
    atom = None if copy.atom is None else default_width(copy.atom)
    floating = copy.pred is not None and copy.pred.dtype.kind == "float"
    if floating and copy.op in ("copy", "copy_atom_call") and not isinstance(atom, CpAsync):
        # Only cp.async folds it to false (measured, DSL 4.8.1).
        raise CompilerFails("code generation fails on a floating-point predicate")
    threads = copy.tiling.block_threads if copy.tiling else None
    if isinstance(atom, (LdMatrix, StMatrix)):
        return execute_matrix(copy, witness, atom, src_base, dst_base, threads)
    if isinstance(atom, (TmemLoad, TmemStore)):
        return execute_tmem(witness, atom, src_base, dst_base, threads)
    if isinstance(atom, S2TCopy):
        return execute_s2t(witness, atom, dst_base)
    unit = unit_bits(copy)
    if copy.op in ("autovec_copy", "basic_copy"):
        plan = plan_autovec(copy, witness)
    elif copy.op == "basic_copy_if":
        plan = plan_elements(copy, witness)
    elif isinstance(atom, UniversalCopy):
        plan = plan_universal(copy, witness, atom)
    elif isinstance(atom, RegisterCopy):
        plan = plan_fixed(copy, witness, atom)
    elif isinstance(atom, BulkCopy):
        plan = plan_bulk(copy, witness, atom)
        threads = threads or (copy.issue.threads if copy.issue else None)
    elif isinstance(atom, DsmemStore):
        plan = plan_dsmem(copy, witness, atom)
    elif isinstance(atom, CpAsync):
        plan = plan_cp_async(copy, witness, atom)
    else:
        raise InputError(f"the execution of {atom} is not modelled")
    return _placed(copy, witness, plan, src_base, dst_base, unit, threads)


def _placed(
    copy: Copy, witness: Copy, plan: Plan, src_base: int, dst_base: int, unit: int, threads: int | None
) -> Execution:
    """The plan at its addresses, for every thread, cut in accesses."""
    units = plan.bits // unit
    step = max(1, min(plan.src_bytes, plan.dst_bytes))
    pieces = max(1, plan.bits // 8 // step)
    moves = []
    accesses: list[tuple[Access, ...]] = []
    for side, memref, base, at, op, width_bytes, slip in (
        ("src", witness.src, src_base, plan.src_at, plan.src_op, plan.src_bytes, plan.src_slip),
        ("dst", witness.dst, dst_base, plan.dst_at, plan.dst_op, plan.dst_bytes, plan.dst_slip),
    ):
        thread = thread_offsets(witness, side, threads)
        limit(at.size * thread.size * units)
        if plan.linear:
            first = (at[:, None] + thread * address_bits(memref)) // unit + base * (8 // unit)
        else:
            first = (at[:, None] + thread) * (memref.dtype.bits // unit) + base * (8 // unit)
            first = swizzled(memref, first, unit)  # chunk, thread
        if slip is not None:
            first += slip[:, None] * (8 // unit)
        if pieces > 1:
            cuts = np.arange(0, units, units // pieces, dtype=np.int64)
            first = (first[:, None, :] + cuts[:, None]).reshape(-1, thread.size)
        moves.append(first[:, :, None] + np.arange(units // pieces, dtype=np.int64))
        starts = first[:: max(1, width_bytes // step)]
        if unit != 8:
            starts = starts // (8 // unit)
        access = Access(op, memref.space, width_bytes, starts, plan.align_bytes)
        accesses.append(() if memref.space == "rmem" else (access,))
    if plan.data_bits < plan.bits:
        moves[0][:, :, plan.data_bits // unit :] = NOTHING
    pred = None if plan.pred is None else np.repeat(plan.pred, pieces)
    never = copy.pred is not None and copy.pred.dtype.kind == "float"
    return Execution(
        moves[0],
        moves[1],
        unit,
        accesses[0],
        accesses[1],
        pred,
        zero_fills=plan.dst_op == "cp.async",
        never=never,
    )
