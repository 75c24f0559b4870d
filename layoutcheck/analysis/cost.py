"""What a copy costs the machine: its accesses, warp by warp, through the models of banks and sectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from layoutcheck.analysis.instantiation import DST_REGION, SRC_REGION
from layoutcheck.atoms.execution import execution
from layoutcheck.copies.atom import ThreadAtom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.moves import Access, Execution
from layoutcheck.copies.offsets import IntArray
from layoutcheck.errors import InputError
from layoutcheck.machine import banks
from layoutcheck.machine.arch import SECTOR_BYTES, WARP, parse_arch
from layoutcheck.machine.banks import CP_ASYNC, CP_ASYNC_CG, LOAD, MATRIX, OFF, STORE
from layoutcheck.machine.cost import NOTHING, Counts
from layoutcheck.machine.cp_async import bypasses
from layoutcheck.machine.sectors import sectors


class SideCost(NamedTuple):
    """One operand's accesses, all warps together.

    `instructions` are warp instructions. Of shared memory: `wavefronts`, their `ideal_wavefronts`, the most
    `ways` of a phase and in which warp instruction (`worst`, a row of `addresses`). Of global memory:
    `sectors`, `ideal_sectors`, `bytes_used` of the `32 * sectors` moved, `distinct_sectors` of the whole copy
    in `runs` without a gap, and `l1_wavefronts`, which its lines take in L1. What does not apply is 0.
    `addresses[instruction, lane]` are byte addresses; OFF where a lane is off.
    """

    side: str
    op: str
    space: str
    width_bits: int
    instructions: int
    addresses: IntArray
    wavefronts: int = 0
    ideal_wavefronts: int = 0
    ways: int = 0
    worst: int = 0
    sectors: int = 0
    ideal_sectors: int = 0
    bytes_used: int = 0
    distinct_sectors: int = 0
    runs: int = 0
    l1_wavefronts: int = 0

    @property
    def rule(self) -> str:
        """The `op` of `machine.banks` that this access follows in shared memory."""
        return _rule(self.op)


class CopyCost(NamedTuple):
    """The sides that lie in memory, the copy's warp instructions, and `beside` them what no side shows."""

    sides: tuple[SideCost, ...]
    instructions: int
    beside: Counts = NOTHING

    @property
    def counts(self) -> Counts:
        """What `machine.cost.predicted_time` asks for."""
        return self.beside + Counts(
            self.instructions,
            sum(side.wavefronts + side.l1_wavefronts for side in self.sides),
            sum(side.sectors for side in self.sides),
            sum(side.distinct_sectors for side in self.sides),
            sum(side.runs for side in self.sides if side.side == "src"),
            sum(side.runs for side in self.sides if side.side == "dst"),
        )


@lru_cache(maxsize=256)
def copy_cost(copy: Copy) -> CopyCost | None:
    """The cost of a static copy at bases that are aligned to everything; None where it is not known."""
    past_l1 = isinstance(copy.atom, ThreadAtom) and copy.atom.past_l1
    try:
        return cost(execution(copy, SRC_REGION, DST_REGION), copy.arch, past_l1)
    except InputError:
        return None


def cost(execution: Execution, arch: str = "sm_90a", bypass_l1: bool = False) -> CopyCost:
    """Instructions, wavefronts and sectors of a copy, by all its warps.

    Threads of an incomplete warp and lanes without an address are off; a predicate counts as true.
    `bypass_l1` says that a 16-byte cp.async is `.cg` (PTX ISA: cache modes other than "global" are `.ca`).
    Raises InputError for an unknown architecture.
    """
    parse_arch(arch)
    return accesses_cost(execution.src_accesses, execution.dst_accesses, bypass_l1)


