"""LC229 block-outside-cluster: the copy names a block outside the cluster, or no block."""

from __future__ import annotations

from layoutcheck.rules.bulk import MEASURED
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule


@make_rule("wrong", explains=("fault",))
def rule(analysis: Analysis) -> Findings:
    """An accepted copy whose mask or rank names a block past the cluster's last, or an empty mask."""
    cluster = analysis.copy.cluster
    if cluster is None or not analysis.runs or (cluster.named and not cluster.outside):
        return
    blocks = f"{cluster.blocks} block{'s' * (cluster.blocks > 1)}"
    multicast = cluster.mcast_mask is not None
    value = f"{cluster.mcast_mask:#b}" if multicast else str(cluster.cta_rank)
    if cluster.outside:
        title = f"the copy writes to block {cluster.outside[0]} of a cluster of {blocks}"
        message = f"The cluster has blocks 0 to {cluster.blocks - 1}: the kernel ends in a launch failure."
    else:
        title = "the mask names no block"
        message = "Nothing is copied, and a wait for the bytes never ends."
    yield rule.finding(
        title,
        message,
        Where("atom"),
        demanded(
            "mcast_mask" if multicast else "cta_rank",
            value,
            f"blocks of a cluster of {blocks}",
            f"PTX ISA, cp.async.bulk and mapa; {MEASURED}",
        ),
    )
