"""`swizzle`: a pointer swizzle whose granule holds the vector that is copied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.algebra.swizzle import Swizzle
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
    for side in ("src", "dst"):
        old = copy.side(side)
        if old.swizzle is None or old.swizzle.bits == 0 or old.swizzle.base >= base:
            continue
        bits = old.swizzle.bits
        swizzle = Swizzle(bits, base, max(old.swizzle.shift, bits))
        yield Draft(
            STRATEGY,
            f"{swizzle}: the swizzle moves whole vectors of {1 << base} bytes",
            f"allocator.allocate_tensor(dtype, layout, byte_alignment={swizzle.period}, "
            f"swizzle={code.swizzle_code(swizzle)})",
            (copy.with_side(side, replace(old, swizzle=swizzle)),),
            "every reader of the tile must use the same pointer swizzle",
        )
