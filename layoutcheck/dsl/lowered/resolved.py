"""The copies of a lowered module with their addresses, or with the reason why they have none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from layoutcheck.atoms.tma.landing import SMEM_ALIGN_BYTES
from layoutcheck.copies.atom import ThreadAtom
from layoutcheck.copies.offsets import IntArray, offsets
from layoutcheck.copies.plan import surplus
from layoutcheck.copies.tiled import threads
from layoutcheck.dsl.lowered import Kernel, Lowered
from layoutcheck.dsl.lowered.evaluate import tag
from layoutcheck.dsl.lowered.faults import KNOWN, Outside, addresses, with_faults, written
from layoutcheck.dsl.lowered.judged_blocks import spans
from layoutcheck.dsl.lowered.lowered_op import SINGLE, LoweredOp, access_parts, active, global_parts
from layoutcheck.dsl.lowered.races import SURE
from layoutcheck.dsl.lowered.record import BULK_COPY, Mask, Recorded
from layoutcheck.dsl.lowered.removed import removed
from layoutcheck.dsl.lowered.shared_access import addressing
from layoutcheck.dsl.lowered.shared_turns import every_turn
from layoutcheck.dsl.lowered.spaces import in_object
from layoutcheck.dsl.lowered.tensors import tensor
from layoutcheck.dsl.lowered.values import for_all
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import WARP, parse_arch
from layoutcheck.sources.threads import told_by
from layoutcheck.sources.traced import Addresses, LoweredFault, TracedCopy
from layoutcheck.sources.traced_module import tags


def resolved_all(
    copies: Sequence[TracedCopy], lowered: Lowered, beyond: Outside, arch: str
) -> list[TracedCopy]:
    """Each copy of a module with its addresses, or the reason why it has none."""
    tagged = tags(one.operation.split('"')[1] for one in copies)
    copies = [_with_spare(one, lowered, tag) for one, tag in zip(copies, tagged, strict=True)]
    stored = written(lowered, {t: one.copy for t, one in zip(tagged, copies, strict=True) if wanting(one)})
    found = [
        resolved(one, lowered, tag, arch, stored.get(tag, ())) if wanting(one) else one
        for one, tag in zip(copies, tagged, strict=True)
    ]
    left = [_left(one, lowered, tag, arch) for one, tag in zip(found, tagged, strict=True)]
    found = [
        _with_faults(one, *faults) if faults[1] else one for one, faults in zip(found, left, strict=True)
    ]
    return [
        replace(
            _with_faults(one, *beyond.faults[tag]) if tag in beyond.faults else one,
            unbounded=beyond.unchecked.get(tag, one.unbounded),
            bounded_if=beyond.conditions.get(tag, ""),
            inside=tuple(beyond.inside.get(tag, {}).items()),
            box_align=_shared_align(one, lowered, tag) or _bulk_align(lowered, tag),
        )
        for one, tag in zip(found, tagged, strict=True)
    ]


def _with_spare(traced: TracedCopy, lowered: Lowered, made_by: str) -> TracedCopy:
    """The copy into registers, which knows how many there are behind its destination that nothing reads."""
    copy = traced.copy
    if copy is None or not lowered.kernels or not surplus(copy):
        return traced
    kernel = next((k.operation for k in lowered.kernels if made_by in (*k.lowered_ops, *k.unmet)), None)
    at, each, spare = offsets(copy.dst.layout), copy.dst.dtype.bits // 8, None
    if kernel is not None and at.min(initial=0) == 0:
        stores = [op for op in kernel.walk() if op.name == "llvm.store" and tag(op) == made_by]
        spare = removed(kernel).spare(stores)((int(at.max(initial=-1)) + 1) * each)
    dst = replace(copy.dst, spare=None if spare is None else spare // each)
    return replace(traced, copy=replace(copy, dst=dst), unbounded="")


def _shared_align(traced: TracedCopy, lowered: Lowered, tag: str) -> int:
    """What the addresses in shared memory are multiples of, in bytes, up to 128; 0 where that is not known.

    Of the boxes of a TMA copy, and of a copy whose type promises less than its width. A ring's second stage
    counts, where block 0 takes a single turn with our numbers, and so does the next block's. What an integer
    argument decides is not known.
    """
    kernel, copy = next((k for k in lowered.kernels if tag in k.lowered_ops), None), traced.copy
    if kernel is None or copy is None:
        return 0
    width = copy.atom.width_bits // 8 if isinstance(copy.atom, ThreadAtom) else 0
    proved = [one.proved_align_bytes for one in (copy.src, copy.dst) if one.space == "smem"]
    short = width > 0 and any(one % width for one in proved)
    known = _align_met(kernel.lowered_ops[tag], short)
    if not known or not any(one % (width or SMEM_ALIGN_BYTES) for one in proved):
        return known
    met = [(sure, _align_met(ops[tag], short) or known) for sure, ops in kernel.turned() if tag in ops]
    known = min([known, *(one for sure, one in met if sure)])
    return known if all(one >= known for _, one in met) else 0


def _align_met(op: LoweredOp, short: bool) -> int:
    """The alignment of `_shared_align`, of the turns that were run."""
    wanted = ("tma.load", "tma.store")
    taken = [one for one in op.accesses if one.op in wanted or (short and one.space == "smem")]
    if not taken or any(op.kind_of(one.provenance) not in SURE for one in taken):
        return 0
    met = SMEM_ALIGN_BYTES
    for one in taken:
        at = for_all(in_object(one.space, one.address)[1], op.threads)
        met |= int(np.bitwise_or.reduce(at if one.active is None else at[one.active], initial=0))
    return met & -met


def _bulk_align(lowered: Lowered, tag: str) -> int:
    """What a bulk copy's addresses in global memory are multiples of in all blocks, in bytes, up to 128.

    The tensors begin where their types promise. 0 where addresses rest on what only a run knows.
    """
    kernel = next((k for k in lowered.kernels if tag in k.lowered_ops), None)
    if kernel is None or kernel.grid is None:
        return 0
    if not any(one.op == BULK_COPY for one in kernel.lowered_ops[tag].accesses):
        return 0
    blocks = kernel.grid.blocks([tag])
    given = [
        memref for kind in kernel.grid.types.get(kernel.name, []) if (memref := tensor(kind)) is not None
    ]
    if isinstance(blocks, str) or tag in blocks.unfinished or not given:
        return 0
    met = SMEM_ALIGN_BYTES
    for memref in given:
        met |= memref.proved_align_bytes
    for access in blocks.accesses.get(tag, ()):
        for side, _, _, width, address in global_parts(access, 0):
            own = access.second_provenance if side == 0 else access.provenance
            row, moved = spans(blocks, access, width, address)
            if blocks.reasons.worst(own) != "static":
                return 0
            met |= int(np.bitwise_or.reduce(row[moved > 0], initial=0))
    return met & -met


def _with_faults(one: TracedCopy, threads: int, faults: list[LoweredFault]) -> TracedCopy:
    return replace(one, addresses=with_faults(one.addresses or Addresses(threads), faults))


def placed(one: TracedCopy) -> bool:
    """Whether a copy has an operand in memory, which it may leave."""
    return any(space in one.operation for space in ("gmem", "smem", "generic"))


def wanting(one: TracedCopy) -> bool:
    """Whether a copy is known by its types alone."""
    return one.address_source == "types" and one.copy is not None and one.refused is None


def resolved(
    one: TracedCopy, lowered: Lowered, tag: str, arch: str, written: Sequence[Recorded] = ()
) -> TracedCopy:
    """The copy with its addresses, or with what kept them from being known; `written` as `races` takes it."""
    kernel = next((k for k in lowered.kernels if tag in k.lowered_ops), None)
    op = kernel.lowered_ops[tag] if kernel is not None else None
    if kernel is None or op is None:
        unmet = any(tag in k.unmet for k in lowered.kernels)
        why = lowered.problem or ("its branch is not run by block 0" if unmet else "the compiler removes it")
        if tag in lowered.refused:
            why = "the verifier refuses it"
    elif op.kind not in KNOWN:
        why = op.reasons[-1] if op.reasons else "its addresses are not known"
    else:
        partitioned = _by_threads(one, op)
        if partitioned is not None:
            return partitioned
        try:
            found = addresses(one.copy, kernel, op, arch, written)
            return replace(one, address_source="lowered", addresses=found)
        except InputError as error:
            why = error.message
    return replace(one, missing=f"{one.missing}; lowered: {why}")


def _left(one: TracedCopy, lowered: Lowered, tag: str, arch: str) -> tuple[int, list[LoweredFault]]:
    """The threads of the block, and what those of the tiled copy that do not come by leave unwritten."""
    copy = one.partitioned.copy if one.partitioned is not None else one.copy
    kernel = next((k for k in lowered.kernels if tag in k.lowered_ops), None)
    if copy is None or copy.tiling is None or kernel is None:
        return 0, []
    op = kernel.lowered_ops[tag]
    if op.kind != "static" or not op.reached:
        return op.threads, []
    by_warp = [first + lane if first >= 0 else -1 for first in one.warps or () for lane in range(WARP)]
    index = by_warp if one.partitioned is None else one.partitioned.index
    found = unwritten(kernel, op, index, threads(copy.tiling.tiled), parse_arch(arch).widest_access_bits // 8)
    return op.threads, [] if found is None else [found]


def _by_threads(one: TracedCopy, op: LoweredOp) -> TracedCopy | None:
    """The copy as its tiled copy partitions it, for the threads that come by; None where these do not fit.

    Where only a part of the tiled copy's threads come by, the rest of the tile is not meant: one row of a
    tile of four, which the first warp stores. Such a copy is known by its addresses.
    """
    given = one.partitioned
    if given is None or given.copy.tiling is None or len(given.index) != op.threads or not op.reached:
        return None
    guard = 0
    for access in op.once:
        guard |= access.guard
    if op.kind_of(guard) not in KNOWN:
        return None
    found = told_by(np.array(given.index), active(op.once, op.threads), given.threads)
    if isinstance(found, str) or found.doubt or (found.block or 0) < given.threads:
        return None
    tiling = replace(given.copy.tiling, block_threads=found.block)
    full = replace(given.copy, tiling=tiling)
    return replace(one, copy=full, address_source="threads", missing="", warps=found.warps)


def unwritten(
    kernel: Kernel, op: LoweredOp, index: Sequence[int], threads: int, widest_bytes: int
) -> LoweredFault | None:
    """The first byte that is read and was left to a thread that does not come by; `other` counts all.

    A tiled copy of 64 threads that stands under `if warp == 0` copies half of its tile. That may be meant:
    one row of a tile of four. It is told only if something in the kernel reads bytes of the other half and
    nothing writes them, and only where all accesses to shared memory are known.

    `index` says which of the tiled copy's `threads` each thread of the block is.
    """
    own, some = np.array(index), op.once[0].active
    if some is None or len(own) != len(some):
        return None
    if any(one.active is None or (one.active != some).any() for one in op.once):
        return None  # a predicate, not a role
    known = (own >= 0) & (own < threads)
    missing = ~some & known & ~np.isin(own, own[some & known])
    if not missing.any():
        return None
    every = {name: (other.accesses, other.assumed) for name, other in kernel.lowered_ops.items()}
    if kernel.shortened:
        machine = every_turn(kernel)
        if machine is None:
            return None
        every = {name: (tuple(accesses), machine.reasons) for name, accesses in machine.accesses.items()}
    left, read, wrote = (np.zeros(kernel.shared_bytes, bool) for _ in range(3))
    for one in op.once:
        for side, starts, width in _in_shared(one, missing, widest_bytes):
            _mark(left, starts, width if side else 0)
    for accesses, assumed in every.values():
        for one in (access for access in accesses if access.reached):
            if "generic" in (one.space, one.second_space) or "dsmem" in (one.space, one.second_space):
                return None
            if "smem" not in (one.space, one.second_space):
                continue
            rests = one.guard | (one.provenance if one.space == "smem" else 0)
            rests |= one.second_provenance if one.second_space == "smem" else 0
            if assumed.worst(rests) != "static" or not _known(one):
                return None
            for side, starts, width in _in_shared(one, addressing(one, op.threads), widest_bytes):
                _mark(wrote if side else read, starts, width)
    lost = np.flatnonzero(left & read & ~wrote)
    if not lost.size:
        return None
    thread = int(own[missing].min())
    return LoweredFault("unwritten", "dst", "", "smem", thread, int(lost[0]), 1, int(lost.size))


def _known(access: Recorded) -> bool:
    """Whether an access moves what its address and size say, and nothing else."""
    return access.op in ("ld", "st", *SINGLE) or "matrix" in access.op or access.op.startswith("cp.async")


def _in_shared(access: Recorded, threads: Mask, widest_bytes: int) -> Iterator[tuple[int, IntArray, int]]:
    """(side, addresses, bytes at each) of what these threads access in the block's shared memory."""
    for side, _, space, width, address in access_parts(access, widest_bytes):
        if space == "smem":
            yield side, np.broadcast_to(np.asarray(address, np.int64), threads.shape)[threads], width


def _mark(bytes_: Mask, starts: IntArray, width: int) -> None:
    at = (starts[:, None] + np.arange(width)).ravel()
    bytes_[at[(at >= 0) & (at < len(bytes_))]] = True
