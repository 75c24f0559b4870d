"""Stores that are lost because two tensors overlap: what the one stores, the other overwrites.

    lost_stores(watched, module) -> problems

What one thread does in program order needs no barrier, and no clock tells that it is wrong. A byte is
reported if an element store through a tensor is overwritten by one through another tensor before anything
reads it, and is then read through the first. Both must be element accesses, and the ranges that the two
tensors reach must overlap in part: a tensor inside another is a view of it, and a store through a view is
meant. A tensor is a value of the traced module: a shifted index into one tensor makes no other one.
"""

from __future__ import annotations

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered import spaces
from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.watched import Event, Watched, lanes_of
from layoutcheck.sources.mlir import Value, parse
from layoutcheck.sources.traced_module import TracedModule, tags

KIND = "overlapping-tensors"
_STORE, _LOAD = "cute.memref.store", "cute.memref.load"
_CELL = 4  # bytes; a store of fewer counts as one of all four


def lost_stores(watched: Watched, module: TracedModule) -> list[Problem]:
    """One problem for each pair of stores; none where loops were cut or a condition was guessed."""
    sites = {event.meaning.site for event in watched.events if _element(event, _STORE)}
    if len(sites) < 2 or not watched.complete or watched.guessed:
        return []
    count = (watched.shared_bytes or 228 << 10) // _CELL + 4
    # Of each cell: the event that wrote it last, the one whose store is lost, whether the first is unread.
    last, gone, unread = np.full(count, -1, np.int64), np.full(count, -1, np.int64), np.zeros(count, bool)
    found: dict[tuple[str, str, str], tuple[Event, Event, Event, int, int]] = {}
    for event in watched.events:
        kind = event.meaning.kind
        if kind not in ("read", "write") or not _shared(event):
            if kind not in ("read", "write"):
                unread[:] = False  # whatever else reaches shared memory may have read it
            continue
        if event.doubt or event.guarded:
            return []
        threads, cells = _cells(event, watched.launch.threads)
        if not cells.size or int(cells.max()) >= last.size:
            continue
        if kind == "write":
            over = unread[cells] & (last[cells] >= 0)
            gone[cells] = np.where(over, last[cells], -1)
            last[cells], unread[cells] = event.number, True
            continue
        lost, writer = gone[cells], last[cells]
        for i in np.flatnonzero(lost >= 0)[:1] if _element(event, _LOAD) else ():
            first, over_by = watched.events[int(lost[i])], watched.events[int(writer[i])]
            key = first.meaning.site, over_by.meaning.site, event.meaning.site
            if _element(first, _STORE) and _element(over_by, _STORE) and key[0] != key[1]:
                found.setdefault(key, (first, over_by, event, int(cells[i]) * _CELL, int(threads[i])))
        unread[cells] = False
    return _told(found, watched, module) if found else []


def in_part(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether two ranges overlap, and neither holds the other."""
    held = (a[0] <= b[0] and b[1] <= a[1]) or (b[0] <= a[0] and a[1] <= b[1])
    return max(a[0], b[0]) < min(a[1], b[1]) and not held


def _told(
    found: dict[tuple[str, str, str], tuple[Event, Event, Event, int, int]],
    watched: Watched,
    module: TracedModule,
) -> list[Problem]:
    tensors = _tensors(module)
    reach: dict[Value, tuple[int, int]] = {}
    for event in watched.events:
        tensor = tensors.get(event.meaning.site)
        if tensor is not None and _shared(event):
            _, cells = _cells(event, watched.launch.threads)
            if cells.size:
                low, high = reach.get(tensor, (1 << 40, 0))
                reach[tensor] = min(low, int(cells.min())), max(high, int(cells.max()) + 1)
    problems: dict[tuple[str, str], Problem] = {}
    for (wrote, over, read), (first, second, event, address, thread) in found.items():
        mine, other = tensors.get(wrote), tensors.get(over)
        if mine is None or other is None or mine is not tensors.get(read) or mine is other:
            continue
        a, b = reach[mine], reach[other]
        if not in_part(a, b):
            continue
        facts: dict[str, int | str] = {
            "first_low": a[0] * _CELL, "first_high": a[1] * _CELL, "second_low": b[0] * _CELL,
            "second_high": b[1] * _CELL,
        }  # fmt: skip
        problems.setdefault(
            (wrote, over),
            Problem(
                KIND, Party(first, 0, thread, address, _CELL), Party(second, 0, thread, address, _CELL),
                [Party(event, 0, thread, address, _CELL)], facts,
            ),
        )  # fmt: skip
    return list(problems.values())


def _tensors(module: TracedModule) -> dict[str, Value]:
    """The tensor of every element access of the traced module, by its tag."""
    ops = [op for op in parse(module.text).walk() if op.name in (_STORE, _LOAD)]
    return dict(zip(tags(op.name for op in ops), (_origin(op.operands[0]) for op in ops), strict=True))


def _origin(tensor: Value) -> Value:
    """The tensor that a loop was given, of one that it carries: loops carry tensors through unchanged."""
    while True:
        loop, index = tensor.carried
        if loop is None:
            return tensor
        tensor = loop.operands[3 + index]


def _element(event: Event, name: str) -> bool:
    return event.meaning.site.partition("#")[0] == name and _shared(event)


def _shared(event: Event) -> bool:
    meaning = event.meaning
    if meaning.space == "generic":
        return spaces.space_of(0, event.values[0]) == "smem"
    return meaning.space == "smem"


def _cells(event: Event, threads: int) -> tuple[IntArray, IntArray]:
    """The threads and the cells of every part of an access."""
    active = np.flatnonzero(lanes_of(event, threads))
    row = event.numbers(0, threads)[active]
    parts = max(1, -(-event.meaning.size // _CELL))
    cells = (row & (spaces.SHARED_BYTES - 1))[:, None] // _CELL + np.arange(parts)
    return np.repeat(active, parts), cells.ravel()
