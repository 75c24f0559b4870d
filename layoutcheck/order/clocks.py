"""Vector clocks: what each warp knows of everybody's past.

A component counts the steps of an *agent*: the ordinary instructions of a warp, its cp.async copies, its bulk
copies' reads and writes, its warpgroup's wgmma, its tcgen05 operations, its tcgen05.st, its tcgen05.ld, what
arrives at an mbarrier, or the generations of a named barrier. A warp knows step `e` of agent `c` if
`known[warp, view, c] >= e`; then all that the agent did up to there is over, and visible in that view:

HAPPENED  to the warp's own ordinary accesses (PTX ISA, Memory Consistency Model: causality order)
SHARED    to asynchronous copies that it starts, in shared memory: past a fence.proxy.async
GLOBAL    the same in global memory
STRICT    as SHARED, and the fence was executed by the warp that wrote
LANES     as HAPPENED, and the lanes of the warp that wrote have met before one of them arrived for all
EARLIER   what came before in time, though nothing hands it over: the start of a copy that is complete

A warp is one agent: its lanes execute together, and one lane may arrive for all (CUTLASS's pipelines do).
LANES tells where that hands over other lanes' stores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

HAPPENED, SHARED, GLOBAL, STRICT, LANES, EARLIER = range(6)
VIEWS = 6

Clock = npt.NDArray[np.int32]  # of one warp: [view, component]


class Clocks:
    """`known[warp, view, component]`, of `warps` warps; components beyond the fixed ones come with `new`."""

    def __init__(self, warps: int) -> None:
        self.warps = warps
        self.count = 8 * warps
        self.known: npt.NDArray[np.int32] = np.zeros((warps, VIEWS, self.count + 64), np.int32)
        for warp in range(warps):
            self.known[warp, HAPPENED, warp] = 1

    def copies(self, warp: int) -> int:
        """The agent of a warp's cp.async."""
        return self.warps + warp

    def bulk_reads(self, warp: int) -> int:
        """The agent that reads the sources of a warp's bulk copies."""
        return 2 * self.warps + warp

    def bulk_writes(self, warp: int) -> int:
        """The agent that writes the destinations of a warp's bulk copies to global memory."""
        return 3 * self.warps + warp

    def wgmma(self, warp: int) -> int:
        """The agent of a warpgroup's wgmma: its four warps execute each together."""
        return 4 * self.warps + warp // 4 * 4

    def tcgen05(self, warp: int) -> int:
        """The agent of a warp's tcgen05 operations."""
        return 5 * self.warps + warp

    def tensor_stores(self, warp: int) -> int:
        """The agent of a warp's tcgen05.st."""
        return 6 * self.warps + warp

    def tensor_loads(self, warp: int) -> int:
        """The agent of a warp's tcgen05.ld."""
        return 7 * self.warps + warp

    def new(self) -> int:
        """A component of a new agent."""
        if self.count == self.known.shape[2]:
            more = np.zeros((self.warps, VIEWS, self.count), np.int32)
            self.known = np.concatenate([self.known, more], axis=2)
        self.count += 1
        return self.count - 1

    def now(self, warp: int) -> int:
        """The step of a warp's ordinary instructions."""
        return int(self.known[warp, HAPPENED, warp])

    def snapshot(self, warp: int) -> Clock:
        """What a warp knows, to be given to others; what it does from now on is a new step."""
        found: Clock = self.known[warp].copy()
        self.known[warp, HAPPENED, warp] += 1
        return found

    def meet(self, warp: int) -> None:
        """The lanes of a warp meet; what they do from now on is a new step, not handed over yet."""
        for component in (warp, self.bulk_reads(warp), self.tensor_stores(warp)):
            self.known[warp, LANES, component] = self.known[warp, HAPPENED, component]
        self.known[warp, HAPPENED, warp] += 1

    def learn(self, warp: int, clock: Clock) -> None:
        """Take over what `clock` knows."""
        mine = self.known[warp, :, : clock.shape[1]]
        np.maximum(mine, clock, out=mine)

    def learn_step(self, warp: int, component: int, step: int, *, by_lane: bool = False) -> None:
        """Know that an agent's asynchronous work is done up to `step`, in every view.

        `by_lane`: each lane knows it of its own work alone, until the lanes meet.
        """
        row = self.known[warp, : LANES if by_lane else VIEWS, component]
        np.maximum(row, step, out=row)

    def fence(self, warp: int, shared: bool, globally: bool, strict: bool) -> None:
        """fence.proxy.async: what this warp knows of is visible to asynchronous copies."""
        view = self.known[warp]
        if shared:
            np.maximum(view[SHARED], view[HAPPENED], out=view[SHARED])
            if strict:
                view[STRICT, warp] = view[HAPPENED, warp]
                component = self.copies(warp)
                view[STRICT, component] = view[HAPPENED, component]
        if globally:
            np.maximum(view[GLOBAL], view[HAPPENED], out=view[GLOBAL])
        view[HAPPENED, warp] += 1


def earlier(clock: Clock) -> Any:
    """The steps that came before in time."""
    return np.maximum(clock[HAPPENED], clock[EARLIER])


def merged(clocks: list[Clock]) -> Clock:
    """What any of them knows."""
    width = max(c.shape[1] for c in clocks)
    out: Clock = np.zeros((VIEWS, width), np.int32)
    for clock in clocks:
        part: Any = out[:, : clock.shape[1]]
        np.maximum(part, clock, out=part)
    return out
