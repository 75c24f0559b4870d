"""How much the runs of all analyses may hold: addresses are megabytes for a large tile, and reports are kept.

The oldest runs go first. They are made again where they are asked for again, with the same result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from weakref import WeakMethod

if TYPE_CHECKING:
    from layoutcheck.analysis import Run

MOST_BYTES = 1 << 27  # some 120 tiles of 128 x 128 elements of 16 bits


class Memory:
    """Who holds runs, oldest first, and how many bytes."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self._held: deque[tuple[WeakMethod[Callable[[], None]], int]] = deque()
        self._bytes = 0

    def hold(self, runs: Iterable[Run], forget: Callable[[], None]) -> None:
        """Count what the runs hold; the oldest holders `forget` theirs while that is too much."""
        size = sum(
            places.nbytes
            for run in runs
            for moves in (run.intent, run.execution)
            for places in (moves.source, moves.target)
        )
        self._held.append((WeakMethod(forget), size))
        self._bytes += size
        while self._bytes > self.most_bytes and len(self._held) > 1:
            oldest, size = self._held.popleft()
            self._bytes -= size
            theirs = oldest()
            if theirs is not None:
                theirs()


MEMORY = Memory()
