"""The job of a copy, by arithmetic alone: it needs neither GPU nor DSL.

What it predicts comes from `execution`; what the layouts ask for, from `intent`; the two are kept apart, so
that a run can confirm or refute each.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from layoutcheck.algebra.integers import round_up
from layoutcheck.analysis import Analysis, analysed
from layoutcheck.analysis.comparison.observables import arriving_bytes, asked_bytes
from layoutcheck.analysis.instantiation import bases, instantiations
from layoutcheck.atoms.execution import execution
from layoutcheck.atoms.intent import intent, thread_intent
from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.copies.atom import WarpAtom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.moves import NOTHING, Execution, Intent, Places
from layoutcheck.copies.offsets import IntArray
from layoutcheck.gpu.completion import STALLED, UNSETTLED, arriving, completion, expected_bytes
from layoutcheck.gpu.images import (
    ANY,
    GUARD_BYTES,
    OUTSIDE,
    POISON,
    SHARED,
    SHARED_START,
    UNMAPPED,
    ZERO,
    Arena,
    NotRunnable,
    arena,
)
from layoutcheck.gpu.job import Job, parameters_of
from layoutcheck.gpu.predicate import Predicate, predicate_of
from layoutcheck.machine.arch import MAX_BLOCK_THREADS, parse_arch

# Shared operands begin here: low bits are the model's, nothing of the block's lies below.
SHARED_BASE = 1 << 14
SHARED_MOST_BYTES = parse_arch("sm_90a").smem_per_block_bytes - SHARED_START
IMAGE_MOST_BYTES = 1 << 26
_KEEP = SHARED_BASE - 1
# Kinds of difference (analysis/comparison) that the destination does not show.
UNMEETABLE = ("unmatched", "overlap", "outside_pred", "outside_src")


def make_job(copy: Copy | Analysis) -> Job:
    """The job that shows the model's verdict: at the run-time values and addresses where it sees the worst.

    Raises NotRunnable (an InputError) for copies that do not fit on the device, InputError for forms not
    modelled.
    """
    analysis = analysed(copy)
    copy = analysis.copy
    if "tmem" in (copy.src.space, copy.dst.space):
        raise NotRunnable("tensor memory has no address that a harness could fill or read back")
    if analysis.obstacle is not None:
        raise analysis.obstacle
    if analysis.worst is not None:
        instance, src_base, dst_base = analysis.worst[:3]
    else:
        instance = instantiations(copy)[-1]
        src_base, dst_base = bases(instance)[0]
    types = {str(copy.src.dtype), str(copy.tma and copy.tma.internal)}
    if isinstance(copy.atom, TmaCopy) and "tf32" in types:
        raise NotRunnable("a tensor map of tf32 rounds its elements: they do not arrive bit for bit")
    src_base, dst_base = (
        SHARED_BASE + (base & _KEEP) if memref.space in SHARED else base
        for memref, base in ((instance.src, src_base), (instance.dst, dst_base))
    )
    if instance.src.space in SHARED and instance.dst.space in SHARED:
        src_base, dst_base = _side_by_side(copy, instance, src_base, dst_base)
    done = execution(copy, src_base, dst_base, instance)
    # A thread's entries guard its own elements, of which a whole tile's intent knows nothing.
    by_entries = instance.pred is not None and (analysis.effect is None or "guard" in analysis.effect.first)
    asked = (thread_intent if by_entries else intent)(instance, src_base, dst_base)
    src, dst = _arenas(copy, instance, done, asked, (src_base, dst_base))
    _refuse_odd_registers(copy, done, (src, dst))
    _refuse_dead_loads(copy, done)
    given = _predicate(analysis, instance, done, asked, (src, dst), by_entries)
    threads = done.src.shape[1]
    if threads > MAX_BLOCK_THREADS:
        raise NotRunnable(f"{threads} threads are more than a block has")
    if isinstance(copy.atom, TmaCopy):
        threads, done = 0, at_once(done)  # one warp, whose parameters the harness makes
    fault, expect_bytes = _ending(copy, done, asked, src, dst, given)
    return Job(
        copy,
        instance,
        src,
        dst,
        threads,
        tuple(parameters_of(copy, instance, src, dst, t, threads, given) for t in range(threads)),
        after_execution(done, src, dst, given),
        after_intent(asked, src, dst, given, done.zero_fills),
        sum(analysis.effect[kind] for kind in UNMEETABLE) if analysis.effect else 0,
        fault,
        given.image,
        expect_bytes,
    )


def _predicate(
    analysis: Analysis,
    instance: Copy,
    done: Execution,
    asked: Intent,
    sides: tuple[Arena, Arena],
    mixed: bool,
) -> Predicate:
    """By which entries the copy goes wrong is seen with it, if it does; `mixed` as in `predicate_of`."""
    effect, copy = analysis.effect, analysis.copy
    guard = effect.first.get("guard") if effect else None
    given = predicate_of(copy, instance, done, asked, mixed)
    element = (guard.value if guard else None) or 0
    for moves in (asked, done) if guard else ():
        does = after_execution(done, *sides, given)
        asks = after_intent(asked, *sides, given, done.zero_fills)
        if moves.pred is None or ((does != asks) & (does != ANY) & (asks != ANY)).any():
            break
        there = np.isin(moves.dst[:, 0], asked.dst[element, 0]).any(axis=1)  # of the first thread
        given = predicate_of(copy, instance, done, asked, True, moves.pred[there])
    return given


def _arenas(
    copy: Copy, instance: Copy, done: Execution, asked: Intent, at: tuple[int, int]
) -> tuple[Arena, Arena]:
    """The memory of both operands: all that is touched or asked for. Raises NotRunnable for too much."""
    lanes = isinstance(copy.atom, WarpAtom) and copy.tiling is None
    sides = []
    for side, base in zip(("src", "dst"), at, strict=True):
        memref, touched = instance.side(side), [getattr(done, side), getattr(asked, side)]
        found = arena(
            memref.space, base, lanes and memref.space == "smem", touched, done.unit_bits, done.src.shape[1]
        )
        if found.space in SHARED and found.size_bytes > SHARED_MOST_BYTES:
            raise NotRunnable(f"{memref.layout} needs {found.size_bytes} B of shared memory")
        if found.size_bytes > IMAGE_MOST_BYTES:
            raise NotRunnable(f"{memref.layout} needs an image of {found.size_bytes} B")
        sides.append(found)
    return sides[0], sides[1]


def _ending(
    copy: Copy, done: Execution, asked: Intent, src: Arena, dst: Arena, given: Predicate
) -> tuple[str, int | None]:
    """The fault that the model expects, "" for none, and what the barrier is told of, where there is one."""
    expect_bytes: int | None
    if isinstance(copy.atom, TmaCopy):
        fault = tma_fault(done, src, dst)
        told = None if copy.issue is None else copy.issue.expect_bytes
        expect_bytes = expected = asked_bytes(asked) if told is None else told
        if not fault and copy.atom.kind == "load" and arriving_bytes(done) < expected:
            fault = STALLED
    else:
        fault = done.fault or expected_fault(done, src, dst, given)
        if fault == "misaligned" and copy.src.dtype.bits < 8 and not completion(copy):
            raise NotRunnable("LLVM regroups accesses of elements below a byte: whether they fault is open")
        expect_bytes = expected_bytes(copy, done, asked, given)
        if not fault and expect_bytes is not None:
            more = arriving(done, given) - expect_bytes
            fault = STALLED if more < 0 else UNSETTLED if more > 0 else ""
    cluster = copy.cluster
    if cluster is not None and not fault and not set(cluster.told) <= set(cluster.receivers):
        fault = STALLED
    return fault, expect_bytes


def _side_by_side(copy: Copy, instance: Copy, src_base: int, dst_base: int) -> tuple[int, int]:
    """Bases in one shared window: the destination's above all that is read of the source."""
    done = execution(copy, src_base, dst_base, instance)
    read = np.concatenate([done.src.reshape(-1), intent(instance, src_base, dst_base).src.reshape(-1)])
    top = int(read.max(initial=0)) * done.unit_bits // 8 + 2 * GUARD_BYTES
    return src_base, dst_base + round_up(top - SHARED_BASE, SHARED_BASE)


