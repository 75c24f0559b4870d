"""LC228 cluster-launch: the copy addresses shared memory of the cluster, so the kernel must be launched as a cluster.

## What it means

Bulk copies within shared memory and `st.async` address the shared memory of a cluster, and a multicast may name
other blocks of it. In a kernel that is not launched with `cluster=(x, y, z)` they are illegal instructions.
This includes bulk copies and `st.async` to the block itself, but not a multicast to block 0 alone. The barrier
of the receiving block counts the bytes: the DSL maps the destination (`mapa`) but not `mbar_ptr`, and need not
map it.

## Why

Measured on an H200: the same kernels run as clusters of one, two and four blocks and end with an
illegal-instruction error without a cluster (docs/evidence/cluster_probes.json). PTX ISA, cp.async.bulk and
st.async: destination and mbarrier are in `.shared::cluster`. The DSL's PTX passes on the barrier of a
bulk copy as it is given. Whichever block it belongs to, the barrier at the same offset in the
destination's block counts the bytes.

## How to fix it

Launch with `cluster=`, and wait on a barrier of the receiving block. No block may exit before the
copies to it are done: a copy to a block that has exited is a launch failure (also measured).
layoutcheck checks the copy against the cluster that `--cluster` gives.

## How to silence it

A note changes no verdict and no exit status.
"""

from __future__ import annotations

from layoutcheck.rules.rule import BULK, Analysis, Findings, Where, make_rule


def find(analysis: Analysis) -> Findings:
    """Accepted copies between blocks."""
    atom = analysis.copy.atom
    if atom is None or not (atom.multicast or atom.to_rank):
        return
    if not analysis.accepted or analysis.copy.cluster is not None:
        return
    yield RULE.finding(
        "the kernel must be launched as a cluster",
        "The destination is shared memory of the cluster: launch with cluster=(...), and let each receiving block wait on its own barrier.",
        Where("dst"),
    )


RULE = make_rule(
    "note",
    find,
    flagged=BULK | {"src": '!cute.memref<bf16, smem, align<128>, "(64):(1)">', "atom": "bulk.s2s"},
    twin={"src": BULK["src"], "atom": BULK["atom"]},
)
