"""Addresses as numbers: each memory space has its own range, so that a number says what it points into.

Shared memory begins at 0 of its window (the dynamic part lies at a multiple of 1024 bytes on every
architecture), that of block r of a cluster at r 2^24 (so that CUTLASS's mask of peers works), global
objects in ranges of 2^44, registers in memory (`llvm.alloca`) at multiples of 2^24 above 2^60. A generic
pointer to shared memory is 2^42 higher than the shared one, a cluster pointer 2^43 higher and the block's
rank in the cluster in the bits from 24 up.
"""

from __future__ import annotations

from layoutcheck.dsl.lowered.record import Number
from layoutcheck.dsl.lowered.types import CLUSTER, GENERIC, GLOBAL, SHARED, TENSOR

GENERIC_SHARED = 1 << 42
CLUSTER_SHARED = 1 << 43
GLOBAL_STEP = 1 << 44
MIDDLE = GLOBAL_STEP >> 1
PASSED = 1 << 11  # the first object that is passed by value
LOCAL = 1 << 60
LOCAL_STEP = 1 << 24
SHARED_BYTES = 1 << 24

_NAMES = {GLOBAL: "gmem", SHARED: "smem", CLUSTER: "dsmem", TENSOR: "tmem", 5: "rmem"}


def object_at(index: Number) -> Number:
    """The address of global object `index`, with room below it for negative offsets."""
    return index * GLOBAL_STEP + MIDDLE


def passed_at(index: int) -> int:
    """The address of argument `index` of a kernel that is passed by value: a TMA descriptor.

    The host's arguments are the objects from 1 on; this is none of them.
    """
    return (PASSED + index) * GLOBAL_STEP + MIDDLE


def space_of(space: int, address: Number) -> str:
    """What a pointer of an address space points into, going by the address of its first thread."""
    first = address if isinstance(address, int) else int(address.flat[0])
    if first >= LOCAL:
        return "rmem"
    if space != GENERIC:
        return _NAMES.get(space, "generic")
    if first >= GLOBAL_STEP:
        return "gmem"
    if first >= CLUSTER_SHARED:
        return "dsmem"
    return "smem" if first >= GENERIC_SHARED else "generic"


def cast(address: Number, source: int, target: int) -> Number:
    """`addrspacecast` between two of LLVM's address spaces."""
    first = address if isinstance(address, int) else int(address.flat[0])
    if source == SHARED and target == GENERIC:
        return address + GENERIC_SHARED
    if source == SHARED and target == CLUSTER:
        return address + CLUSTER_SHARED
    if source == GENERIC and target == SHARED and GENERIC_SHARED <= first < GLOBAL_STEP:
        return address - (GENERIC_SHARED if first < CLUSTER_SHARED else CLUSTER_SHARED)
    if source == CLUSTER and target == SHARED:
        return address - CLUSTER_SHARED
    return address


def of_rank(address: Number, rank: Number) -> Number:
    """The same place in the shared memory of another block of the cluster (PTX ISA, mapa)."""
    return (address & (SHARED_BYTES - 1)) + rank * SHARED_BYTES


def in_object(space: str, address: Number) -> tuple[int, Number]:
    """The object's number and the byte offset in it: an argument's, or 0 for shared memory."""
    first = address if isinstance(address, int) else int(address.flat[0])
    if space == "gmem":
        base = first // GLOBAL_STEP
        return base, address - base * GLOBAL_STEP - MIDDLE
    if space == "dsmem" or (space == "smem" and first >= GENERIC_SHARED):
        return 0, address & (SHARED_BYTES - 1)
    return 0, address
