"""Ranges of addresses."""

from __future__ import annotations


def joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Overlapping ranges put together."""
    out: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if out and low <= out[-1][1]:
            out[-1] = (out[-1][0], max(high, out[-1][1]))
        else:
            out.append((low, high))
    return out
