"""What the types of a kernel's arguments say of the memory that they point to."""

from __future__ import annotations

from collections.abc import Sequence

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP, MIDDLE
from layoutcheck.dsl.lowered.values import Value, flat
from layoutcheck.errors import InputError
from layoutcheck.sources.types import parse_memref


def sizes(given: Sequence[Value], types: Sequence[str], rests: Sequence[str]) -> dict[int, int]:
    """The bytes from the beginning of each global object to the end of the tensors that lie there.

    `rests` says of each argument what it rests on (`Launch.rests`): the layout of a tensor is its type's,
    with the numbers that it was given, if these rest on no other argument. An object that an argument of no
    known size points to as well has none.
    """
    found: dict[int, int] = {}
    unknown = set()
    for value, cute, why in zip(given, types, rests, strict=False):
        numbers = list(flat(value))
        places = [int(one) for one in numbers if isinstance(one, int)]
        span = None if why == "arguments" else _span_bytes(cute, places)
        for base, offset in (divmod(place, GLOBAL_STEP) for place in places):
            if base <= 0 or offset < MIDDLE:
                continue
            if span is None:
                unknown.add(base)
            else:
                found[base] = max(found.get(base, 0), offset - MIDDLE + span)
    return {base: size for base, size in found.items() if base not in unknown}


def _span_bytes(cute_type: str, numbers: Sequence[int]) -> int | None:
    """The bytes that a global tensor spans; `numbers`: its pointer, its dynamic extents, its strides."""
    memref = tensor(cute_type)
    if memref is None or memref.space != "gmem":
        return None
    given = iter(numbers[1:])
    shape, stride = (
        [next(given, None) if isinstance(leaf, Dynamic) else leaf for leaf in flatten(part)]
        for part in (memref.layout.shape, memref.layout.stride)
    )
    last = 0
    for extent, step in zip(shape, stride, strict=True):
        if not isinstance(extent, int) or not isinstance(step, int):
            return None
        last += max(0, extent - 1) * max(0, step)
    return ((last + 1) * memref.dtype.bits + 7) // 8 if 0 not in shape else 0


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
