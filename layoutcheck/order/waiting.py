"""What warps wait for: groups of asynchronous work, named barriers and mbarriers."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from layoutcheck.order.clocks import VIEWS, Clock
from layoutcheck.order.problems import Party


@dataclass(slots=True)
class Groups:
    """The groups of one warp's (or lane's) asynchronous work: PTX ISA, cp.async.commit_group and its likes.

    `step` is that of work issued now; `closed` the last step of every committed group, oldest first.
    """

    step: int = 1
    pending: bool = False
    closed: list[int] = field(default_factory=list)

    def commit(self) -> None:
        """Everything issued since the last commit is a group, possibly an empty one."""
        self.closed.append(self.step)
        self.step += 1
        self.pending = False

    def done(self, most_open: int) -> int:
        """The step up to which all is done when at most so many groups are open; 0 for none."""
        return self.closed[-1 - most_open] if len(self.closed) > most_open else 0

    def cut(self) -> int:
        """The step up to which all has been issued; what comes is a step of its own."""
        self.step += 1
        return self.step - 1


@dataclass(slots=True)
class NamedBarrier:
    """PTX ISA, barrier: one of the block's 16. `component` counts its generations."""

    component: int
    generation: int = 0
    arrived: int = 0
    expected: int = 0
    clocks: list[Clock] = field(default_factory=list)
    everybody: bool = False  # no count is given: all threads of the block
    waiting: list[tuple[int, int, Party]] = field(default_factory=list)  # (warp, number of its event, who)
    came: list[Party] = field(default_factory=list)
    last: list[Party] = field(default_factory=list)  # of the generation before


@dataclass(slots=True)
class Load:
    """A copy under way that completes on an mbarrier: `step` of the mbarrier's own agent."""

    size: int
    step: int
    who: Party


@dataclass(slots=True)
class Mbarrier:
    """PTX ISA, mbarrier: pending arrivals, transaction bytes, phases.

    `clock` gathers what arrives in the current phase, `past` what all phases over had. `component` is the
    agent of the copies that complete on it, in the order of their issue. `made` says (warp, step) of its
    initialisation.
    """

    component: int
    count: int
    made: tuple[int, int]
    maker: Party
    pending: int = 0
    bytes: int = 0
    phase: int = 0
    issued: int = 0
    delivered: int = 0
    loads: deque[Load] = field(default_factory=deque)
    clock: Clock = field(default_factory=lambda: np.zeros((VIEWS, 0), np.int32))
    past: Clock = field(default_factory=lambda: np.zeros((VIEWS, 0), np.int32))
    came: list[Party] = field(default_factory=list)
    expected: list[tuple[Party, int]] = field(default_factory=list)  # in this phase: who, how many bytes
    fenced: bool = False  # a fence.mbarrier_init has followed its initialisation
    waiting: dict[tuple[int, int], int] = field(default_factory=dict)  # (warp, its event) -> parity
    granted: dict[tuple[int, int], Clock] = field(default_factory=dict)  # waits that saw their phase end
    passed: list[tuple[int, int, int, Party]] = field(default_factory=list)
    """Waits that are over, as (warp, its step, phases that it needs, who), until a phase comes after them."""
    ended: list[Party | None] = field(default_factory=list)  # by phase, who arrived last
    far: tuple[int, int, int, Party] | None = None
    """The last tcgen05.commit of another block that no wait here has seen: (phase, warp, its step, who)."""
    phases: int = 0  # the agent whose steps are the phases that are over
    arrivals: dict[int, int] = field(default_factory=dict)  # in this phase: warp -> its last step
    by_arrivals: list[dict[int, int]] = field(default_factory=list)  # of the phases that are over
    guess: bool = False  # how many arrivals end a phase, or have come, is loaded and not known

    def over_for(self, steps: Any) -> int:
        """How many phases are over for a warp that knows these steps: it waited, or knows of all arrivals."""
        found = int(steps[self.phases])
        while found < len(self.by_arrivals) and self.by_arrivals[found]:
            if any(steps[warp] < step for warp, step in self.by_arrivals[found].items()):
                break
            found += 1
        return found

    def gather(self, clock: Clock) -> None:
        """Add to what arrives."""
        self.clock = _wider(self.clock, clock.shape[1])
        part = self.clock[:, : clock.shape[1]]
        np.maximum(part, clock, out=part)

    def deliver(self) -> Load:
        """The next copy completes."""
        load = self.loads.popleft()
        self.bytes -= load.size
        self.delivered = load.step
        return load

    @property
    def over(self) -> bool:
        """Whether the current phase is."""
        return self.pending == 0 and self.bytes == 0

    def turn(self) -> None:
        """The next phase."""
        self.phase += 1
        self.pending = self.count
        width = max(self.clock.shape[1], self.past.shape[1], self.component + 1, self.phases + 1)
        self.past, self.clock = _wider(self.past, width), _wider(self.clock, width)
        np.maximum(self.past, self.clock, out=self.past)
        self.past[:, self.component] = self.delivered
        if self.phases:
            self.past[:, self.phases] = self.phase
        self.came, self.expected = [], []
        for key, parity in list(self.waiting.items()):
            if self.phase & 1 != parity:
                self.granted[key] = self.past.copy()
                del self.waiting[key]


def _wider(clock: Clock, width: int) -> Clock:
    if clock.shape[1] >= width:
        return clock
    out: Clock = np.zeros((VIEWS, width), np.int32)
    out[:, : clock.shape[1]] = clock
    return out
