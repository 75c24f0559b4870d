"""Instructions, wavefronts and sectors counted from executed PTX, by the rules as docs/banks.md states them.

A few lines of their own, lane by lane: nothing of `layoutcheck.machine` is used.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tests.conformance.written.machine import Access

_PHASE = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}


def wavefronts(lanes: dict[int, int], width: int, *, load: bool, matrix: bool) -> int:
    """One warp's access of shared memory: byte addresses by lane."""
    per = 8 if matrix else _PHASE[width]
    if load and not matrix and width >= 8:
        for near in (1, 2):
            if all(lane ^ near not in lanes or lanes[lane ^ near] == at for lane, at in lanes.items()):
                per *= 2
                break
    total = 0
    for first in range(0, 32, per):
        banks = defaultdict(set)
        for lane in range(first, first + per):
            if lane in lanes:
                for word in range(lanes[lane] // 4, (lanes[lane] + width - 1) // 4 + 1):
                    banks[word % 32].add(word)
        total += max(map(len, banks.values()), default=0)
    return total


def sectors(lanes: dict[int, int], width: int) -> int:
    """One warp's access of global memory."""
    return len({(at + k) // 32 for at in lanes.values() for k in range(width)})


def counted(accesses: list[Access]) -> dict[str, int]:
    """What the report's `execution` counts, of accesses that all belong to one copy."""
    found: dict[str, int] = defaultdict(int)
    issued: dict[int, int] = defaultdict(int)
    for access in accesses:
        matrix = "matrix" in access.name
        if not (
            access.name.startswith("cp.async") and access.kind == "read"
        ):  # one instruction, two addresses
            for thread in access.mask.nonzero()[0] if not matrix else range(access.mask.size):
                issued[int(thread)] += 1
        for lanes in _warps(access):
            if access.space == "shared":
                load = access.kind == "read"
                found["smem_wavefronts"] += wavefronts(lanes, access.width, load=load, matrix=matrix)
            elif access.space == "global":
                found["gmem_sectors"] += sectors(lanes, access.width)
    found["instructions_per_thread"] = max(issued.values(), default=0)
    return dict(found)


def _warps(access: Access) -> list[dict[int, int]]:
    warps: dict[int, dict[int, int]] = defaultdict(dict)
    for thread in access.mask.nonzero()[0]:
        warps[int(thread) // 32][int(thread) % 32] = int(access.address[thread])
    return list(warps.values())


def of_copy(accesses: list[Any], spaces: tuple[str, str], epoch: int) -> list[Access]:
    """The accesses of the source by reads and of the destination by writes, registers left out."""
    name = {"gmem": "global", "smem": "shared"}
    wanted = {
        (kind, name[space]) for kind, space in zip(("read", "write"), spaces, strict=True) if space in name
    }
    return [a for a in accesses if a.epoch == epoch and (a.kind, a.space) in wanted]
