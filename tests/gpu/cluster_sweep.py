"""Random copies between the blocks of a cluster, and every hole beside its twin, on a real GPU, as evidence.

    python -m tests.gpu.cluster_sweep prepare --count 160 --seed 1 --out FILE     needs the DSL, no GPU
    python -m tests.gpu.cluster_sweep run FILE --out docs/evidence/cluster.json   needs a GPU, no DSL

`st.async`, bulk copies within shared memory and bulk loads with a mask as tests/gpu/sweep.py draws them, TMA
loads with a mask as tests/gpu/tma_sweep.py does; clusters of 1, 2 and 4 blocks, any mask and rank.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from layoutcheck.atoms.bulk import BulkCopy
from layoutcheck.atoms.compiler import predict
from layoutcheck.atoms.dsmem import DsmemStore
from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.check import check
from layoutcheck.copies.cluster import Cluster
from layoutcheck.copies.copy import Copy, Issue
from layoutcheck.errors import InputError
from layoutcheck.gpu.prepare import Prepared
from tests.cluster_miscompiles import CLUSTER_MISCOMPILES
from tests.gpu.sweep import random_bulk
from tests.gpu.sweeping import RIGHT_OR_WRONG, counted, fits, holes, row_of_guards, sweep

KINDS = ("st.async", "s2s", "multicast", "tma")


def kind_of(copy: Copy) -> str:
    """One of `KINDS`; "" for copies that stay in their block."""
    if isinstance(copy.atom, DsmemStore):
        return "st.async"
    if isinstance(copy.atom, BulkCopy):
        return {"s2s": "s2s", "g2s": "multicast"}.get(copy.atom.kind, "")
    return "tma" if isinstance(copy.atom, TmaCopy) and copy.atom.kind == "load" else ""


def random_copy(rng: random.Random, kind: str) -> Copy:
    """A copy of the kind between blocks, now and then to one that is not there or does not wait."""
    from tests.conformance.test_tma import random_copy as random_tma  # which needs the DSL

    while True:
        copy = random_tma(rng, 1 << 13) if kind == "tma" else random_bulk(rng)
        if kind_of(copy) == kind and str(copy.src.dtype) != "tf32":
            break
    blocks = rng.choice((1, 2, 2, 2, 4, 4, 4))
    if kind in ("tma", "multicast"):
        cluster = Cluster(blocks, mcast_mask=rng.randrange(1, 1 << blocks))
        if rng.random() < 0.12:
            cluster = replace(cluster, mcast_mask=rng.randrange(1 << (blocks + 1)))
    else:
        cluster = Cluster(blocks, cta_rank=rng.randrange(blocks + (rng.random() < 0.08)))
        if rng.random() < 0.12:
            cluster = replace(cluster, waits_rank=rng.randrange(blocks))
    expect = copy.issue.expect_bytes if copy.issue else None
    copy = replace(copy, issue=Issue(1, expect, cluster))
    if isinstance(copy.atom, BulkCopy) and kind == "multicast":
        return replace(copy, atom=replace(copy.atom, multicast=True), tiled=None)
    if isinstance(copy.atom, TmaCopy):
        return replace(copy, atom=replace(copy.atom, attributes=(("mcast", "true"),)))
    return copy


def sample(count: int, seed: int) -> list[tuple[str, Copy]]:
    """As many of each kind, two thirds of them right; then the holes and their twins."""
    rng = random.Random(seed)
    named: list[tuple[str, Copy]] = []
    for kind in KINDS:
        wanted = {"right": count // 6, "wrong": count // 12}
        while any(wanted.values()):
            copy = random_copy(rng, kind)
            try:
                if not predict(copy).accepted or (kind == "tma" and not fits(copy, 1 << 22)):
                    continue
                verdict = check(copy).verdict
            except InputError:
                continue
            side = RIGHT_OR_WRONG.get(verdict)
            if side is not None and wanted[side]:
                wanted[side] -= 1
                named.append((f"random-{kind}-{seed}-{len(named)}", copy))
    return named + holes(CLUSTER_MISCOMPILES)


def described(one: Prepared) -> dict[str, Any]:
    """What was run, for the evidence."""
    cluster = one.copy.cluster
    assert cluster is not None
    to = list(cluster.named)
    return {"kind": kind_of(one.copy), "cluster": cluster.blocks, "to": to, "waits": cluster.waits_rank}


if __name__ == "__main__":
    sweep(
        __doc__, 160, sample, described,
        lambda _, ran, about: {
            "by_cluster": counted(ran, about, "cluster"), "copies": {c.name: about[c.name] for c in ran},
        },
        row_of_guards,
    )  # fmt: skip
