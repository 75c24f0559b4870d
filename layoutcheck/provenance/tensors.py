"""The global tensors of a kernel, to read coordinates from addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.atoms.tma.descriptor import Descriptor
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP, MIDDLE
from layoutcheck.dsl.lowered.tensors import tensor
from layoutcheck.dsl.lowered.values import flat
from layoutcheck.provenance.refs import Array


@dataclass(frozen=True, slots=True)
class Mode:
    """A leaf of a tensor's layout: `place` in its shape, step in bytes, extent."""

    place: int
    step: int
    extent: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor at `base`; `modes` by descending step, those of extent 1 or step 0 left out.

    Elements below a byte count by the byte that they lie in. `open` says that only a run knows the extent of
    the outermost mode: its coordinates have no end. `guessed` says so of another one: where it ends, the next
    one goes on.
    """

    base: int
    bytes: int
    modes: tuple[Mode, ...]
    rank: int
    open: bool = False
    guessed: bool = False

    def coordinates(self, at: Array) -> Array | None:
        """(addresses, leaves) -> the coordinates of elements; None where an address is not in the tensor."""
        left = at - self.base
        found = np.zeros((*at.shape, self.rank), np.int64)
        for mode in self.modes:
            found[..., mode.place] = left // mode.step
            left = left % mode.step
        inside = (left < self.bytes).all() and all(
            ((found[..., m.place] >= 0) & ((found[..., m.place] < m.extent) | (self.open and not i))).all()
            for i, m in enumerate(self.modes)
        )
        return found if inside else None


def tensors(
    given: Any, types: list[str], maps: dict[int, Descriptor | None], guesses: frozenset[int]
) -> dict[int, list[Tensor]]:
    """The tensors among a kernel's arguments and tensor maps, by the number of their global object.

    `guesses` are extents of dynamic modes: a tensor map does not say which ones are.
    """
    found: dict[int, list[Tensor]] = {}
    arguments = (_argument(value, cute) for (value, _), cute in zip(given, types, strict=False))
    for one in (*arguments, *(_mapped(map_, guesses) for map_ in maps.values())):
        if one is not None and _separate(one) and one not in found.get(one.base // GLOBAL_STEP, []):
            found.setdefault(one.base // GLOBAL_STEP, []).append(one)
    return found


def _argument(value: Any, cute: str) -> Tensor | None:
    memref = tensor(cute)
    if memref is None or memref.space != "gmem" or memref.dtype.bits < 8:
        return None
    numbers = [int(n) for n in flat(value) if isinstance(n, int)]
    rest = iter(numbers[1:])
    shape = [
        next(rest, 0) if isinstance(leaf, Dynamic) else int(leaf) for leaf in flatten(memref.layout.shape)
    ]
    stride = [
        next(rest, 0) if isinstance(leaf, Dynamic) else int(leaf) for leaf in flatten(memref.layout.stride)
    ]
    size = memref.dtype.bits // 8
    dynamic = [isinstance(leaf, Dynamic) for leaf in flatten(memref.layout.shape)]
    return _made(numbers[0], size, [(d * size, s) for d, s in zip(stride, shape, strict=True)], dynamic)


def _mapped(map_: Descriptor | None, guesses: frozenset[int]) -> Tensor | None:
    if map_ is None or map_.corners is not None:
        return None
    size, each = max(1, map_.element_bits // 8), max(1, 8 // map_.element_bits)
    steps, dims = (size, *map_.strides_bytes), (map_.dims[0] // each, *map_.dims[1:])
    dynamic = [dim in guesses for dim in map_.dims]
    return _made(map_.base, size, list(zip(steps, dims, strict=True)), dynamic)


def _made(base: int, size: int, modes: list[tuple[int, int]], dynamic: Sequence[bool] = ()) -> Tensor:
    """The tensor of (step, extent) modes; extents of `dynamic` ones are guesses that end at the next mode."""
    kept = [Mode(i, step, extent) for i, (step, extent) in enumerate(modes) if step > 0 and extent > 1]
    kept.sort(key=lambda m: -m.step)
    for i in range(1, len(kept)):
        outer, one = kept[i - 1 : i + 1]
        if dynamic and dynamic[one.place] and outer.step % one.step == 0:
            kept[i] = replace(one, extent=min(one.extent, outer.step // one.step))
    unknown = [bool(dynamic) and dynamic[one.place] for one in kept]
    return Tensor(base, size, tuple(kept), len(modes), any(unknown[:1]), any(unknown[1:]))


def _separate(one: Tensor) -> bool:
    """Whether every address has one coordinate: no mode reaches into the next."""
    steps = [m.step for m in one.modes] + [one.bytes]
    fits = all(m.step >= n.step * n.extent for m, n in zip(one.modes, one.modes[1:], strict=False))
    return fits and steps[-2:] == sorted(steps[-2:], reverse=True) and one.base >= GLOBAL_STEP + MIDDLE
