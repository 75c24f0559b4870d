"""`Cluster`: which blocks of a cluster a copy writes to, and whose barrier is waited on.

Bulk loads and TMA loads with a mask write to every block of it, at the same addresses in each; `st.async` and
bulk copies within shared memory write to one block. Measured on an H200 (docs/evidence/cluster_probes.json):
a block that the cluster has not is a launch failure, whether a mask, a rank or a plain store names it; every
block written to has its own barrier told of all the bytes it gets; the barrier that is told is the one at the
given offset in the block that is *written to*, whichever block's address `mbar_ptr` is.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_BLOCKS = (
    16  # CUDA C++ Programming Guide, thread block clusters: 8 portably, 16 where a kernel asks for it
)
OUTSIDE = "launch failure"  # the fault of a copy to a block that the cluster has not


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster of `blocks` blocks, the first of which issues the copy.

    `mcast_mask` has a bit for each block of a multicast; `cta_rank` is the one block that another copy writes
    to. `waits_rank` is the block whose barrier was told of the bytes and is waited on; None: every block that
    is written to has its own.
    """

    blocks: int
    mcast_mask: int | None = None
    cta_rank: int | None = None
    waits_rank: int | None = None

    def __str__(self) -> str:
        mask = None if self.mcast_mask is None else f"0b{self.mcast_mask:b}"
        named = {"mcast_mask": mask, "cta_rank": self.cta_rank, "waits_rank": self.waits_rank}
        told = "".join(f", {name} {value}" for name, value in named.items() if value is not None)
        return f"cluster of {self.blocks}{told}"

    @property
    def named(self) -> tuple[int, ...]:
        """The blocks that the copy names, in order."""
        if self.mcast_mask is None:
            return (self.cta_rank or 0,)
        return tuple(i for i in range(self.mcast_mask.bit_length()) if self.mcast_mask >> i & 1)

    @property
    def outside(self) -> tuple[int, ...]:
        """Those of them that the cluster has not."""
        return tuple(rank for rank in self.named if rank >= self.blocks)

    @property
    def receivers(self) -> tuple[int, ...]:
        """The blocks that are written to; none where one is outside."""
        return () if self.outside else self.named

    @property
    def told(self) -> tuple[int, ...]:
        """Blocks whose barriers are told of the bytes and waited on; the issuing one's if none is named."""
        if self.waits_rank is not None:
            return (self.waits_rank,)
        return tuple(rank for rank in self.named if rank < self.blocks) or (0,)
