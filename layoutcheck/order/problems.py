"""A `Problem` is a kind and the parties to it, each an event of a warp."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from layoutcheck.order.watched import Event, Watched, first_thread
from layoutcheck.sources.mlir import Operation


@dataclass(frozen=True, slots=True)
class Party:
    """One access or wait: `event` as executed by `thread` of `block`; `address` in bytes of shared memory."""

    event: Event
    block: int
    thread: int
    address: int = -1
    size: int = 0

    @property
    def warp(self) -> int:
        """The thread's warp in its block."""
        return self.thread // 32


def party_of(event: Event, block: Watched) -> Party:
    """The first thread that takes part in an event of the only block."""
    return Party(event, 0, first_thread(event, block))


@dataclass(slots=True)
class Problem:
    """`kind` names the rule (`rules/`); `first` came earlier in the replay, `second` later.

    `parties` are others that have a part: the threads of a deadlock, the wait that returned too early.
    `facts` are numbers and words for the sentence, `timeline` what a picture shows (`timeline`).
    """

    kind: str
    first: Party | None
    second: Party | None
    parties: list[Party] = field(default_factory=list)
    facts: dict[str, int | str] = field(default_factory=dict)
    timeline: list[tuple[str, Party]] = field(default_factory=list)

    @property
    def pair(self) -> tuple[Operation | None, ...]:
        """The operations of the two parties."""
        return tuple(None if p is None else p.event.meaning.op for p in (self.first, self.second))

    @property
    def unsure(self) -> bool:
        """Whether one of the parties is a store that may not happen."""
        parties = (p for p in (self.first, self.second) if p is not None and self.kind == "race")
        return any(p.event.guarded and p.event.meaning.kind == "write" for p in parties)

    @property
    def key(self) -> tuple[str, tuple[Operation | None, ...]]:
        """One problem is kept of each kind and pair."""
        return self.kind, self.pair


def of_lanes(
    kind: str, first: Party, came: int, needed: int, second: Party | None = None, **more: int | str
) -> Problem:
    """A problem of an instruction that takes the lanes `needed` of a warp, and that those of `came` execute.

    Lanes are bits.
    """
    counts: dict[str, int | str] = {"lanes": came.bit_count(), "all": needed.bit_count()}
    facts = {**counts, "missing": lanes_in_words(needed & ~came), **more}
    return Problem(kind, first, second, facts=facts)


@lru_cache(4096)
def lanes_in(lanes: int) -> tuple[int, ...]:
    """The lanes of a mask, in order."""
    return tuple(lane for lane in range(32) if lanes >> lane & 1)


def lanes_in_words(lanes: int) -> str:
    """`16 to 31`, or the lanes one by one."""
    found = lanes_in(lanes)
    if len(found) > 2 and found[-1] - found[0] + 1 == len(found):
        return f"{found[0]} to {found[-1]}"
    return ", ".join(map(str, found))


class Undecided(Exception):
    """The kernel does something whose order cannot be followed; the message says what, `event` where."""

    def __init__(self, message: str, event: Event | None) -> None:
        super().__init__(message)
        self.event = event
