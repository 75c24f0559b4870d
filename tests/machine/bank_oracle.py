"""The bank and sector rules written a second time, slowly, with sets: the judge of the numpy model."""

from __future__ import annotations

from collections import Counter, defaultdict

Lanes = "list[int | None]"


def groups(lanes: Lanes, width_bits: int, op: str) -> list[list[int]]:
    """The lanes of each phase."""
    per = {64: 16, 128: 8}.get(width_bits, 32)

    def alike(distance: int) -> bool:
        pairs = ((lanes[i], lanes[i ^ distance]) for i in range(32))
        return all(a is None or b is None or a == b for a, b in pairs)

    if op == "ld" and per < 32 and (alike(1) or alike(2)):
        per *= 2
    return [list(range(first, first + per)) for first in range(0, 32, per)]


def wavefronts(lanes: Lanes, width_bits: int, op: str) -> tuple[int, int, int]:
    """(wavefronts, phases with an active lane, most wavefronts of a phase)."""
    ways = []
    for group in groups(lanes, width_bits, op):
        words = [
            byte // 4
            for at in (lanes[lane] for lane in group)
            if at is not None
            for byte in range(at, at + width_bits // 8, 4)
        ]
        if op == "cp.async":
            ways.append(max(Counter(word % 32 for word in words).values(), default=0))
        else:
            banks: dict[int, set[int]] = defaultdict(set)
            for word in words:
                banks[word % 32].add(word)
            ways.append(max(map(len, banks.values()), default=0))
    return sum(ways), sum(1 for way in ways if way), max(ways)


def sectors(lanes: Lanes, width_bits: int) -> tuple[int, int, int, int]:
    """(sectors, requests, ideal sectors, bytes used)."""
    touched = {byte for at in lanes if at is not None for byte in range(at, at + width_bits // 8)}
    return len({b // 32 for b in touched}), int(bool(touched)), -(-len(touched) // 32), len(touched)
