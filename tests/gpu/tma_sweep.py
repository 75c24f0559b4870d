"""Random TMA loads and stores, and every TMA hole beside its twin, on a real GPU, written as evidence.

python -m tests.gpu.tma_sweep prepare --count 320 --seed 1 --out FILE     needs the DSL, no GPU
python -m tests.gpu.tma_sweep run FILE --out docs/evidence/tma.json       needs a GPU, no DSL
"""

from __future__ import annotations

import collections
import json
import pickle
import random
import time
from typing import Any

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.atoms.tma.plan import gmem_side, plan
from layoutcheck.check import check
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.gpu.confirm import run
from layoutcheck.gpu.prepare import Prepared
from layoutcheck.sources.request import build
from tests.conformance.test_tma import random_copy
from tests.gpu.sweep import table
from tests.gpu.sweeping import head, options, write_prepared
from tests.tma_miscompiles import TMA_MISCOMPILES


def sample(count: int, seed: int) -> list[tuple[str, Copy]]:
    """Two thirds right, one third wrong, of tensors that fit an image; then the holes and their twins."""
    rng = random.Random(seed)
    wanted = {"right": count * 2 // 3, "wrong": count - count * 2 // 3}
    named: list[tuple[str, Copy]] = []
    seen: collections.Counter[Any] = collections.Counter()
    while any(wanted.values()):
        copy = random_copy(rng, 1 << 14)
        if str(copy.src.dtype) == "tf32":
            continue
        gmem = copy.side(gmem_side(copy))
        reach = sum(
            (n - 1) * abs(d)
            for n, d in zip(*map(flatten, (gmem.layout.shape, gmem.layout.stride)), strict=True)
        )
        if reach * gmem.dtype.bits // 8 > 1 << 22:
            continue
        try:
            if plan(copy).boxes > 64:
                continue
        except InputError:
            continue
        report = check(copy)
        kind = {"wrong": "wrong", "legal": "right", "slow": "right"}.get(report.verdict)
        if kind is None or not wanted[kind]:
            continue
        codes = tuple(sorted(f.code for f in report.findings))
        if kind == "wrong" and seen[codes] >= 24:
            continue
        seen[codes] += 1
        wanted[kind] -= 1
        named.append((f"random-{seed}-{len(named)}", copy))
    for name, (broken, fixed, *_) in TMA_MISCOMPILES.items():
        named += [(f"{name}-broken", build(**broken)[0]), (f"{name}-fixed", build(**fixed)[0])]
    return named


def described(one: Prepared) -> dict[str, Any]:
    """What was run, for the evidence."""
    copy = one.copy
    made = plan(copy) if one.name.startswith("random") else None
    return {
        "kind": str(copy.atom),
        "src": str(copy.src),
        "dst": str(copy.dst),
        "coord": list(copy.tma.coord) if copy.tma else [],
        **(
            {
                "rank": made.implied.rank,
                "box": list(made.implied.box),
                "swizzle": made.implied.swizzle,
                "boxes": made.boxes,
            }
            if made
            else {}
        ),
    }


def main() -> None:
    given = options(__doc__, 320)
    if given.command == "prepare":
        write_prepared(sample(given.count, given.seed), given.out)
        return
    start = time.time()
    prepared = pickle.loads(given.file.read_bytes())
    found, machine = run(prepared, workers=given.workers)
    about = {p.name: described(p) for p in prepared}
    ran = [c for c in found if c.ran == "gpu"]
    evidence = {
        **head(machine, "python -m tests.gpu.tma_sweep prepare, then run", start),
        "ran": len(ran),
        "agree": sum(c.agrees is True for c in ran),
        "by_kind": dict(collections.Counter(about[c.name]["kind"] for c in ran)),
        "by_rank": dict(collections.Counter(str(about[c.name].get("rank")) for c in ran)),
        "by_swizzle": dict(collections.Counter(str(about[c.name].get("swizzle")) for c in ran)),
        "table": table(found),
        "holes": [c.to_dict() for c in found if not c.name.startswith("random")],
        "random": [
            [c.name, c.verdict, list(c.codes), c.expected_fault, c.fault, c.as_predicted, c.as_asked]
            for c in ran
            if c.name.startswith("random")
        ],
        "disagreements": [{**c.to_dict(), **about[c.name]} for c in found if c.agrees is False],
        "not_run": [[c.name, c.note[:120]] for c in found if c.ran != "gpu"],
    }
    given.out.write_text(json.dumps(evidence, indent=1) + "\n")
    for d in evidence["disagreements"][:25]:
        print({k: v for k, v in d.items() if k not in ("compiler", "note")})
    print(*evidence["table"], sep="\n")
    print(machine, evidence["seconds"], evidence["ran"], evidence["agree"])


if __name__ == "__main__":
    main()
