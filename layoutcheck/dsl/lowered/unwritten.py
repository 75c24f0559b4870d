"""Bytes of a shared tile that nobody writes, because some threads of its tiled copy do not come by.

A tiled copy of 64 threads that stands under `if warp == 0` copies half of its tile. That may be meant: one
row of a tile of four. It is told only if something in the kernel reads bytes of the other half and nothing
writes them, and only where all accesses to shared memory are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered import Kernel
from layoutcheck.dsl.lowered.lowered_op import SINGLE, LoweredOp, access_parts
from layoutcheck.dsl.lowered.record import Mask, Recorded
from layoutcheck.dsl.lowered.shared_bounds import addressing
from layoutcheck.dsl.lowered.shared_turns import every_turn
from layoutcheck.sources.traced import LoweredFault


def unwritten(
    kernel: Kernel, op: LoweredOp, index: Sequence[int], threads: int, widest_bytes: int
) -> LoweredFault | None:
    """The first byte that is read and was left to a thread that does not come by; `other` counts all.

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
