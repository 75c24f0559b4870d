"""LC228 cluster-launch: the copy reaches into the cluster's shared memory, which needs a launch as a cluster.

## What it means

Bulk copies within shared memory and `st.async` address the shared memory of a cluster. In a kernel that is not
launched with `cluster=(x, y, z)` a bulk copy within shared memory is an illegal instruction, also one to the
block itself. The barrier of such a copy has to lie in the destination's block: the DSL maps the destination
(`mapa`), not `mbar_ptr`.

## Why

Measured on an H200: the same kernel runs as a cluster of one block and ends with an illegal-instruction error
without a cluster. PTX ISA, cp.async.bulk and st.async: destination and mbarrier are in `.shared::cluster`.
DSL 4.8.1's PTX passes the barrier of a bulk copy on as it is given.

## How to fix it

Launch with `cluster=`, and wait on a barrier of the receiving block.

## How to silence it

A note changes no verdict and no exit status.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.findings import Finding, Where
from layoutcheck.machine.atoms import BulkCopy, DsmemStore
from layoutcheck.rules.facts import Facts
from layoutcheck.rules.rule import Example, make_rule


def find(facts: Facts) -> Iterator[Finding]:
    """Accepted copies between blocks."""
    atom = facts.copy.atom
    between = isinstance(atom, DsmemStore) or (isinstance(atom, BulkCopy) and atom.kind == "s2s")
    if not between or not facts.accepted:
        return
    barrier = "" if isinstance(atom, DsmemStore) else ", with mbar_ptr in the block that receives"
    yield Finding(
        RULE.code,
        RULE.severity,
        "the kernel must be launched as a cluster",
        f"The destination is shared memory of the cluster: launch with cluster=(...){barrier}.",
        Where("dst"),
    )


RULE = make_rule(
    __doc__,
    "note",
    find,
    Example(
        flagged={
            "src": '!cute.memref<bf16, smem, align<128>, "(64):(1)">',
            "dst": '!cute.memref<bf16, smem, align<128>, "(64):(1)">',
            "atom": "bulk.s2s",
        },
        clean={
            "src": '!cute.memref<bf16, gmem, align<16>, "(64):(1)">',
            "dst": '!cute.memref<bf16, smem, align<128>, "(64):(1)">',
            "atom": "bulk.g2s",
        },
    ),
)
