"""The swizzle, or the padding, with which all accesses of a shared-memory tile conflict least.

A pointer swizzle `S<b,m,s>` XORs byte-address bits [m+s, m+s+b) onto bits [m, m+b). Which of them are worth
trying, for accesses of at most 2^v bytes and a tile below 2^n bytes:

- m >= v, or a vector would be torn apart;
- m + b <= 7: bits from 7 up do not choose a bank, XOR onto them changes no conflict;
- m + s < n: bits from n up are 0 within the tile;
- s >= b > 0: with a negative shift the low bits move the high ones, and a XOR of bank bits onto bank bits
  permutes the banks without parting any two.

That leaves some dozens, which are tried until one has no conflict: by rank over F2 (`f2.py`) where tile and
access are linear, by counting (`banks.py`) where not. So the result is optimal among swizzles: no `S<b,m,s>`
that keeps the vectors whole does better. Padding is tried likewise, every pitch that differs modulo 128 B.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.errors import InputError
from layoutcheck.machine import banks, f2
from layoutcheck.machine.arch import WARP, parse_arch
from layoutcheck.machine.arguments import public
from layoutcheck.machine.banks import CP_ASYNC, CP_ASYNC_CG, IntArray
from layoutcheck.machine.tiles import (
    TileAccess,
    TileCost,
    addresses_of,
    analyse_tile,
    in_elements,
    tile_addresses,
)

BANK_SPAN_BYTES = 128
LANE_BITS = (1, 2, 4, 8, 16)


class SwizzleResult(NamedTuple):
    """What `best_swizzle` found. `layout` is the tile, padded where `padding` elements a row were added.

    `swizzle` acts on byte addresses, as a pointer's does; `swizzle_elements` is the same for a composed
    layout. `before` and `after` have a row an access. `tried` counts the candidates: all there are, or up to
    the first without a conflict.
    """

    layout: Layout
    swizzle: Swizzle | None
    swizzle_elements: Swizzle | None
    padding: int
    before: tuple[TileCost, ...]
    after: tuple[TileCost, ...]
    tried: int

    @property
    def wavefronts(self) -> int:
        """Of all accesses together."""
        return sum(row.wavefronts for row in self.after)

    @property
    def conflict_free(self) -> bool:
        """Whether every access takes one wavefront a phase."""
        return all(row.wavefronts == row.ideal for row in self.after)

    @property
    def optimality(self) -> str:
        """Why there is no better one."""
        if self.conflict_free:
            return "every access takes one wavefront a phase, the minimum"
        return f"the least of all {self.tried} swizzles and paddings that keep the vectors whole"


@public
def best_swizzle(
    tile: Layout,
    element_bits: int,
    accesses: Sequence[TileAccess],
    arch: str = "sm_90",
    allow: tuple[str, ...] = ("swizzle", "padding"),
) -> SwizzleResult:
    """The pointer swizzle or the padded pitch, of those that `allow` names, with the fewest wavefronts.

    Of equals, the plain tile comes first, then swizzles before padding, the standard `S<b,4,3>` before
    others, fewer bits before more. Raises InputError as `analyse_tile` does.
    """
    parse_arch(arch)
    if not accesses:
        raise InputError("best_swizzle needs at least one access of the tile")
    if set(allow) - {"swizzle", "padding"}:
        raise InputError(f"best_swizzle cannot try {', '.join(allow)}", expected="swizzle, padding or both")
    if not isinstance(tile, Layout):
        raise InputError("best_swizzle takes a layout without a swizzle: it finds one")
    at = tile_addresses(tile, element_bits)
    probes = [_Probe(access, at, f2.columns(tile, element_bits // 8)) for access in accesses]
    vector = max(element_bits, *(access.width_bits for access in accesses)) // 8
    swizzles = candidates(vector, int(at.max()) + element_bits // 8) if "swizzle" in allow else ()
    ideal = sum(probe.ideal for probe in probes)
    plain = sum(probe.plain for probe in probes)
    scored: list[tuple[tuple[int, ...], Swizzle | None, int]] = [((plain, 0), None, 0)]
    # b bits part at most 2^b words that meet in a bank: those that cannot part all come last.
    for s in sorted(swizzles, key=lambda s: (plain > ideal << s.bits, *_preference(s))):
        if scored[-1][0][0] == ideal:
            break
        scored.append(((sum(probe.wavefronts(s) for probe in probes), 1, *_preference(s)), s, 0))
    conflicts = min(score[0] for score, _, _ in scored) > ideal
    by_one = padded(tile, 1) if "padding" in allow and conflicts else None
    if by_one is not None:
        moves = tile_addresses(by_one, element_bits) - at  # of each element where rows are one element longer
        for pad in range(vector, BANK_SPAN_BYTES, vector):
            elements = pad * 8 // element_bits
            scored.append(
                ((sum(probe.shifted(moves * elements) for probe in probes), 2, pad), None, elements)
            )
    _, swizzle, pad = min(scored, key=lambda entry: entry[0])
    layout = tile
    if pad:
        wider = padded(tile, pad)
        assert wider is not None
        layout = wider
    return SwizzleResult(
        layout,
        swizzle,
        None if swizzle is None else in_elements(swizzle, element_bits),
        pad,
        tuple(analyse_tile(tile, element_bits, accesses)),
        tuple(analyse_tile(layout, element_bits, accesses, swizzle)),
        len(scored),
    )


@cache
def candidates(vector_bytes: int, tile_bytes: int) -> tuple[Swizzle, ...]:
    """Every swizzle that can change a conflict and keeps vectors whole (see the module's text)."""
    low = max(0, (vector_bytes - 1).bit_length())
    top = (tile_bytes - 1).bit_length()
    span = BANK_SPAN_BYTES.bit_length() - 1
    return tuple(
        Swizzle(bits, base, shift)
        for base in range(low, span)
        for bits in range(1, span - base + 1)
        for shift in range(bits, top - base)
    )


def _preference(s: Swizzle) -> tuple[int, ...]:
    return (s.base, s.shift) != (4, 3), s.bits, s.base, s.shift


def padded(tile: Layout, elements: int) -> Layout | None:
    """The tile with every contiguous run followed by `elements` unused ones; None where it has no such runs.

    `(64,64):(64,1)` padded by 8 is `(64,64):(72,1)`: strides that are multiples of the run grow with it.
    """
    shape, stride = flatten(tile.shape), flatten(tile.stride)
    run = next((s for s, d in zip(shape, stride, strict=True) if d == 1 and s > 1), None)
    if run is None or any(d % run for d in stride if d != 1):
        return None
    grown = iter([d if d == 1 else d // run * (run + elements) for d in stride])
    return Layout(tile.shape, inttuple.unflatten(grown, tile.shape))


class _Probe:
    """One access of the plain tile, ready to be counted under any swizzle: linear where it can be."""

    def __init__(self, access: TileAccess, addresses: IntArray, matrix: list[int] | None) -> None:
        self.access = access
        self.at = addresses_of(access, addresses, None)
        self.columns = self._linear(matrix, addresses.size)
        found = banks.wavefronts(self.at[:1] if self.columns else self.at, access.width_bits, access.op)
        same = len(self.at) if self.columns else 1
        self.plain, self.ideal = int(found.wavefronts.sum()) * same, int(found.phases.sum()) * same

    def _linear(self, matrix: list[int] | None, size: int) -> list[int] | None:
        """The byte-address columns of the five lane bits, where every instruction has the same ones."""
        index = self.access.index
        if matrix is None or self.access.op in (CP_ASYNC, CP_ASYNC_CG) or not len(index):
            return None
        columns = [int(index[0, bit]) ^ int(index[0, 0]) for bit in LANE_BITS]
        offsets = np.zeros(WARP, np.int64)
        for bit, column in zip(LANE_BITS, columns, strict=True):
            offsets[(np.arange(WARP) & bit) != 0] ^= column
        if int(index.min()) < 0 or size & (size - 1) or (index != index[:, :1] ^ offsets).any():
            return None
        return [_combine(matrix, column) for column in columns]

    def wavefronts(self, swizzle: Swizzle) -> int:
        """Of all instructions of the access, in the swizzled tile."""
        access = self.access
        if self.columns:
            one = f2.wavefronts(f2.swizzled(self.columns, swizzle), access.width_bits, access.op)
            return one * len(self.at)
        if access.op == CP_ASYNC_CG:
            return self.plain  # a swizzle within 128-byte lines leaves the lines
        return self.moved.under(swizzle)

    @cached_property
    def moved(self) -> banks.Moved:
        """What is to be counted where nothing is linear."""
        return banks.moved(self.at, self.access.width_bits, self.access.op)

    def shifted(self, by: IntArray) -> int:
        """Of all instructions, if each element of the plain tile lies so many bytes further on."""
        at = np.where(self.at < 0, self.at, self.at + by[self.access.index])
        return int(banks.wavefronts(at, self.access.width_bits, self.access.op).wavefronts.sum())


def _combine(matrix: Sequence[int], bits: int) -> int:
    out = 0
    for place, column in enumerate(matrix):
        if bits >> place & 1:
            out ^= column
    return out
