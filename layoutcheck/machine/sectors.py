"""Global-memory sectors: how much one warp instruction moves.

The L1 and L2 caches move 32-byte *sectors*, four to a 128-byte line; a warp instruction is one *request*
and moves every sector that any active lane touches, once (CUDA C++ Best Practices Guide, "Coalesced Access
to Global Memory"; measured exactly on an H200, docs/banks.md: `l1tex__t_sectors_pipe_lsu_mem_global_op_
{ld,st}` and `l1tex__t_requests_...`, all widths, partial warps and repeated addresses).

    >>> global_sectors([4 * lane for lane in range(32)], 32).sectors
    4
    >>> global_sectors([128 * lane for lane in range(32)], 32).efficiency
    0.125
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from layoutcheck.errors import InputError
from layoutcheck.machine.arch import SECTOR_BYTES, WARP
from layoutcheck.machine.arguments import public
from layoutcheck.machine.banks import LANES_PER_PHASE, IntArray, distinct, warp_addresses


class GlobalCost(NamedTuple):
    """`bytes_used` distinct bytes are wanted, `bytes_moved` travel; `ideal` sectors would do."""

    sectors: int
    requests: int
    ideal: int
    bytes_used: int

    @property
    def bytes_moved(self) -> int:
        """Bytes of all the sectors touched."""
        return self.sectors * SECTOR_BYTES

    @property
    def efficiency(self) -> float:
        """The part of the moved bytes that was wanted; 1.0 for an access with no active lane."""
        return self.bytes_used / self.bytes_moved if self.sectors else 1.0


class Sectors(NamedTuple):
    """Many accesses at once, int64[access] each: as in `GlobalCost`."""

    sectors: IntArray
    requests: IntArray
    ideal: IntArray
    bytes_used: IntArray


@public
def global_sectors(addresses: Sequence[int | None], width_bits: int, arch: str = "sm_90") -> GlobalCost:
    """The cost of one warp access of `width_bits` a lane at 32 byte addresses (None: the lane is off).

    Raises InputError for a width that does not exist, for a number of addresses other than 32 and for an
    address that is negative or not a multiple of the access.
    """
    cost = sectors(warp_addresses(addresses, width_bits, arch)[None], width_bits)
    return GlobalCost(*(int(one[0]) for one in cost))


def sectors(addresses: IntArray, width_bits: int) -> Sectors:
    """The cost of many warp accesses: byte addresses int64[access, 32], negative for an inactive lane.

    Addresses are multiples of the access, so that no lane spans two sectors. Raises InputError for a width
    that does not exist and for another shape.
    """
    if width_bits not in LANES_PER_PHASE:
        raise InputError(f"no access is {width_bits} bits wide", expected="8, 16, 32, 64 or 128")
    if addresses.ndim != 2 or addresses.shape[1] != WARP:
        raise InputError(f"addresses have shape {addresses.shape}", expected="[access, 32]")
    size = width_bits // 8
    at = np.sort(addresses, axis=1)
    touched = distinct(at // SECTOR_BYTES)
    used = distinct(at // size) * size
    return Sectors(touched, (at[:, -1] >= 0).astype(np.int64), -(-used // SECTOR_BYTES), used)
