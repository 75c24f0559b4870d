"""Where a line of a traced file is in its edited text."""

from __future__ import annotations

from collections.abc import Sequence


class Moved:
    """Lines of `before` in `now`: the same ones in front of and behind what changed.

    Lines count from 1. What stands between the first and the last difference has no place any more.
    """

    def __init__(self, before: Sequence[str], now: Sequence[str]) -> None:
        least = min(len(before), len(now))
        head = 0
        while head < least and before[head] == now[head]:
            head += 1
        tail = 0
        while tail < least - head and before[-1 - tail] == now[-1 - tail]:
            tail += 1
        self._head, self._behind, self._by = head, len(before) - tail, len(now) - len(before)
        self._count = len(before)

    def line(self, line: int) -> int | None:
        """The line's number now; None where it was edited, and where there was no such line."""
        if line > self._count:
            return None
        if line <= self._head:
            return line
        return line + self._by if line > self._behind else None
