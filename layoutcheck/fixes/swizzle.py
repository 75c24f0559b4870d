"""`swizzle`: a pointer swizzle whose granule holds the vector that is copied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Draft
from layoutcheck.rules.facts import Facts

STRATEGY = "swizzle"


def propose(facts: Facts) -> Iterator[Draft]:
    """The same number of XORed bits, above the bytes of one access."""
    copy = facts.copy
    if copy.tiling is not None:
        return
    base = (facts.width_bytes - 1).bit_length() if facts.width_bytes else 4
    changed: dict[str, Memref] = {}
    for side in ("src", "dst"):
        view: Memref = getattr(copy, side)
        old = view.swizzle
        if old is None or old.bits == 0 or old.base >= base:
            continue
        changed[side] = replace(view, swizzle=Swizzle(old.bits, base, max(old.shift, old.bits)))
    for view in changed.values():
        assert view.swizzle is not None
        yield Draft(
            STRATEGY,
            f"{view.swizzle}: the swizzle moves whole vectors of {1 << base} bytes",
            f"allocator.allocate_tensor(dtype, layout, byte_alignment={view.swizzle.period}, "
            f"swizzle={code.swizzle_code(view.swizzle)})",
            (replace(copy, **changed),),
            "every reader of the tile must use the same pointer swizzle",
        )
