"""How the DSL cuts a tile into boxes: which modes of the global tensor a box runs along, and how far.

It follows the shared layout through its addresses (the right inverse), notes which mode of the global tensor
each step goes along, and stops at the first step that is not of one element. Modes that continue each other
in global memory become one dimension. No extent exceeds 256 elements, the first not the swizzle's span.
Measured on the DSL, and compared with it over random tensors (tests/conformance/test_tma.py).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.composition import composition
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, product, wrap
from layoutcheck.algebra.inverse import right_inverse
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import leaves, make_identity_layout
from layoutcheck.algebra.simplify import coalesce
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.atoms.tma.descriptor import MOST_BOX, MOST_RANK
from layoutcheck.errors import InputError

_FAR = 1 << 40


class NoCommonRun(InputError):
    """The DSL's process dies looking for a box.

    No mode of stride 1, a first extent to be cut that has a prime factor no box has, or joined modes beyond
    the fourth dimension.
    """


class Side(NamedTuple):
    """One dimension of the tensor map: its extent in the box, and the global tensor's leaf modes along it.

    `modes` count the leaves of the global layout from left to right; merged ones share a dimension.
    """

    extent: int
    modes: tuple[int, ...]
    of: int  # the extent before the cut


def box_basis(
    gmem: Layout, smem: Layout, tiler: tuple[int, ...], swizzle: Swizzle | None, element_bits: int
) -> tuple[Side, ...]:
    """The dimensions of the tensor map for tiles of `tiler` between the two layouts.

    Raises NoCommonRun where the compiler dies, InputError for layouts that cannot be composed.
    """
    shape = gmem.shape if type(gmem.shape) is tuple else (gmem.shape,)
    paths = {leaf.path: i for i, leaf in enumerate(leaves(Layout.trusted(shape, shape)))}
    endless = tuple(_endless(mode) for mode in shape)
    tile = composition(make_identity_layout(endless), tuple(Layout(n, 1) for n in tiler))
    inverse = right_inverse(smem)
    if product(inverse.shape) == 1:
        raise NoCommonRun(f"shared memory {smem} has no mode of stride 1")
    run = coalesce(composition(tile, inverse))
    modes: list[tuple[int, int]] = []  # (extent, leaf mode of the global tensor), in shared memory's order
    for extent, stride in zip(wrap(run.shape), wrap(run.stride), strict=True):
        if not isinstance(stride, Basis) or stride.value != 1:
            break
        modes.append((extent, paths[stride.path]))
    limit = MOST_BOX
    if swizzle is not None and swizzle.bits:
        limit = min(limit, (8 << (swizzle.base + swizzle.bits)) // element_bits)
    sides = _cut(_merged(modes, flatten(wrap(gmem.stride)), limit), limit)
    named = {mode for side in sides for mode in side.modes}
    for i, (extent, stride) in enumerate(zip(flatten(shape), flatten(gmem.stride), strict=True)):
        moves = isinstance(stride, Dynamic) or stride != 0
        if i not in named and moves and (isinstance(extent, Dynamic) or extent != 1):
            sides.append(Side(1, (i,), 1))
    return tuple(_grouped(sides))


def _merged(modes: list[tuple[int, int]], stride: tuple[Any, ...], limit: int) -> list[Side]:
    """Neighbours that continue each other in global memory are one dimension, as far as a box reaches.

    The DSL joins them twice: all as far as the first dimension may reach, then the others as far as any may.
    """
    singles = [Side(extent, (mode,), extent) for extent, mode in modes]
    return _joined(_joined(singles, stride, limit, limit), stride, limit, MOST_BOX)


def _joined(sides: list[Side], stride: tuple[Any, ...], first: int, others: int) -> list[Side]:
    """Left to right, each side into the one before it: up to `first` elements, or `others` for later ones."""
    out: list[Side] = []
    for side in sides:
        before, steps = out[-1] if out else None, stride[side.modes[0]]
        most = first if len(out) == 1 else others
        if before is not None and before.extent * side.extent <= most and _end(before, stride) == steps:
            whole = before.extent * side.extent
            out[-1] = Side(whole, (*before.modes, *side.modes), whole)
        else:
            out.append(side)
    return out


def _end(side: Side, stride: tuple[Any, ...]) -> int | None:
    """The stride of a mode that would continue the side, as far as that is static."""
    step = stride[side.modes[0]]
    return step * side.of if isinstance(step, int) else None


def _cut(sides: list[Side], limit: int) -> list[Side]:
    """Extents that no box has become their largest divisor that one has.

    The first is cut factor by factor: of one with a prime factor that no box has, such as 100 by boxes of 4,
    the DSL runs until it is out of memory. Where it is cut, a box has one element along all others. Where a
    later one is, the DSL keeps the ones after it whole, so that the box does not follow shared memory.
    """
    out: list[Side] = []
    for i, side in enumerate(sides):
        most = MOST_BOX if i else limit
        fits = next(n for n in range(min(side.extent, most), 0, -1) if side.extent % n == 0)
        out.append(Side(fits, side.modes, side.extent))
        if i == 0 and fits != side.extent:
            prime = _largest_prime(side.extent)
            if prime > most:
                raise NoCommonRun(
                    f"a run of {side.extent} elements has the prime factor {prime}, and a box at most {most}"
                )
            return out
    return out


def _largest_prime(n: int) -> int:
    found, candidate = 1, 2
    while candidate * candidate <= n:
        while n % candidate == 0:
            found, n = candidate, n // candidate
        candidate += 1
    return max(found, n)


def _endless(shape: Any) -> Any:
    """The mode's shape with its last extent out of the way, as a tile may reach past the tensor's edge."""
    if type(shape) is tuple:
        return (*shape[:-1], _endless(shape[-1]))
    return _FAR


def _grouped(sides: list[Side]) -> list[Side]:
    """Five dimensions at most: what is beyond the fourth becomes one, of modes that are not joined yet."""
    rest = sides[MOST_RANK - 1 :]
    if any(len(side.modes) > 1 for side in rest):
        raise NoCommonRun("modes that continue each other are one dimension, beyond the fourth")
    if len(rest) < 2:
        return sides
    extent = math.prod(side.extent for side in rest)
    modes = tuple(mode for side in rest for mode in side.modes)
    return [*sides[: MOST_RANK - 1], Side(extent, modes, extent)]