def _refuse_odd_registers(copy: Copy, done: Execution, sides: tuple[Arena, Arena]) -> None:
    """Registers have no alignment and no end, but in the harness are memory: what would fault is not run."""
    accesses = done.src_accesses or done.dst_accesses
    moved = done.src.shape[2] * done.unit_bits // 8
    width = 4 if isinstance(copy.atom, WarpAtom) else max((a.width_bytes for a in accesses), default=moved)
    for memref, moves, place in ((copy.src, done.src, sides[0]), (copy.dst, done.dst, sides[1])):
        if memref.space != "rmem":
            continue
        if memref.proved_align_bytes & (memref.proved_align_bytes - 1):
            raise NotRunnable(f"registers are not aligned to {memref.proved_align_bytes} B")
        if ((moves[:, :, 0] * done.unit_bits // 8 - place.base) % width).any():
            raise NotRunnable("registers at odd places are memory in the harness, and would fault there")
        if (place.index(moves[moves != NOTHING]) == OUTSIDE).any():
            raise NotRunnable("registers far from the others are memory in the harness, and would fault")


def _refuse_dead_loads(copy: Copy, done: Execution) -> None:
    """A load into registers that are overwritten at once is one the compiler may drop, with its fault."""
    written = done.dst[:, 0, :].reshape(-1)
    if copy.dst.space == "rmem" and np.unique(written).size < written.size:
        raise NotRunnable("registers are written twice: the compiler may drop the first load")


def tma_fault(done: Execution, src: Arena, dst: Arena) -> str:
    """The fault of a TMA copy: of what is asked, of a box's place in shared memory, of global addresses."""
    for access in (*done.src_accesses, *done.dst_accesses):
        if (access.addresses % access.multiple_bytes).any():
            return "misaligned"
    for place, moves in ((src, done.src), (dst, done.dst)):
        if place.space != "smem" and (place.index(moves[moves != NOTHING]) == OUTSIDE).any():
            return UNMAPPED
    return done.fault


def at_once(done: Execution) -> Execution:
    """All moves as one: boxes are not ordered among each other."""
    return replace(
        done, source=Places.of(done.src.reshape(1, 1, -1)), target=Places.of(done.dst.reshape(1, 1, -1))
    )


def expected_fault(done: Execution, src: Arena, dst: Arena, given: Predicate) -> str:
    """The fault that the model expects: "misaligned", "unmapped" or none.

    A `cp.async` whose predicate is false still writes (zeros): its destination has to be aligned all the
    same, its source, which is not read, has not (measured on an H200).
    """
    count = done.src.shape[0]
    reads = given.lets(done.pred, done.src, done.never)
    for accesses, place, allowed in (
        (done.src_accesses, src, reads),
        (done.dst_accesses, dst, reads | done.zero_fills),
    ):
        for access in accesses:
            per = max(1, count // max(1, access.addresses.shape[0]))
            lets = allowed[::per][: access.addresses.shape[0]]
            if lets.shape != access.addresses.shape:  # ldmatrix, whose lanes act together, guarded by nothing
                lets = np.broadcast_to(lets[:, :1], access.addresses.shape)
            live = access.addresses[lets]
            if (live % access.multiple_bytes).any():
                return "misaligned"
            if (place.index(live * (8 // place.unit_bits)) == OUTSIDE).any():
                return UNMAPPED
    return ""


def after_execution(done: Execution, src: Arena, dst: Arena, given: Predicate) -> IntArray:
    """The destination's contents after the instructions, in program order; ANY where threads race.

    Two `cp.async` of one thread are not ordered either (measured on an H200: the first may land last).
    """
    asynchronous = bool(done.src_accesses) and done.src_accesses[0].op.startswith("cp.async")
    image = np.full(dst.units, POISON, dtype=np.int64)
    writer = np.full(dst.units, -1, dtype=np.int64)
    allowed = given.lets(done.pred, done.src, done.never)
    threads = np.repeat(np.arange(done.dst.shape[1]), done.dst.shape[2])
    for i in range(done.src.shape[0]):
        at = dst.index(done.dst[i]).reshape(-1)
        value = np.where(done.src[i] == NOTHING, ZERO, src.index(done.src[i])).reshape(-1)
        value = np.where(value == OUTSIDE, ANY, value)
        lets = np.repeat(allowed[i], done.dst.shape[2])
        keep = at != OUTSIDE
        if done.zero_fills:
            value = np.where(lets, value, ZERO)
        else:
            keep &= lets
        at, value, who = at[keep], value[keep], threads[keep]
        order = np.argsort(at, kind="stable")
        at, value, who = at[order], value[order], who[order]
        clash = (at[1:] == at[:-1]) & (value[1:] != value[:-1])
        raced = np.concatenate(
            [
                at[1:][clash],
                at[(writer[at] >= 0) & (asynchronous | (writer[at] != who)) & (image[at] != value)],
            ]
        )
        image[at], writer[at] = value, who
        image[raced] = ANY
    return image


def after_intent(asked: Intent, src: Arena, dst: Arena, given: Predicate, zero_fills: bool) -> IntArray:
    """The destination's contents that the layouts ask for; ANY where they ask for two things at once."""
    image = np.full(dst.units, POISON, dtype=np.int64)
    allowed = given.lets(asked.pred, asked.src)
    at = dst.index(asked.dst)
    value = np.where(asked.src == NOTHING, ZERO if asked.zeros else ANY, src.index(asked.src))
    if zero_fills:
        value[~allowed] = ZERO
    else:
        at = np.where(allowed[:, :, None], at, OUTSIDE)
    if given.beyond is not None and not asked.whole:  # nobody asks for what is past the tile's edge
        at = np.where(given.beyond[:, : at.shape[1], None], OUTSIDE, at)
    at, value = at.reshape(-1), value.reshape(-1)
    keep = at != OUTSIDE
    at, value = at[keep], value[keep]
    order = np.argsort(at, kind="stable")
    at, value = at[order], value[order]
    image[at] = value
    torn = at[1:][(at[1:] == at[:-1]) & (value[1:] != value[:-1])]
    image[torn] = ANY
    return image
