"""Threads that write one byte of shared memory in one copy, and whether they write the same there.

Two stores of one operation have no barrier between them, so that the one which comes last wins. That
holds within a warp, and between warps where none waits at an mbarrier or a named barrier; where one does,
two warps may execute the operation in turns. A byte that both write from the same place, or with the same
value, is no race: `contents` says which values are.
Accesses of one operation may be of several turns of an unrolled loop, with barriers between them: they are
taken together only where they are no more than one execution's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from layoutcheck.copies.copy import Copy
from layoutcheck.copies.offsets import IntArray, size
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.lowered_op import LoweredOp
from layoutcheck.dsl.lowered.matrices import matrix_register, transposed_register
from layoutcheck.dsl.lowered.operations import WAITS
from layoutcheck.dsl.lowered.record import Recorded
from layoutcheck.dsl.lowered.values import for_all, number
from layoutcheck.machine.arch import WARP
from layoutcheck.sources.mlir import Operation
from layoutcheck.sources.traced import LoweredFault

SURE = ("static", "arguments")


class Write(NamedTuple):
    """`width` bytes of every thread at `at`; byte k is `identity >> 8k`, or comes from `identity + k`."""

    access: Recorded
    at: IntArray
    width: int
    identity: IntArray | None
    from_memory: bool = False


def contested(copy: Copy | None, op: LoweredOp) -> bool:
    """Whether two threads' registers go to one byte, so that it matters what is in them."""
    groups = _groups(copy, [w for w in _writes(op, op.once) if not w.from_memory])
    return any(_shared(group, op.threads) for group in groups)


def takes_turns(kernel: Operation) -> bool:
    """Whether warps of a lowered kernel may wait for one another other than all at once."""
    return any(op.name in WAITS or (op.name == "nvvm.barrier" and op.operands) for op in kernel.walk())


def race(
    copy: Copy | None, op: LoweredOp, written: Sequence[Recorded], turns: bool = False
) -> LoweredFault | None:
    """Two threads that write other data to one byte. `written` are the stores with what they write.

    A fault of kind "contested" says that the threads meet, and that their values are not known. With `turns`
    (`takes_turns`) threads of two warps that write other data are a fault of kind "turns".
    """
    doubt = None
    once = tuple(one for one in written if one.iterations == written[0].iterations) or op.once
    for group in _groups(copy, list(_writes(op, once))):
        if any(w.identity is None for w in group):
            met = _shared(group, op.threads)
            doubt = doubt or (None if met is None else _fault("contested", *met))
            continue
        met = _clash(group, op.threads, WARP if turns else op.threads)
        if met is not None:
            return _fault("race", *met)
        met = _clash(group, op.threads, op.threads) if turns else None
        doubt = doubt or (None if met is None else _fault("turns", *met))
    return doubt


def _fault(kind: str, write: Write, at: int, thread: int, other: int) -> LoweredFault:
    start = int(write.at[thread])
    return LoweredFault(kind, "dst", write.access.op, "smem", thread, start, write.width, other)


def _writes(op: LoweredOp, accesses: Sequence[Recorded]) -> Iterator[Write]:
    """What the accesses write to shared memory, at places that rest on threads and loop counters alone."""
    for access in accesses:
        if access.space != "smem" or op.kind_of(access.provenance) != "static":
            continue
        if op.kind_of(access.guard) not in SURE:
            continue
        rows = _row(access.address, access.space, op.threads)
        if access.op.startswith("cp.async"):
            if access.second is not None and op.kind_of(access.second_provenance) in SURE:
                source = _row(access.second, access.second_space, op.threads)
                yield Write(access, rows, access.size, source, True)
        elif access.op == "st":
            parts = access.value if isinstance(access.value, tuple) else (access.value,)
            each = access.size // len(parts) if parts and access.size % len(parts) == 0 else 0
            for i, part in enumerate(parts if each else ()):
                yield Write(access, rows + i * each, each, _number(access, part, op.threads))
        elif access.op.startswith("stmatrix") and isinstance(access.value, tuple):
            for i, part in enumerate(access.value):
                value = _number(access, part, op.threads)
                if "row" in access.facts.get("layout", ""):
                    yield Write(access, matrix_register(rows, i), 4, value)
                    continue
                for half in (0, 1):
                    shifted = None if value is None else value >> (16 * half)
                    yield Write(access, transposed_register(rows, i, half), 2, shifted)


def _row(address: IntArray | int, space: str, threads: int) -> IntArray:
    return for_all(spaces.in_object(space, address)[1], threads)


def _number(access: Recorded, part: object, threads: int) -> IntArray | None:
    if not access.value_known or isinstance(part, tuple):
        return None
    return for_all(number(part), threads)


def _groups(copy: Copy | None, writes: list[Write]) -> list[list[Write]]:
    """The writes that nothing can stand between."""
    if copy is not None and not isinstance(copy.dst, OtherOperand) and copy.dst.layout.is_static:
        once = size(copy.dst.layout) * copy.dst.dtype.bits
        if writes and sum(w.width for w in writes) * 8 == once:
            return [writes]
    groups: dict[int, list[Write]] = {}
    for write in writes:
        groups.setdefault(id(write.access), []).append(write)
    return list(groups.values())


def _bytes(group: Sequence[Write], threads: int) -> IntArray:
    """Rows (byte, identity, thread, write) of every byte that is written."""
    thread = np.arange(threads)
    rows = []
    for n, write in enumerate(group):
        active = slice(None) if write.access.active is None else write.access.active
        byte = np.arange(write.width)[:, None]
        every = np.zeros((4, write.width, threads), np.int64)
        every[0], every[2], every[3] = write.at + byte, thread, n
        if write.identity is not None:
            every[1] = write.identity + byte if write.from_memory else write.identity >> 8 * byte & 255
        rows.append(every[:, :, active].reshape(4, -1))
    return np.concatenate(rows, axis=1)


def _shared(group: Sequence[Write], threads: int) -> tuple[Write, int, int, int] | None:
    """(write, byte, thread, other thread) of a byte that two threads write."""
    every = _bytes(group, threads)
    every = every[:, np.lexsort((every[2], every[0]))]
    return _first(group, every, (every[0, 1:] == every[0, :-1]) & (every[2, 1:] != every[2, :-1]))


def _clash(group: Sequence[Write], threads: int, among: int) -> tuple[Write, int, int, int] | None:
    """The same of a byte that two of `among` consecutive threads write with other data."""
    every = _bytes(group, threads)
    each = every[2] // among
    order = np.lexsort((every[2], every[1], each, every[0]))
    every, each = every[:, order], each[order]
    same = (every[0, 1:] == every[0, :-1]) & (each[1:] == each[:-1])
    return _first(group, every, same & (every[1, 1:] != every[1, :-1]) & (every[2, 1:] != every[2, :-1]))


def _first(group: Sequence[Write], every: IntArray, where: IntArray) -> tuple[Write, int, int, int] | None:
    if not where.any():
        return None
    n = int(where.argmax())
    at, _, thread, write = (int(v) for v in every[:, n])
    return group[write], at, thread, int(every[2, n + 1])
