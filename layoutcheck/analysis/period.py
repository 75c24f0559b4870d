"""One period of a large regular copy: so many iterations that all others are one of them, shifted.

The iterations of a copy (the coordinates of its rest modes) are the same moves at other addresses. Two of
them are alike where their addresses are equal modulo the period of alignment and swizzle. Where the
destination's layout gives every element a place of its own, and every iteration does what is asked of it, the
whole copy does. So a mode of 512 iterations, 4096 B apart, is answered by four: no access asks for more
alignment than 128 B, and four have a first, a last and others between.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from layoutcheck.algebra.inttuple import flatten, unflatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.analysis.comparison.kinds import Comparison
from layoutcheck.copies.alignment import storage_bits
from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import TooLarge, rest_modes, size

_FAMILIES = ("universal", "cp_async", "register")
_ALIGNED_BYTES = 128  # no access of these families asks for more
_MOST = 4096  # iterations of a mode; more are no part worth taking
_LEAST = 3  # the first iteration of a mode, the last, and one between


class Period(NamedTuple):
    """`copy` and `instance` with fewer iterations; the whole copy has `times` as many."""

    copy: Copy
    instance: Copy
    times: int


def one_period(copy: Copy, instance: Copy) -> Period | None:
    """One period of a copy and of its static instance; None where a part would not answer for the whole."""
    if copy.pred is not None or copy.atom is None or copy.atom.family not in _FAMILIES or copy.op != "copy":
        return None
    sides = (instance.src, instance.dst)
    shapes = [flatten(rest_modes(side.layout).shape) for side in sides]
    if shapes[0] != shapes[1] or not _covers_once(instance):
        return None
    extents = []
    for i, extent in enumerate(shapes[0]):
        residues = [_residues(side, flatten(rest_modes(side.layout).stride)[i]) for side in sides]
        extents.append(_part(extent, max(_LEAST, math.lcm(*residues))))
    times = math.prod(shapes[0]) // math.prod(extents)
    parts = [_shortened(one, shapes[0], extents) for one in (copy, instance)]
    if times == 1 or parts[0] is None or parts[1] is None:
        return None
    return Period(parts[0], parts[1], times)


def of_the_whole(comparison: Comparison) -> Comparison:
    """What one period proves of the whole: what is outside of a part may be within the whole.

    Raises TooLarge where nothing else goes wrong.
    """
    if comparison.clean:
        return comparison
    counts = {kind: n for kind, n in comparison.counts.items() if not kind.startswith("outside")}
    if not any(counts.values()):
        raise TooLarge("the copy is too large to follow, and one period of it reaches beyond itself")
    return replace(comparison, counts=counts)


def _part(extent: int, least: int) -> int:
    """The smallest divisor of an extent that is not below `least`; the extent where there is none."""
    return next((n for n in range(least, min(extent, _MOST)) if extent % n == 0), extent)


def _residues(memref: Memref, stride: int) -> int:
    """How many iterations begin at different places of a period of alignment and swizzle."""
    if memref.space == "rmem":
        return 1
    period = _ALIGNED_BYTES
    if memref.swizzle is not None and memref.swizzle.bits:
        period = math.lcm(period, 2 * memref.swizzle.period)  # 2: constant offsets count to twice the period
    bits = 8 * period
    return bits // math.gcd(bits, stride * storage_bits(memref.dtype))


def _covers_once(instance: Copy) -> bool:
    """Whether the tiles are the tensor, and no two elements of the destination have one place."""
    for side in ("src", "dst"):
        view, whole = instance.side(side), instance.whole(side)
        if view.space != "rmem" and instance.tiling is not None:
            threads = size(instance.tiling.tiled.layout_tv[0])
            if size(view.layout) * threads != size(whole.layout):
                return False
        if side == "dst" and not injective((view if view.space == "rmem" else whole).layout):
            return False
    return True


def injective(layout: Layout) -> bool:
    """Whether every stride exceeds all that the smaller ones reach: no element shares its place."""
    leaves = zip(flatten(layout.stride), flatten(layout.shape), strict=True)
    reach = 0
    for stride, extent in sorted((abs(d), n) for d, n in leaves if n != 1):
        if stride <= reach:
            return False
        reach += stride * (extent - 1)
    return True


def _shortened(copy: Copy, was: tuple[int, ...], extents: list[int]) -> Copy | None:
    """The copy and the tensors behind it with these extents of rest modes, whose strides stay.

    None where a mode of such a tensor is not a single extent, a tile of which is one iteration.
    """

    def view(memref: Memref) -> Memref:
        v, *rest = memref.layout.shape
        shape = (v, *unflatten(iter(extents), tuple(rest)))
        return replace(memref, layout=Layout.trusted(shape, memref.layout.stride))

    def whole(memref: Memref) -> Memref | None:
        if memref.space == "rmem":
            return memref
        modes = memref.layout.shape
        if type(modes) is not tuple or len(modes) != len(was):
            return None
        if any(type(mode) is not int or mode % n for mode, n in zip(modes, was, strict=True)):
            return None
        shape = tuple(mode // n * m for mode, n, m in zip(modes, was, extents, strict=True))
        return replace(memref, layout=Layout.trusted(shape, memref.layout.stride))

    short = replace(copy, src=view(copy.src), dst=view(copy.dst))
    if copy.tiling is None:
        return short
    src, dst = whole(copy.tiling.src), whole(copy.tiling.dst)
    if src is None or dst is None:
        return None
    return replace(short, tiling=Tiling(copy.tiling.tiled, src, dst, copy.tiling.block_threads))
