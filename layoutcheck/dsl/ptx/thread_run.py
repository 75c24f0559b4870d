"""What a thread did: its accesses, and the memory that it left."""

from __future__ import annotations

from dataclasses import dataclass, field

from layoutcheck.dsl.ptx.bits import Bits


@dataclass(frozen=True, slots=True)
class ThreadAccess:
    """One executed memory instruction. `kind` is "read" or "write"; a cp.async is one of each."""

    name: str
    kind: str
    space: str
    width_bytes: int
    address: int
    multiple_bytes: int = 0  # what the address must be a multiple of; 0: of the width


@dataclass(frozen=True, slots=True)
class TensorMemoryAccess:
    """A tcgen05.ld, st or cp: its 32-bit address, the half split or the descriptor, the registers stored."""

    name: str
    address: int
    extra: int | None = None
    stored: tuple[Bits, ...] = ()


@dataclass(frozen=True, slots=True)
class TensorCopy:
    """A cp.async.bulk.tensor, of which nothing is moved: coordinates, filter offsets, shared address."""

    name: str
    coords: tuple[int, ...]
    filter_offsets: tuple[int, ...]
    shared: int


@dataclass(slots=True)
class ThreadRun:
    """What a thread did: its accesses in program order, the final memory, the registers given to stmatrix."""

    accesses: list[ThreadAccess] = field(default_factory=list)
    memory: dict[tuple[str, int], Bits] = field(default_factory=dict)
    matrix_stores: list[tuple[int, tuple[Bits, ...]]] = field(default_factory=list)
    arrived_bytes: int = 0  # counted at mbarriers by bulk copies and st.async
    tensor_memory: list[TensorMemoryAccess] = field(default_factory=list)
    tensor_copies: list[TensorCopy] = field(default_factory=list)
