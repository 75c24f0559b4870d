"""`in-cluster`: a copy between blocks that names blocks of its cluster, and waits where its bytes arrive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.copies.cluster import Cluster
from layoutcheck.fixes.draft import Analysis, Draft, Drafts

STRATEGY = "in-cluster"
PORTABLE_BLOCKS = 8  # CUDA C++ Programming Guide, thread block clusters


def propose(analysis: Analysis) -> Drafts:
    """The mask cut to the cluster, a cluster that is large enough, the barrier of the block that receives."""
    copy, cluster = analysis.copy, analysis.copy.cluster
    if cluster is None or copy.issue is None:
        return
    for title, code, new in _repaired(cluster):
        yield Draft(STRATEGY, title, code, (replace(copy, issue=replace(copy.issue, cluster=new)),))


def _repaired(cluster: Cluster) -> Iterator[tuple[str, str, Cluster]]:
    if cluster.mcast_mask is not None and (cluster.outside or not cluster.named):
        every = (1 << cluster.blocks) - 1
        mask = cluster.mcast_mask & every or every
        yield (
            f"a mask of blocks that exist, {mask:#b}",
            f"mcast_mask = {mask:#b}",
            replace(cluster, mcast_mask=mask),
        )
    if cluster.outside:
        blocks = 1 << cluster.outside[-1].bit_length()
        if blocks <= PORTABLE_BLOCKS:
            yield (
                f"a cluster of {blocks}",
                f"kernel(...).launch(..., cluster=({blocks}, 1, 1))",
                replace(cluster, blocks=blocks),
            )
    if cluster.waits_rank is not None and cluster.waits_rank not in cluster.named:
        yield (
            f"wait in block {cluster.named[0]}",
            f"if cute.arch.block_idx_in_cluster() == {cluster.named[0]}:\n"
            "    cute.arch.mbarrier_wait(mbar_ptr, phase)",
            replace(cluster, waits_rank=None),
        )
