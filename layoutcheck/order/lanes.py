"""Instructions that lanes of a warp execute together, in a branch that only some of its lanes take.

    lanes_apart(kernel, budget) -> problems

`shfl.sync`, `vote.sync`, `redux.sync` and `match.sync` wait for the lanes of their mask that have not exited,
`ldmatrix` and `stmatrix` for all lanes of the warp (PTX ISA, under their names). The lanes of each warp are
run against one another. On an H200 a warp hangs where the others wait for something else, a barrier
or another such instruction. It goes on where they have nothing more to wait for; a shuffle then brings 0 from
a lane that has not come.

Lanes that come or not by a number that only a run knows, or that was made up, are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from layoutcheck.dsl.lowered.evaluate import KERNELS, tag
from layoutcheck.order.budget import Budget
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.problems import Party, Problem, of_lanes
from layoutcheck.order.watched import Event, Watched, lanes_of
from layoutcheck.sources.mlir import Operation

_TOGETHER = {
    "nvvm.shfl.sync": "shuffle", "nvvm.vote.sync": "vote", "nvvm.redux.sync": "redux",
    "nvvm.match.sync": "match",
}  # fmt: skip
_MATRIX = ("matrix_read", "matrix_write")
_TOLD = (*_TOGETHER.values(), *_MATRIX)
_WAITS = ("barrier", "warp_sync", "cluster_wait", "elect", *_MATRIX)
_FULL = (1 << 32) - 1
_WEIGHTS = 1 << np.arange(32, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Place:
    """An event of a warp: `lanes` execute it, and it waits for those of `needs`; `key`: whom it meets."""

    event: Event
    lanes: int
    needs: int
    key: tuple[object, ...]


def lanes_apart(
    kernel: WatchedKernel, budget: Budget, index: tuple[int, int, int] = (0, 0, 0), called: bool = False
) -> list[Problem]:
    """One problem for each operation of a block that waits for lanes, or reads one, in vain.

    `called`: the numbers of its arguments are those of a call. Raises OutOfTime.
    """
    together = {op: m for op in kernel.operation.walk() if (m := _together(op)) is not None}
    matrices = {op: m for op, m in kernel.meanings.items() if m.kind in _MATRIX and not m.more}
    around = {op.parent_operation for op in (*together, *matrices)}
    if all(one is None or one.name in KERNELS for one in around):  # no branch and no loop
        return []
    waits = {op: m for op, m in kernel.meanings.items() if m.kind in _WAITS and not m.more}
    block = replace(kernel, meanings={**waits, **together}).watch(index, budget=budget)
    bits = _bits(block)
    parted = {
        warp
        for event, lanes in zip(block.events, bits, strict=True)
        if event.meaning.kind in _TOLD
        for warp, own in enumerate(lanes)
        if own and own != _there(block, warp)
    }
    found: dict[object, Problem] = {}
    for warp in sorted(parted):
        for one in _run(block, bits, warp, ("static", "arguments") if called else ("static",)):
            assert one.first is not None
            found.setdefault((one.kind, one.first.event.meaning.op), one)
    return list(found.values())


def _together(op: Operation) -> Meaning | None:
    """Its operands: the mask; of a shuffle the other lane and the clamp, too."""
    kind = _TOGETHER.get(op.name)
    if kind is None:
        return None
    operands = [op.operands[kind == "redux"], *(op.operands[2:4] if kind == "shuffle" else ())]
    name = op.name.removeprefix("nvvm.") + "".join(f" {v}" for k, v in op.attributes.items() if k == "kind")
    return Meaning(kind, operands, facts={"name": name}, site=tag(op), op=op)


def _there(block: Watched, warp: int) -> int:
    """The lanes that a warp has, as bits; the last one may have fewer than 32."""
    return (1 << min(32, block.launch.threads - 32 * warp)) - 1


def _bits(block: Watched) -> list[list[int]]:
    """Of each event and each warp the lanes that execute it, as bits."""
    known: dict[int, list[int]] = {}  # the events of a block share their masks
    threads = block.launch.threads
    for event in block.events:
        if id(event.mask) not in known:
            padded = np.zeros((-(-threads // 32), 32), bool)
            padded.ravel()[:threads] = lanes_of(event, threads)
            known[id(event.mask)] = (padded @ _WEIGHTS).tolist()
    return [known[id(event.mask)] for event in block.events]


def _places(block: Watched, bits: list[list[int]], warp: int, sure: Sequence[str]) -> list[_Place]:
    """The warp's events in program order; none where which lanes come rests on more than `sure`."""
    there = _there(block, warp)
    places = []
    for event, found in zip(block.events, bits, strict=True):
        lanes = found[warp]
        if not lanes:
            continue
        if lanes != there and block.reasons.worst(event.rests) not in sure:
            return []
        kind, needs = event.meaning.kind, lanes
        key: tuple[object, ...] = (event.number,)
        if kind in _MATRIX:
            needs = there
        elif event.values and kind != "barrier":
            lowest = 32 * warp + (lanes & -lanes).bit_length() - 1
            needs = event.number_of(0, lowest) & _FULL & there
            key = (event.meaning.facts.get("name", kind), needs)
        places.append(_Place(event, lanes, needs, key))
    return places


def _run(block: Watched, bits: list[list[int]], warp: int, sure: Sequence[str]) -> Iterator[Problem]:
    """Run the lanes of a warp until all have come to their end, or none can go on."""
    places = _places(block, bits, warp, sure)
    left = {lane: [place for place in reversed(places) if place.lanes >> lane & 1] for lane in range(32)}
    while True:
        at = {lane: todo[-1] for lane, todo in left.items() if todo}
        if not at:
            return
        waiting = sum(1 << lane for lane in at)
        moved = False
        for key in {place.key for place in at.values()}:
            here = {lane: place for lane, place in at.items() if place.key == key}
            came = sum(1 << lane for lane in here)
            if any(place.needs & waiting & ~came for place in here.values()):
                continue
            moved = True
            yield from _absent(here, came, block, warp)
            for lane in here:
                left[lane].pop()
        if not moved:
            yield from _stuck(at, warp)
            return


def _stuck(at: dict[int, _Place], warp: int) -> Iterator[Problem]:
    """The first instruction that waits for lanes which wait elsewhere."""
    told = [(lane, place) for lane, place in at.items() if place.event.meaning.kind in _TOLD]
    if not told:
        return
    lane, place = min(told, key=lambda one: one[1].event.number)
    came = sum(1 << other for other, there in at.items() if there.key == place.key)
    other = next(other for other in at if place.needs & ~came >> other & 1)
    first, second = (Party(at[who].event, 0, 32 * warp + who) for who in (lane, other))
    yield of_lanes("lanes-missing", first, came, place.needs, second)


def _absent(here: dict[int, _Place], came: int, block: Watched, warp: int) -> Iterator[Problem]:
    """A shuffle (of kind idx or bfly) that reads a lane which exists and has not come."""
    there = _there(block, warp)
    for lane, place in here.items():
        event = place.event
        name = event.meaning.facts.get("name", "")
        if event.meaning.kind != "shuffle" or not ("bfly" in name or "idx" in name):
            continue
        by, clamp = (event.number_of(i, 32 * warp + lane) for i in (1, 2))
        segment = clamp >> 8 & 31
        source = lane ^ by if "bfly" in name else lane & segment | by & ~segment & 31
        inside = source <= (lane & segment | clamp & 31 & ~segment)
        if inside and there >> source & 1 and not came >> source & 1:
            reader = Party(event, 0, 32 * warp + lane)
            yield of_lanes("lane-absent", reader, came, there, lane=lane, source=source)
            return
