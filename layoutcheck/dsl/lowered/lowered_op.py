"""`LoweredOp`: what one operation of a kernel does in memory, instruction by instruction, for all threads.

Made from the accesses that an evaluation recorded under the operation's tag; `memory_accesses` puts it in
the terms of `atoms.execution`, so that its cost is counted and a model's answer compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from layoutcheck.copies.moves import Access
from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.evaluate import Evaluated
from layoutcheck.dsl.lowered.record import BULK_COPY, Mask, Recorded
from layoutcheck.dsl.lowered.values import CLASSES, Reasons, for_all
from layoutcheck.machine.banks import OFF

SUB_BYTE_BYTES = 8  # of a vector of elements below a byte (measured: PTX of the DSL moves f4 by .b64)
WIDEST_BYTES = 16  # of one load or store; 32 in global memory from sm_100 on (PTX ISA, ld: .v8.b32)
# Loads, stores and atomics by their own operations, never in parts: the side that they are on.
SINGLE = {"load.ext": 0, "store.ext": 1, "atomicrmw": 1, "cmpxchg": 1, "red": 1}
_WINDOW = {
    "gmem": "global",
    "smem": "shared",
    "dsmem": "shared::cluster",
    "generic": "generic",
    "rmem": "local",
}


@dataclass(frozen=True, slots=True)
class LoweredOp:
    """An operation's instructions in the order in which a thread executes them.

    `kind` says what their addresses rest on: "static" (threads, blocks and loop counters), "arguments" (also
    numbers given to dynamic arguments), "uniform" (also a value loaded at run time that all threads of a warp
    share), "data" (values that each thread loads) or "blocked" (something that is not evaluated); `reasons`
    are what was assumed, in words, the worst last. `reached` is False where block 0 does not come by, or not
    with these arguments.
    """

    tag: str
    threads: int
    accesses: tuple[Recorded, ...]
    kind: str
    reasons: tuple[str, ...] = ()
    reached: bool = True
    assumed: Reasons = field(default_factory=Reasons, compare=False, repr=False)

    def kind_of(self, provenance: int) -> str:
        """What an address rests on whose provenance is given, as `kind` says it of all of them."""
        return self.assumed.worst(provenance)

    @property
    def instructions(self) -> tuple[Recorded, ...]:
        """Those that reach memory other than registers, or all where there are none."""
        return tuple(a for a in self.accesses if a.space != "rmem" or a.second is not None) or self.accesses

    @property
    def once(self) -> tuple[Recorded, ...]:
        """The accesses of the first time that the operation runs, where it stands in a loop."""
        return tuple(a for a in self.accesses if a.iterations == self.accesses[0].iterations)


def lowered_ops(kernel: Evaluated) -> dict[str, LoweredOp]:
    """The operation of every tag that the evaluation met."""
    found = {}
    for tag, accesses in kernel.accesses.items():
        provenance = 0
        for access in accesses:
            provenance |= access.provenance | access.second_provenance
        assumed = sorted(kernel.reasons.read(provenance), key=lambda one: CLASSES.index(one[0]))
        reasons = tuple(sentence for _, sentence in assumed)
        found[tag] = LoweredOp(
            tag,
            kernel.launch.threads,
            tuple(accesses),
            kernel.reasons.worst(provenance),
            reasons,
            accesses[0].reached,
            kernel.reasons,
        )
    return found


def memory_accesses(
    accesses: tuple[Recorded, ...],
    threads: int,
    widest_bytes: int = WIDEST_BYTES,
    masked: bool = True,
    joined: bool = False,
) -> tuple[tuple[Access, ...], tuple[Access, ...]]:
    """(source side, destination side) as `copies.moves.Access`, registers left out, in byte addresses.

    Instructions of one op, space and width stand together. With `masked` threads that do not execute one have
    `OFF` for an address. Vectors wider than their alignment or than the machine's widest access are cut. With
    `joined` those that lie side by side are what the compiler makes of them.
    """
    sides: tuple[dict[tuple[str, str, int], list[IntArray]], ...] = ({}, {})
    moving = _movers(accesses)
    for access in _joined(moving) if joined else moving:
        for side, op, space, width, address in access_parts(access, widest_bytes):
            row = for_all(address, threads)
            if masked and access.active is not None:
                row = np.where(access.active, row, OFF)
            sides[side].setdefault((op, space, width), []).append(row)
    return tuple(  # type: ignore[return-value]
        tuple(Access(op, space, width, np.array(rows)) for (op, space, width), rows in side.items())
        for side in sides
    )


def _movers(accesses: tuple[Recorded, ...]) -> list[Recorded]:
    """The accesses that move the operation's data: without loads of predicates and offsets, atomics."""
    accesses = tuple(a for a in accesses if a.op not in SINGLE)
    used = {data.access for a in accesses if a.op == "st" for _, _, data in a.data if data is not None}
    moves_alone = any(a.op not in ("ld", "st") and a.second is not None for a in accesses)
    if not moves_alone and not used:
        return list(accesses)
    return [a for a in accesses if a.op != "ld" or a in used]


