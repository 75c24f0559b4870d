"""Accesses through the pointer of one member of a struct in shared memory that touch another member.

One that leaves its member may be meant: an epilogue's tile over the space of several operands. So it is
`wrong` only if a value gets lost between two members: what was written through the pointer of one is read
through that of another. Else it is told as not checked. What reaches padding alone, bytes of no member, is a
note: nobody has given them away, and the next member may move there. The same is asked where an access leaves
its allocation for another one, through a view whose own layout spans that far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered.views import Member


@dataclass(slots=True)
class Touch:
    """Bytes of a struct that an operation reads (side 0) or writes (1): `width` at each of `starts`, in it.

    `number` is its place in program order. What an asynchronous copy writes has none (`late`).
    """

    number: int
    tag: str
    side: int
    starts: IntArray
    width: int
    member: Member | None
    late: bool

    @property
    def mbarrier(self) -> bool:
        """Whether it is the work on an mbarrier; between two of these goes no value."""
        return "mbarrier" in self.tag

    @property
    def bytes_(self) -> IntArray:
        """All of them that lie behind the struct's begin."""
        at = (self.starts[:, None] + np.arange(self.width)).ravel()
        return at[at >= 0]

    def outside(self, at: IntArray) -> bool:
        """Whether these bytes are none of its own member."""
        assert self.member is not None
        low, high = self.member.start, self.member.start + self.member.size
        return bool(((at < low) | (at >= high)).all())


def mixed(touched: Sequence[Touch]) -> dict[tuple[str, int], str]:
    """The accesses between which a value goes from one member of a struct to another, by tag and side.

    Of these the one that leaves its own member, with the name of the other. `touched` is all of one struct.
    """
    size = max((int(one.starts.max(initial=0)) + one.width for one in touched), default=0)
    by, late = np.full(size, -1), np.zeros(size, bool)
    for one in touched:
        late[one.bytes_] |= one.late and one.side == 1
    found: dict[tuple[str, int], str] = {}
    inorder = sorted(touched, key=lambda one: one.number)
    for i, one in enumerate(inorder):
        at = one.bytes_
        if one.side:
            by[at] = i if one.member is not None else -1
            continue
        if one.member is None:
            continue
        at = at[~late[at]]
        for j in np.unique(by[at]):
            writer = inorder[j]
            if j < 0 or writer.member == one.member or (writer.mbarrier and one.mbarrier):
                continue
            for stray, other in ((writer, one), (one, writer)):
                if stray.outside(at[by[at] == j]) and other.member is not None:
                    found.setdefault((stray.tag, stray.side), other.member.name)
    return found


def overwritten(touched: Sequence[Touch]) -> set[tuple[str, int]]:
    """Asynchronous copies, by tag and side, that write what is read behind them through another member."""
    reads = [one for one in touched if not one.side and one.member is not None and not one.mbarrier]
    found: set[tuple[str, int]] = set()
    for one in touched:
        if not (one.late and one.side) or one.member is None:
            continue
        at, low = one.bytes_, one.member.start
        at = at[(at < low) | (at >= low + one.member.size)]
        later = (read for read in reads if read.number > one.number and read.member != one.member)
        if at.size and any(np.isin(at, read.bytes_).any() for read in later):
            found.add((one.tag, one.side))
    return found
