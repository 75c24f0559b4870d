"""Random copies between the blocks of a cluster, and every hole beside its twin, on a real GPU, as evidence.

    python -m tests.gpu.cluster_sweep prepare --count 160 --seed 1 --out FILE     needs the DSL, no GPU
    python -m tests.gpu.cluster_sweep run FILE --out docs/evidence/cluster.json   needs a GPU, no DSL

`st.async`, bulk copies within shared memory and bulk loads with a mask as tests/gpu/sweep.py draws them, TMA
loads with a mask as tests/gpu/tma_sweep.py does; clusters of 1, 2 and 4 blocks, any mask and rank.
"""

from __future__ import annotations

import collections
import json
import pickle
import random
import time
from dataclasses import replace
from typing import Any

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.atoms.bulk import BulkCopy
from layoutcheck.atoms.compiler import predict
from layoutcheck.atoms.dsmem import DsmemStore
from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.atoms.tma.plan import plan
from layoutcheck.check import check
from layoutcheck.copies.cluster import Cluster
from layoutcheck.copies.copy import Copy, Issue
from layoutcheck.errors import InputError
from layoutcheck.gpu.confirm import run
from layoutcheck.sources.request import build
from tests.cluster_miscompiles import CLUSTER_MISCOMPILES
from tests.gpu.sweep import random_bulk, table
from tests.gpu.sweeping import head, options, write_prepared

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


def fits(copy: Copy) -> bool:
    """Whether a TMA copy's tensor fits an image, and its boxes are not too many."""
    layout = copy.src.layout
    steps = zip(flatten(layout.shape), flatten(layout.stride), strict=True)
    return plan(copy).boxes <= 64 and sum((n - 1) * abs(d) for n, d in steps) * copy.src.dtype.bits <= 1 << 25


def sample(count: int, seed: int) -> list[tuple[str, Copy]]:
    """As many of each kind, two thirds of them right; then the holes and their twins."""
    rng = random.Random(seed)
    named: list[tuple[str, Copy]] = []
    for kind in KINDS:
        wanted = {"right": count // 6, "wrong": count // 12}
        while any(wanted.values()):
            copy = random_copy(rng, kind)
            try:
                if not predict(copy).accepted or (kind == "tma" and not fits(copy)):
                    continue
                verdict = check(copy).verdict
            except InputError:
                continue
            side = {"wrong": "wrong", "legal": "right", "slow": "right"}.get(verdict)
            if side is not None and wanted[side]:
                wanted[side] -= 1
                named.append((f"random-{kind}-{seed}-{len(named)}", copy))
    for name, (broken, fixed, *_) in CLUSTER_MISCOMPILES.items():
        named += [(f"{name}-broken", build(**broken)[0]), (f"{name}-fixed", build(**fixed)[0])]
    return named


def main() -> None:
    given = options(__doc__, 160)
    if given.command == "prepare":
        write_prepared(sample(given.count, given.seed), given.out)
        return
    start = time.time()
    prepared = pickle.loads(given.file.read_bytes())
    found, machine = run(prepared, workers=given.workers)
    about: dict[str, dict[str, Any]] = {}
    for p in prepared:
        cluster = p.copy.cluster
        named = list(cluster.named)
        about[p.name] = {
            "kind": kind_of(p.copy),
            "cluster": cluster.blocks,
            "to": named,
            "waits": cluster.waits_rank,
        }
    ran = [c for c in found if c.ran == "gpu"]
    evidence = {
        **head(machine, "python -m tests.gpu.cluster_sweep prepare, then run", start),
        "ran": len(ran),
        "agree": sum(c.agrees is True for c in ran),
        "by_kind": dict(collections.Counter(about[c.name]["kind"] for c in ran)),
        "by_cluster": dict(collections.Counter(str(about[c.name]["cluster"]) for c in ran)),
        "table": table(found),
        "holes": [c.to_dict() for c in found if not c.name.startswith("random")],
        "random": [
            [c.name, c.verdict, c.expected_fault, c.fault, c.as_predicted, c.as_asked, c.guard_untouched]
            for c in ran
            if c.name.startswith("random")
        ],
        "copies": {c.name: about[c.name] for c in ran},
        "disagreements": [{**c.to_dict(), **about[c.name]} for c in found if c.agrees is False],
        "not_run": dict(collections.Counter(c.note[:120] for c in found if c.ran != "gpu")),
    }
    given.out.write_text(json.dumps(evidence, indent=1) + "\n")
    for d in evidence["disagreements"][:25]:
        print({k: v for k, v in d.items() if k not in ("compiler", "note")})
    print(*evidence["table"], sep="\n")
    print(machine, evidence["seconds"], evidence["ran"], evidence["agree"], evidence["not_run"])


if __name__ == "__main__":
    main()