def _joined(accesses: Sequence[Recorded]) -> Iterator[Recorded]:
    """Loads and stores that lie side by side as one, as far as their alignment is known."""
    kinds: dict[tuple[str, str, int], list[Recorded]] = {}
    for access in accesses:
        kinds.setdefault((access.op, access.space, access.size), []).append(access)
    for (op, space, size), alike in kinds.items():
        alike.sort(key=_first_lane)
        at, most = 0, WIDEST_BYTES // size if op in ("ld", "st") and space != "rmem" and size else 1
        while at < len(alike):
            count = most
            while count > 1 and not _side_by_side(alike[at : at + count], count):
                count //= 2
            yield replace(alike[at], size=count * size) if count > 1 else alike[at]
            at += max(1, count)


def _first_lane(access: Recorded) -> int:
    """Where the first thread that executes it accesses memory."""
    lane = 0 if access.active is None else int(np.argmax(access.active))
    return int(np.ravel(access.address)[lane if np.size(access.address) > 1 else 0])


def _side_by_side(accesses: Sequence[Recorded], count: int) -> bool:
    first, *others = accesses
    whole = count * first.size
    return (
        len(accesses) == count
        and first.align_bytes % whole == 0
        and all(_same(one.active, first.active) for one in others)
        and all(np.all(one.address - first.address == i * first.size) for i, one in enumerate(others, 1))
    )


def _same(one: Mask | None, other: Mask | None) -> bool:
    return one is other or (one is not None and other is not None and bool((one == other).all()))


def access_parts(access: Recorded, widest_bytes: int) -> list[tuple[int, str, str, int, IntArray | int]]:
    """(side, op, space, bytes, address) of each instruction and side of an access that lies in memory."""
    found: list[tuple[int, str, str, int, IntArray | int]] = []
    if access.op.startswith("cp.async"):
        assert access.second is not None
        for side, space, address in (
            (0, access.second_space, access.second),
            (1, access.space, access.address),
        ):
            found.append((side, "cp.async", space, access.size, spaces.in_object(space, address)[1]))
    elif "matrix" in access.op:
        side = 0 if access.op.startswith("ld") else 1
        found.append((side, access.op, access.space, 16, spaces.in_object(access.space, access.address)[1]))
    elif access.op in SINGLE and access.size:
        at = spaces.in_object(access.space, access.address)[1]
        op = f"{access.op}.{_WINDOW.get(access.space, access.space)}"
        found.append((SINGLE[access.op], op, access.space, access.size, at))
    elif access.op in ("ld", "st") and access.space != "rmem":
        widest = widest_bytes if access.space == "gmem" else WIDEST_BYTES
        if "sub_byte" in access.facts:
            widest = SUB_BYTE_BYTES
        align = access.align_bytes & -access.align_bytes
        width = min(widest, align or 1, access.size & -access.size or 1)
        at = spaces.in_object(access.space, access.address)[1]
        op = f"{access.op}.{_WINDOW.get(access.space, access.space)}"
        found += [
            (0 if access.op == "ld" else 1, op, access.space, width, at + k)
            for k in range(0, access.size, width)
        ]
    return found


def global_parts(access: Recorded, widest_bytes: int) -> list[tuple[int, str, str, int, IntArray | int]]:
    """`access_parts`, and what a bulk copy does in global memory: without a tensor map nothing clamps it."""
    if access.op != BULK_COPY:
        return access_parts(access, widest_bytes)
    sides = ((0, access.second_space, access.second), (1, access.space, access.address))
    return [
        (side, access.op, space, access.size, spaces.in_object(space, address)[1])
        for side, space, address in sides
        if space == "gmem" and address is not None
    ]


def active(accesses: tuple[Recorded, ...], threads: int) -> Mask:
    """Threads that execute any of the accesses."""
    found = np.zeros(threads, bool)
    for access in accesses:
        found |= True if access.active is None else access.active
    return found
