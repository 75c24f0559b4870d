"""What an operation of a lowered module means for the order of accesses: its kind, and its operands.

`describe(op)` (describe.py) gives an operation's `Meaning`. The kinds:

read, write, atomic                       generic accesses: operand 0 is the address of each thread
matrix_read, matrix_write                 ldmatrix, stmatrix: the first 8 x num lanes each name 16 bytes
cp_async, cp_commit, cp_wait, cp_arrive   cp.async: (to, from, bytes read); groups; arrival on an mbarrier
barrier, barrier_arrive, warp_sync        barrier.cta (id, threads), bar.warp.sync (lanes)
mbar_init, mbar_arrive, mbar_expect, mbar_wait, mbar_token, mbar_invalid
bulk_load, bulk_store, bulk_peer          cp.async.bulk and its tensor forms; without a tensor map the last
                                          two operands are the bytes and the address on the other side
bulk_commit, bulk_wait                    their groups
st_async                                  st.async: (to, mbarrier) in the shared memory of another block
fence_proxy, fence_init, fence            fence.proxy.async, fence.mbarrier_init, membar and the like
cluster_arrive, cluster_wait, elect
wgmma, wgmma_fence, wgmma_commit, wgmma_wait; tc_mma, tc_commit, tc_copy: the tensor cores of sm_90 and sm_100
tmem_read, tmem_write                     tcgen05.ld and tcgen05.st: `size` lanes, `count` columns
tmem_wait                                 tcgen05.wait::st; `count` 1: tcgen05.wait::ld
tmem_free                                 tcgen05.dealloc: what is done to the columns before must be over
registers                                 arithmetic on accumulators of wgmma; setmaxnreg: `count`, and facts
                                          "limit" (increase, decrease)
"""

from __future__ import annotations

from dataclasses import dataclass, field

from layoutcheck.dsl.lowered.types import CLUSTER, GENERIC, GLOBAL, SHARED, TENSOR, parse_type
from layoutcheck.order.inline_mma import Multiplication
from layoutcheck.order.linear import Linear
from layoutcheck.sources.mlir import Operation, Value

_SPACES = {SHARED: "smem", CLUSTER: "dsmem", GLOBAL: "gmem", GENERIC: "generic", TENSOR: "tmem"}


IN_SHARED = ("smem", "dsmem", "generic")  # spaces of what reaches shared memory, or may
READS = ("read", "matrix_read", "atomic", "bulk_store", "wgmma")  # of shared memory
COPIES = ("cp_async", "bulk_load")
WRITES = ("write", "matrix_write", "atomic", *COPIES)


@dataclass(eq=False, slots=True)
class Meaning:
    """`kind` as above; `operands` are recorded as numbers of all threads; `space` is that of operand 0.

    `size` in bytes, `count` a group's number or lanes; `facts` whatever else the kind needs. `site` is the
    tag of the traced operation that it comes from. `made` are the MMAs of inline PTX. `reads` and `sets` are
    the wgmmas whose registers it accesses, `after` the tcgen05.ld that it cannot come before. `box` are the
    tensor map of a TMA load and its coordinates.

    Of inline PTX: `sums` are what the numbers are made of where that are not the operands themselves, `guard`
    is the operand that is not 0 where it happens, and `more` the instructions that follow in its text.
    """

    kind: str
    operands: list[Value] = field(default_factory=list)
    space: str = ""
    size: int = 0
    count: int = 0
    facts: dict[str, str] = field(default_factory=dict)
    site: str = ""
    op: Operation | None = None
    made: tuple[Multiplication, ...] = ()
    reads: list[Operation] = field(default_factory=list)
    sets: list[Operation] = field(default_factory=list)
    after: list[Operation] = field(default_factory=list)
    box: list[Value] = field(default_factory=list)
    sums: tuple[Linear, ...] = ()
    guard: int = -1
    more: list[Meaning] = field(default_factory=list)

    @property
    def all(self) -> tuple[Meaning, ...]:
        """What the operation does, in order."""
        return (self, *self.more)

    @property
    def within(self) -> bool:
        """Whether it does more than access global memory: it matters within a block."""
        return any(m.kind not in ("read", "write", "atomic") or m.space != "gmem" for m in self.all)

    @property
    def needs(self) -> list[Value]:
        """The values whose numbers are recorded."""
        return [value for one in self.all for value in (*one.operands, *one.box)]


def space_of(value: Value) -> str:
    """The state space of an address. One of 32 bits, for inline PTX, lies in the window of the cluster."""
    return "dsmem" if value.type == "i32" else _SPACES.get(parse_type(value.type).space, "other")
