"""What the types of a kernel's arguments say of the memory that they point to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP, MIDDLE
from layoutcheck.dsl.lowered.values import Value, flat
from layoutcheck.errors import InputError
from layoutcheck.sources.types import parse_memref

# Spaces of the tensors that a kernel is given. A generic pointer of the host's points to global memory, too.
GIVEN = ("gmem", "generic")
TMA_ATOM = "!cute_nvgpu.atom."  # as an argument: its descriptor


def sizes(
    given: Sequence[Value], types: Sequence[str], rests: Sequence[str], called: bool = False
) -> dict[int, int]:
    """The bytes from the beginning of each global object to the end of the tensors that lie there.

    `rests` says of each argument what it rests on (`Launch.rests`): the layout of a tensor is its type's,
    with the numbers that it was given, if these rest on no other argument. An object that an argument of no
    known size points to as well has none; what a TMA descriptor holds is for TMA alone. Nor has one whose
    tensor's modes overlap, by its type or by the numbers of a call (`called`): it is a window that moves over
    memory of another layout, as one of a page that may begin at any row.
    """
    found: dict[int, int] = {}
    unknown = set()
    for value, cute, why in zip(given, types, rests, strict=False):
        if cute.startswith(TMA_ATOM):
            continue
        numbers = list(flat(value))
        places = [int(one) for one in numbers if isinstance(one, int)]
        known = None if why == "arguments" else numbered(cute, places)
        window = known is not None and known.overlaps and (called or "?" not in cute)
        span = None if known is None or window else known.span_bytes
        for base, offset in (divmod(place, GLOBAL_STEP) for place in places):
            if base <= 0 or offset < MIDDLE:
                continue
            if span is None:
                unknown.add(base)
            else:
                found[base] = max(found.get(base, 0), offset - MIDDLE + span)
    return {base: size for base, size in found.items() if base not in unknown}


def by_object(given: Sequence[Value], types: Sequence[str]) -> dict[int, Tensor]:
    """The tensors that a host's function is given, by the global object where they begin."""
    found: dict[int, Tensor] = {}
    for value, cute in zip(given, types, strict=False):
        numbers = [int(one) for one in flat(value) if isinstance(one, int)]
        known = numbered(cute, numbers) if numbers else None
        if known is not None:
            found[numbers[0] // GLOBAL_STEP] = known
    return found


def between(given: Sequence[Value], types: Sequence[str], tensors: Mapping[int, Tensor]) -> set[int]:
    """The objects of which an argument begins between the elements of the host's tensor.

    Two interleaved tensors, of which the host was given the first: its type does not say where both end.
    """
    found = set()
    for value, cute in zip(given, types, strict=False):
        if cute.startswith(TMA_ATOM):
            continue
        for place in (int(one) for one in flat(value) if isinstance(one, int)):
            base, offset = divmod(place, GLOBAL_STEP)
            host = tensors.get(base)
            if host is not None and offset >= MIDDLE and not host.begins_one(offset - MIDDLE):
                found.add(base)
    return found


def apart(given: Sequence[Value], types: Sequence[str], at: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which addresses lie between the elements of the tensors that are given, as between padded rows."""
    inside, held = np.zeros(at.shape, bool), np.zeros(at.shape, bool)
    for value, cute in zip(given, types, strict=False):
        numbers = [int(one) for one in flat(value) if isinstance(one, int)]
        known = numbered(cute, numbers) if numbers else None
        if known is not None:
            offset = at - numbers[0]
            inside |= (offset >= 0) & (offset < known.span_bytes)
            held |= known.holds(offset) | known.overlaps
    return inside & ~held


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor in global memory: the bits of an element, the extents and strides (in elements) of its leaves.

    `modes` names each leaf: "1", or "1.0" in a nested mode. `any_order` says that the type does not tell the
    mode whose elements are adjacent: the numbers that its strides were given do.
    """

    bits: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    modes: tuple[str, ...]
    any_order: bool = False

    @property
    def span_bytes(self) -> int:
        """The bytes from its first element to the end of its last."""
        steps = zip(self.shape, self.stride, strict=True)
        last = sum(max(0, extent - 1) * max(0, step) for extent, step in steps)
        return ((last + 1) * self.bits + 7) // 8 if 0 not in self.shape else 0

    @property
    def overlaps(self) -> bool:
        """Whether a mode steps into what modes of smaller steps reach. A step of 0 repeats, and does not."""
        reach = 0
        for step, extent in sorted(zip(self.stride, self.shape, strict=True)):
            if step <= 0 or extent < 2:
                continue
            if step <= reach:
                return True
            reach += (extent - 1) * step
        return False

    def begins_one(self, offset: int) -> bool:
        """Whether one of its elements begins at an offset in bytes, or its last lies before."""
        return offset >= self.span_bytes or (8 * offset % self.bits == 0 and bool(self.holds(offset)))

    def holds(self, offset: int | NDArray[np.int64]) -> Any:
        """Whether an element has the byte at an offset, in a tensor whose modes do not overlap."""
        left = 8 * offset // self.bits
        for step, extent in sorted(zip(self.stride, self.shape, strict=True), reverse=True):
            if step > 0:
                left = left - step * np.minimum(left // step, extent - 1)
        return (left == 0) & (np.asarray(offset) >= 0)


def numbered(cute_type: str, numbers: Sequence[int]) -> Tensor | None:
    """The tensor of a type, with its pointer, its dynamic extents and its strides; None where they lack."""
    memref = tensor(cute_type)
    if memref is None or memref.space not in GIVEN:
        return None
    given = iter(numbers[1:])
    shape, stride = (
        [next(given, None) if isinstance(leaf, Dynamic) else leaf for leaf in flatten(part)]
        for part in (memref.layout.shape, memref.layout.stride)
    )
    known = [one for one in (*shape, *stride) if isinstance(one, int)]
    if len(known) < 2 * len(shape):
        return None
    names = tuple(_names(memref.layout.shape))
    steps = flatten(memref.layout.stride)
    any_order = 1 not in steps and sum(isinstance(step, Dynamic) for step in steps) > 1
    return Tensor(memref.dtype.bits, tuple(known[: len(shape)]), tuple(known[len(shape) :]), names, any_order)


def _names(shape: object, path: str = "") -> Iterator[str]:
    if not isinstance(shape, tuple):
        yield path or "0"
        return
    for i, part in enumerate(shape):
        yield from _names(part, f"{path}.{i}" if path else str(i))


@cache
def tensor(cute_type: str) -> Memref | None:
    """The tensor that an argument's type describes; None for another type."""
    if not cute_type.startswith("!cute.memref<"):
        return None
    try:
        memref = parse_memref(cute_type)
    except InputError:
        return None
    return None if isinstance(memref, OtherOperand) else memref


def static_tensor(cute_type: str) -> Memref | None:
    """The same where everything of it but its address is static."""
    memref = tensor(cute_type)
    return memref if memref is not None and memref.layout.is_static else None
