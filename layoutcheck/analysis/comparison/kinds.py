"""The kinds of difference between intent and execution, how often each occurs, and where first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

KINDS = (
    "misaligned_src", "misaligned_dst", "fault", "outside_src", "outside_dst", "wrong", "race", "missing",
    "overlap", "unmatched", "guard", "outside_pred", "never",
)  # fmt: skip


class Offender(NamedTuple):
    """The first place where a kind of difference shows.

    `thread` and `instruction` name the access, `value` the element of the thread's view (or of the tile)
    that it concerns. `asked` and `used` are addresses in units of the comparison: of the source, for
    "wrong" and "race"; of the access itself otherwise. `at` is the destination address.
    """

    thread: int | None = None
    instruction: int | None = None
    value: int | None = None
    at: int | None = None
    asked: int | None = None
    used: int | None = None


class Observable(NamedTuple):
    """One that differs: what was `asked`, what is `done`, and the first offender.

    type      the types that the bits are read as: the source's, the destination's
    barrier   bytes: those a barrier is told to expect, those that arrive
    waiting   blocks: the one that waits at its barrier, the one whose barrier counts the bytes
    lanes     lanes of tensor memory: the first of the 32 that the warp owns, the one it reaches
    bounds    (lane, column) of tensor memory: how many there are, the place reached
    """

    asked: object
    done: object
    first: Offender = Offender()


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many units (bytes; nibbles for 4-bit types) or accesses differ, by kind, and the first of each.

    misaligned_src, misaligned_dst   accesses whose address is not a multiple of their width: a fault
    fault                            instructions that fault for what they are asked (TMA, between blocks)
    outside_src                      units read that no element of the source (of the whole tile) has
    outside_dst                      units written that no element of the destination is asked to have
    wrong                            units of the destination that end up with other contents
    race                             units written by several threads, or by several cp.async (which are not
                                     ordered even within one thread: measured on an H200), with different
                                     contents
    missing                          units of the destination that were to be written and are not
    overlap                          units of the destination that the layouts themselves fill twice
    unmatched                        elements of one side that the other has no partner for
    guard                            units whose predicate is not the one their element asks for
    outside_pred                     predicate entries read past the predicate's end
    never                            instructions that a predicate folded to false switches off

    `asked` units are to be moved; `moved` are. `repeated` counts units written again with equal contents.
    `observables` are what differs beside bytes (`observables.py`).
    """

    counts: dict[str, int]
    first: dict[str, Offender] = field(default_factory=dict)
    asked: int = 0
    moved: int = 0
    repeated: int = 0
    unit_bits: int = 8
    observables: Mapping[str, Observable] = field(default_factory=dict)

    def __getitem__(self, kind: str) -> int:
        return self.counts.get(kind, 0)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that occur, in the order of `KINDS`."""
        return tuple(kind for kind in KINDS if self.counts.get(kind))

    @property
    def clean(self) -> bool:
        """Whether the machine moves exactly the bytes that the layouts say."""
        return not any(self.counts.values())
