"""LC228 cluster-launch: the copy reaches into the cluster's shared memory, which needs a launch as a cluster.

## What it means

Bulk copies within shared memory and `st.async` address the shared memory of a cluster, and a multicast may name
other blocks of it. In a kernel that is not launched with `cluster=(x, y, z)` they are illegal instructions, the
first two also to the block itself; a multicast to block 0 alone is not. The bytes are counted by the barrier of
the block that is written to: the DSL maps the destination (`mapa`), not `mbar_ptr`, and need not.

## Why

Measured on an H200: the same kernels run as clusters of one, two and four blocks and end with an
illegal-instruction error without a cluster (docs/evidence/cluster_probes.json). PTX ISA, cp.async.bulk and
st.async: destination and mbarrier are in `.shared::cluster`. DSL 4.8.1's PTX passes the barrier of a bulk copy on
as it is given; whichever block's it is, the one at its offset in the destination's block counts.

## How to fix it

Launch with `cluster=`, and wait on a barrier of the receiving block. No block may leave before the copies to it
are done: a copy to one that has left is a launch failure (measured likewise). What `--cluster` says is checked.

## How to silence it

A note changes no verdict and no exit status.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.analysis import Analysis
from layoutcheck.findings import Finding, Where
from layoutcheck.rules.rule import Example, make_rule


def find(analysis: Analysis) -> Iterator[Finding]:
    """Accepted copies between blocks."""
    atom = analysis.copy.atom
    if atom is None or not (atom.multicast or atom.to_rank):
        return
    if not analysis.accepted or analysis.copy.cluster is not None:
        return
    yield Finding(
        RULE.code,
        RULE.severity,
        "the kernel must be launched as a cluster",
        "The destination is shared memory of the cluster: launch with cluster=(...), and have each block that "
        "receives wait on a barrier of its own.",
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
