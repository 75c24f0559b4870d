"""What a kernel does with shared memory, whatever its places there: data of a trace that asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from layoutcheck.sources.traced import OrderReport


class LineUse(NamedTuple):
    """How many wavefronts or instructions (`what`) a line of the program takes in shared memory."""

    file: str
    line: int
    what: str
    count: int


LOST, OVER, EARLY = ("what is lost as a whole", "what is always unread", "a read of what is not written")


class Unread(NamedTuple):
    """What one line writes and another overwrites, or reads (EARLY) before another writes it.

    `LOST`: nothing of what a warp writes at once is read before it is overwritten; `OVER`: no byte is that
    the other line overwrites.
    """

    what: str
    first: tuple[str, int]
    second: tuple[str, int]


@dataclass(frozen=True, slots=True)
class SharedUses:
    """What a kernel does with shared memory, whatever its places there; `problem` says why it is not known.

    Two kernels of one `digest` are alike, and their reads find the same writes. `size` are their bytes.
    `unread` is None where the order of accesses is not known.
    """

    lines: tuple[LineUse, ...] = ()
    digest: str = ""
    size: int = 0
    problem: str = ""
    unread: tuple[Unread, ...] | None = None


@dataclass(frozen=True, slots=True)
class SharedReport(OrderReport):
    """The same with what the kernel does with shared memory, where that was asked for."""

    uses: SharedUses = field(default_factory=SharedUses)
