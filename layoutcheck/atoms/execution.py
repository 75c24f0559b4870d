"""Execution: what the machine does when a copy runs, as byte addresses.

Instruction k of thread t moves contiguous bytes from one address to another (or, for ldmatrix and stmatrix,
what those are defined to do). What is emitted is decided by the copy's *types*, dynamic strides and all:
the alignment that divisibility proves, the strides that are taken for 1 because they are unknown. Where it
goes is decided by the *values*, which an instance gives (analysis/instantiation.py). `execution` takes both.

Threads: with a tiling thread t works at the partition's offset of t; `block_threads` of them run, those
past the tiled copy's size continuing its thread layout out of the tile, as `get_slice(tid)` does. Without a
tiling there is one thread (a warp for ldmatrix and stmatrix, whose lanes' rows then lie far apart, since
only one lane's view is known).

Predicates (measured): each chunk asks the entry of its V[1] coordinate where V is ((n, m)); else
chunk j asks entry j, even where chunks are wider than one element. cp.async folds a floating-point predicate
to false.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from layoutcheck.atoms.family import family_of
from layoutcheck.copies.addresses import address_bits, as_stored, swizzled, thread_offsets, unit_bits
from layoutcheck.copies.atom import WarpAtom
from layoutcheck.copies.cluster import OUTSIDE
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.moves import NOTHING, Access, Execution, Places
from layoutcheck.copies.offsets import CompilerFails, limit, size
from layoutcheck.copies.plan import Plan, kept
from layoutcheck.errors import InputError

_LLVM_FLOATS = ("f16", "bf16", "f32", "f64")
_LOADED_BITS = (8, 16, 32, 64, 128)  # of an entry of a predicate; a boolean has a byte


def execution(copy: Copy, src_base: int, dst_base: int, instance: Copy | None = None) -> Execution:
    """What the machine does for `copy` with its dynamic values as in `instance` (the copy itself if static).

    The bases are the byte addresses of the operands (of the whole tiles, with a tiling) before any swizzle.
    Raises TooLarge for copies of too many bytes, InputError where the atom or form is not modelled or the
    compiler fails after accepting.
    """
    done = _executed(copy, as_stored(copy if instance is None else instance), src_base, dst_base)
    if copy.cluster is not None and copy.cluster.outside and done.target.size:
        return replace(done, fault=OUTSIDE)
    return done


def _executed(copy: Copy, instance: Copy, src_base: int, dst_base: int) -> Execution:
    """`execution`, whatever the blocks that it writes to."""
    own, atom = family_of(copy), copy.atom
    for memref in (copy.src, copy.dst) if not copy.needs_map else ():
        size(memref.layout)  # raises where an extent is of the run alone: nothing is emitted
    _refuse_spaces(copy)
    atom = None if atom is None else own.compiler.default(atom)
    if own.execute is not None:
        _refuse_predicate(copy)
        return own.execute(copy, instance, atom, src_base, dst_base)
    if own.plan is None:
        raise InputError(f"the execution of {atom} is not modelled")
    plan = own.plan(copy, instance, atom)
    _refuse_predicate(copy, vanishes=not plan.src_at.size)
    if copy.dst.spare is not None:
        plan = kept(plan, instance.dst, copy.dst.spare)
    return _placed(copy, instance, plan, src_base, dst_base, unit_bits(instance))


def _refuse_spaces(copy: Copy) -> None:
    """Raises for other spaces than the atom's, which copy_atom_call does not ask about (measured on the DSL).

    CompilerFails for cp.async, bulk copies and stores to other blocks; InputError for a warp's atom and for a
    store to another block of what no register holds, which may compile.
    """
    atom, spaces = copy.atom, (copy.src.space, copy.dst.space)
    own = atom.spaces if atom is not None and copy.op == "copy_atom_call" else None
    if own is None or own == spaces or (atom is not None and atom.family == "register"):
        return
    text = f"{atom} from {spaces[0]} to {spaces[1]}"
    if isinstance(atom, WarpAtom) or spaces[1] == "dsmem" == own[1]:
        raise InputError(f"what copy_atom_call makes of {text} is not modelled")
    raise CompilerFails(f"code generation fails on {text}")


def _folds(copy: Copy) -> bool:
    """Whether the compiler takes every entry of the predicate for false, and reads none."""
    floating = copy.pred is not None and copy.pred.dtype.kind == "float"
    return floating and copy.atom is not None and copy.atom.folds_float_pred


def _refuse_predicate(copy: Copy, *, vanishes: bool = False) -> None:
    """Raises CompilerFails for a type that code generation cannot test against zero (measured on the DSL).

    A copy tests integers, so LLVM's own floating-point types fail; of the others the bits are tested, as
    they are stored as integers. The loop of basic_copy_if compares numbers: there the others fail. A
    bulk copy that vanishes tests nothing, but an integer that cannot be loaded ends the compiler there, too.
    """
    if copy.pred is None or _folds(copy):
        return
    element = copy.pred.dtype
    if vanishes and (element.kind == "float" or element.bits in (4, 6)):
        return
    if element.kind == "float" and (element.name in _LLVM_FLOATS) != (copy.op == "basic_copy_if"):
        raise CompilerFails(f"code generation fails on a predicate of {element}")
    if element.bits in (4, 6):
        raise InputError(f"an entry of {element} is tested with all of its byte, which is not modelled")
    if element.bits != 1 and element.bits not in _LOADED_BITS:
        raise CompilerFails(f"the compiler dies of a predicate of {element}")


def _placed(copy: Copy, instance: Copy, plan: Plan, src_base: int, dst_base: int, unit: int) -> Execution:
    """The plan at its addresses, for every thread, cut in accesses."""
    threads = copy.block_threads or plan.threads
    units = plan.bits // unit
    step = max(1, min(plan.src_bytes, plan.dst_bytes))
    pieces = max(1, plan.bits // 8 // step)
    moves = []
    accesses: list[tuple[Access, ...]] = []
    for side, memref, base, at, op, width_bytes, slip in (
        ("src", instance.src, src_base, plan.src_at, plan.src_op, plan.src_bytes, plan.src_slip),
        ("dst", instance.dst, dst_base, plan.dst_at, plan.dst_op, plan.dst_bytes, plan.dst_slip),
    ):
        thread = thread_offsets(instance, side, threads)
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
        if plan.pieces is not None:
            first = first[plan.pieces]
        moves.append(Places(first, units // pieces))
        starts = first[:: max(1, width_bytes // step)]
        if unit != 8:
            starts = starts // (8 // unit)
        access = Access(op, memref.space, width_bytes, starts, plan.align_bytes)
        accesses.append(() if memref.space == "rmem" else (access,))
    if plan.data_bits < plan.bits:
        read = moves[0].units
        read[:, :, plan.data_bits // unit :] = NOTHING
        moves[0] = Places.of(read)
    pred = None if plan.pred is None else np.repeat(plan.pred, pieces)
    if pred is not None and plan.pieces is not None:
        pred = pred[plan.pieces]
    return Execution(
        moves[0], moves[1], unit, accesses[0], accesses[1], pred,
        zero_fills=plan.dst_op == "cp.async", never=_folds(copy),
        chunk_bytes=0 if plan.linear else -(-plan.bits // 8),
    )  # fmt: skip
