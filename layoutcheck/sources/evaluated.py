"""What an operation does in the blocks of a kernel that were evaluated, and what stays in its tensors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The blocks that were evaluated of an operation; equal in two traces if the blocks are (a digest).

    `extent` is that of dynamic modes, 0 where all are static; `whole` says that these are all blocks of the
    launch. `objects` are the tensors that it accesses: side (1 is written), number, bytes.
    """

    extent: int
    blocks: int
    whole: bool = False
    objects: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Inside:
    """What stays in its tensors: bytes, bytes within modes (-1: not known), if one operation has `none`."""

    bytes: int
    within: int
    none: bool = False

    @property
    def most(self) -> int:
        """The bytes within the modes, where these are known, else those in the memory."""
        return self.bytes if self.within < 0 else self.within

    def and_of(self, more: Inside) -> Inside:
        """That of two operations."""
        within = -1 if -1 in (self.within, more.within) else self.within + more.within
        return Inside(self.bytes + more.bytes, within, self.none or more.none)


NOTHING = Inside(0, 0)