def accesses_cost(src: Sequence[Access], dst: Sequence[Access], bypass_l1: bool = False) -> CopyCost:
    """The same for accesses that are known otherwise; those of a cp.async are one on each side."""
    if src and src[0].op == "cp.async":
        sides = _cp_async(src[0], dst[0], bypass_l1)
        return CopyCost(sides, sides[0].instructions)
    sides = tuple(
        _side(name, access) for name, accesses in (("src", src), ("dst", dst)) for access in accesses
    )
    return CopyCost(sides, sum(side.instructions for side in sides))


def _side(name: str, access: Access) -> SideCost:
    at = by_warp(access)
    bits = access.width_bytes * 8
    found = SideCost(name, access.op, access.space, bits, len(at), at)
    if access.space in ("smem", "dsmem"):
        return _shared(found, _rule(access.op))
    return _global(found) if access.space in ("gmem", "generic") else found


def _shared(side: SideCost, rule: str) -> SideCost:
    spent = banks.wavefronts(side.addresses, side.width_bits, rule)
    return side._replace(
        wavefronts=int(spent.wavefronts.sum()),
        ideal_wavefronts=int(spent.phases.sum()),
        ways=int(spent.ways.max(initial=0)),
        worst=int(spent.ways.argmax()) if len(spent.ways) else 0,
    )


def _global(side: SideCost) -> SideCost:
    spent = sectors(side.addresses, side.width_bits)
    touched = np.sort(side.addresses[side.addresses >= 0] // SECTOR_BYTES)
    steps = np.diff(touched)  # np.unique would load numpy.ma, a twentieth of `explain`'s start
    return side._replace(
        distinct_sectors=int(np.count_nonzero(steps)) + 1 if touched.size else 0,
        runs=int(np.count_nonzero(steps > 1)) + 1 if touched.size else 0,
        l1_wavefronts=int(banks.wavefronts(side.addresses, side.width_bits, _rule(side.op)).wavefronts.sum()),
        sectors=int(spent.sectors.sum()),
        ideal_sectors=int(spent.ideal.sum()),
        bytes_used=int(spent.bytes_used.sum()),
    )


def _cp_async(src: Access, dst: Access, bypass_l1: bool) -> tuple[SideCost, ...]:
    """Both sides decide both: banks and lines of the destination, sectors of the source."""
    past = bypass_l1 and src.width_bytes == 16
    from_at, to_at = by_warp(src), by_warp(dst)
    bits = src.width_bytes * 8
    source = _global(SideCost("src", src.op, src.space, bits, len(from_at), from_at))
    if past:
        source = source._replace(l1_wavefronts=0)
    target = SideCost("dst", f"{dst.op}.{'cg' if past else 'ca'}", dst.space, bits, len(to_at), to_at)
    if not past:
        return source, _shared(target, CP_ASYNC)
    spent = bypasses(to_at, from_at)
    ways = -(-spent.wavefronts // np.maximum(spent.ideal, 1))
    worst = int(ways.argmax()) if len(ways) else 0
    target = target._replace(
        wavefronts=int(spent.wavefronts.sum()),
        ideal_wavefronts=int(spent.ideal.sum()),
        ways=int(ways.max(initial=0)),
        worst=worst,
    )
    return source._replace(sectors=int(spent.sectors.sum())), target


def by_warp(access: Access) -> IntArray:
    """The addresses as int64[warp instruction, 32], OFF where a lane is off or a warp is not full."""
    at = access.addresses
    lanes = 8 * int(access.op.split(".x")[1]) if _rule(access.op) == MATRIX else WARP
    iterations, threads = at.shape
    full = -(-threads // lanes) * lanes
    out = np.full((iterations, full), OFF, np.int64)
    out[:, :threads] = at
    warps = np.full((iterations * (full // lanes), WARP), OFF, np.int64)
    warps[:, :lanes] = out.reshape(-1, lanes)
    return warps


def _rule(op: str) -> str:
    if "matrix" in op:
        return MATRIX
    if op.startswith("cp.async"):
        return CP_ASYNC_CG if op.endswith(".cg") else CP_ASYNC
    return LOAD if op.startswith("ld") else STORE
