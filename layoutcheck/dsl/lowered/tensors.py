"""What the types of a kernel's arguments say of the memory that they point to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutcheck.algebra.measure import cosize
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP, MIDDLE
from layoutcheck.dsl.lowered.values import Value, number
from layoutcheck.errors import InputError
from layoutcheck.sources.types import parse_memref


def sizes(given: Sequence[Value], types: Sequence[str]) -> dict[int, int]:
    """The bytes from the beginning of each global object to the end of the static tensor that is there.

    An object that an argument of no known size points to as well has none.
    """
    found: dict[int, int] = {}
    unknown = set()
    for value, cute in zip(given, types, strict=False):
        places = [number(one) for one in _flat(value)]
        objects = [divmod(int(place), GLOBAL_STEP) for place in places if isinstance(place, int)]
        memref = static_tensor(cute)
        for base, offset in objects:
            if base <= 0 or offset < MIDDLE:
                continue
            if memref is None or memref.space != "gmem":
                unknown.add(base)
            else:
                span = cosize(memref.layout)
                assert isinstance(span, int)
                end = offset - MIDDLE + (span * memref.dtype.bits + 7) // 8
                found[base] = max(found.get(base, 0), end)
    return {base: size for base, size in found.items() if base not in unknown}


def _flat(value: Value) -> Iterator[Value]:
    if isinstance(value, tuple):
        for part in value:
            yield from _flat(part)
    else:
        yield value


def static_tensor(cute_type: str) -> Memref | None:
    """The tensor that an argument's type describes, where everything of it but its address is static."""
    if not cute_type.startswith("!cute.memref<"):
        return None
    try:
        memref = parse_memref(cute_type)
    except InputError:
        return None
    return memref if not isinstance(memref, OtherOperand) and memref.layout.is_static else None
