"""Global memory that several warps of a block access, one of them to store: what needs an order in the block.

`crowded(block)` finds it once, from the addresses of all plain accesses; few kernels have any. Addresses and
conditions that rest on numbers of the host, or that only a run knows, are not judged: there it says so. Two
pointers of the host never count as the same memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from layoutcheck.order.own_values import loads_behind
from layoutcheck.order.watched import Event, Watched, lanes_of

TITLE = "global memory between threads of a block"
MOST_CELLS = 1 << 22  # of the accesses that are looked at


class Crowd(NamedTuple):
    """`cells`, in order, of `size` bytes each; `unsure` says what of the block could not be judged."""

    size: int
    cells: Any
    unsure: str = ""

    def in_cells(self, size: int) -> Any:
        """The same as cells of `size` bytes, which divides its own."""
        many = self.size // size
        return (self.cells[:, None] * many + np.arange(many, dtype=np.int64)).ravel()


def crowded(block: Watched) -> Crowd:
    """The cells that one warp of a block stores to and another one accesses; kept with the block."""
    if block.crowd is None:
        block.crowd = _crowd(block)
    return block.crowd


def plain(event: Event) -> bool:
    """Whether an event is an ordinary access of global memory at known addresses."""
    meaning = event.meaning
    known = not event.doubt and not event.guarded
    return known and meaning.kind in ("read", "write") and meaning.space == "gmem"


def _crowd(block: Watched) -> Crowd:
    nothing = Crowd(1, np.zeros(0, np.int64))
    events = [event for event in block.events if plain(event)]
    if block.launch.threads <= 32 or len(events) < 2:
        return nothing
    near = _near(events, block.launch.threads)
    if not near:
        return nothing
    size = _cell(near, block.launch.threads)
    if sum(block.launch.threads * event.meaning.size // size for event in near) > MOST_CELLS:
        return nothing._replace(unsure=f"{TITLE}: more than {MOST_CELLS >> 20} Mi places of the same ranges")
    found = _shared(block, near, size)
    sure = [event for event in near if not event.rests or block.reasons.worst(event.rests) == "static"]
    cells = found if len(sure) == len(near) else _shared(block, sure, size)
    left = "" if cells.size == found.size else f"{TITLE}: addresses that depend on dynamic arguments"
    return Crowd(size, cells, left)


def _shared(block: Watched, events: list[Event], size: int) -> Any:
    """The cells that one warp stores to and another one accesses, in order."""
    parts = list(_parts(block, events, size))
    if not parts:
        return np.zeros(0, np.int64)
    cells, warps, writes = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((warps, cells))
    cells, warps, writes = cells[order], warps[order], writes[order]
    first = np.flatnonzero(np.r_[True, cells[1:] != cells[:-1]])
    last = np.r_[first[1:], cells.size] - 1
    several = (warps[first] != warps[last]) & np.logical_or.reduceat(writes, first)
    return cells[first][several]


def _parts(block: Watched, events: list[Event], size: int) -> Iterator[tuple[Any, Any, Any]]:
    """(cells, warps, whether they are stores) of each event."""
    for event in events:
        threads = np.flatnonzero(lanes_of(event, block.launch.threads))
        cells = cells_of(event, threads, size, block.launch.threads)
        many = cells.shape[1]
        write = np.full(cells.size, event.meaning.kind == "write")
        yield cells.ravel(), (threads // 32).repeat(many), write


def cells_of(event: Event, threads: Any, size: int, launched: int) -> Any:
    """[thread, cell] of an access by some of the launched threads."""
    first = event.numbers(0, launched)[threads] // size
    return first[:, None] + np.arange(max(1, event.meaning.size // size), dtype=np.int64)


def _near(events: list[Event], threads: int) -> list[Event]:
    """The events whose statement may reach what another statement stores: by their ranges, masks aside.

    What one statement stores twice is most often one value; else it is near itself.
    """
    by_op: dict[object, list[Event]] = {}
    for event in events:
        by_op.setdefault(event.meaning.op, []).append(event)
    spans = {op: _span(each) for op, each in by_op.items()}
    stores = [(op, *spans[op]) for op, each in by_op.items() if each[0].meaning.kind == "write"]
    near: set[object] = {op for op, _, _ in stores if _meets_itself(by_op[op], threads)}
    for op, (low, high) in spans.items():
        met = [other for other, a, b in stores if other is not op and low < b and a < high]
        near.update([op, *met] if met else ())
    return [event for event in events if event.meaning.op in near]


def _meets_itself(events: list[Event], threads: int) -> bool:
    """Whether warps that execute a store once meet there, with numbers of their own."""
    op = events[0].meaning.op
    if op is None or not loads_behind(op, events[0].meaning):
        return False
    for event in events:
        lanes = np.flatnonzero(lanes_of(event, threads))
        at = event.numbers(0, threads)[lanes]
        if np.unique(at).size < np.unique(np.stack([at, lanes // 32]), axis=1).shape[1]:
            return True
    return False


def _span(events: list[Event]) -> tuple[int, int]:
    """The range that one statement reaches in all its turns."""
    values = [event.values[0] for event in events]
    numbers = [value for value in values if isinstance(value, int)]
    arrays = [value for value in values if not isinstance(value, int)]
    low, high = (min(numbers), max(numbers)) if numbers else (1 << 62, 0)
    if arrays:
        every = np.concatenate(arrays)
        low, high = min(low, int(every.min())), max(high, int(every.max()))
    return low, high + events[0].meaning.size


def _cell(events: list[Event], threads: int) -> int:
    """The largest power of two, up to 16, that divides every access."""
    low = 16
    for event in events:
        low |= event.meaning.size | int(np.bitwise_or.reduce(event.numbers(0, threads)))
    return low & -low
