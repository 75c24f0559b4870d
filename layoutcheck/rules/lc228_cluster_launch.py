"""LC228 cluster-launch: the copy addresses shared memory of the cluster, so the kernel must be launched as a cluster."""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


@make_rule("note")
def rule(analysis: Analysis) -> Findings:
    """Accepted copies between blocks."""
    atom = analysis.copy.atom
    if atom is None or not (atom.multicast or atom.to_rank):
        return
    if not analysis.accepted or analysis.copy.cluster is not None:
        return
    yield rule.finding(
        "the kernel must be launched as a cluster",
        "The destination is shared memory of the cluster: launch with cluster=(...), and let each receiving block wait on its own barrier.",
        Where("dst"),
    )
