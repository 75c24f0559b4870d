"""LC306 swizzle-unit: a pointer's swizzle counts bytes, and these numbers look like elements."""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.analysis.vector import NAMES
from layoutcheck.rules.conflicts import swizzled, under
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


@make_rule("slow")
def rule(analysis: Analysis) -> Findings:
    """A conflicting side whose swizzle would be conflict-free with its base or shift taken for elements."""
    found = swizzled(analysis)
    if found is None:
        return
    side, swizzle = found
    bits = analysis.copy.whole(side.side).dtype.bits
    for meant, what in readings(swizzle, bits):
        if under(analysis, side, meant) != side.ideal_wavefronts:
            continue
        yield rule.finding(
            f"{swizzle} on the {NAMES[side.side]}'s pointer counts bytes; in bytes it should be {meant}",
            f"A pointer's swizzle acts on byte addresses. {what}: {meant} takes {side.ideal_wavefronts} "
            f"wavefronts, conflict-free, {swizzle} takes {side.wavefronts}.",
            Where(side.side),
            {
                "swizzle": str(swizzle),
                "in_bytes": str(meant),
                "element_bits": bits,
                "wavefronts": side.wavefronts,
                "ideal_wavefronts": side.ideal_wavefronts,
                "ratio": round(side.wavefronts / side.ideal_wavefronts, 2),
            },
        )
        return


def readings(swizzle: Swizzle, element_bits: int) -> Iterator[tuple[Swizzle, str]]:
    """What the numbers mean in bytes if the base, or the shift, was worked out in elements.

    A shift of log2(vector / element) elements stands for log2(128 bytes / vector) of bytes: 3 for 16-byte
    vectors, of which the base keeps the bytes together.
    """
    size = (element_bits // 8).bit_length() - 1
    if element_bits % 8 or element_bits < 8:
        return
    candidates = []
    if size:
        numbers = (swizzle.bits, swizzle.base + size, swizzle.shift)
        candidates.append((numbers, "Its base is right in elements"))
    if swizzle.base + swizzle.bits <= 7 and swizzle.shift == swizzle.base - size != 7 - swizzle.base:
        numbers = (swizzle.bits, swizzle.base, 7 - swizzle.base)
        candidates.append((numbers, "Its shift follows the element's width"))
    for (b, m, shifted), what in candidates:
        if abs(shifted) >= b:
            yield Swizzle(b, m, shifted), what
