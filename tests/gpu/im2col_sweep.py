"""Random im2col loads and stores, and every im2col hole beside its twin, on a real GPU, written as evidence.

python -m tests.gpu.im2col_sweep prepare --count 200 --seed 1 --out FILE        needs the DSL, no GPU
python -m tests.gpu.im2col_sweep run FILE --out docs/evidence/tma_im2col.json   needs a GPU, no DSL
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
from layoutcheck.atoms.tma.limits import violations
from layoutcheck.atoms.tma.plan import gmem_side, plan
from layoutcheck.atoms.tma.words import encode
from layoutcheck.check import check
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.gpu.confirm import run
from layoutcheck.gpu.prepare import Prepared
from layoutcheck.sources.request import build
from tests.gpu.sweep import table
from tests.gpu.sweeping import head, options, write_prepared
from tests.gpu.tensor_map_driver import device_address, im2col_words
from tests.im2col_miscompiles import IM2COL_MISCOMPILES


def sample(count: int, seed: int) -> list[tuple[str, Copy]]:
    """Two thirds right, a fifth of them stores, one third wrong; then the holes and their twins."""
    from tests.conformance.test_im2col import random_im2col  # which needs the DSL

    rng = random.Random(seed)
    wanted = {"right": count * 2 // 3, "wrong": count - count * 2 // 3}
    stores = wanted["right"] // 5
    named: list[tuple[str, Copy]] = []
    seen: collections.Counter[Any] = collections.Counter()
    while any(wanted.values()):
        copy = random_im2col(rng, 1 << 14)
        gmem = copy.side(gmem_side(copy)).layout
        reach = sum((n - 1) * abs(d) for n, d in zip(flatten(gmem.shape), flatten(gmem.stride), strict=True))
        if reach * copy.src.dtype.bits // 8 > 1 << 21:
            continue
        try:
            if plan(copy).boxes > 64:
                continue
        except InputError:
            continue
        report = check(copy)
        kind = {"wrong": "wrong", "legal": "right", "slow": "right"}.get(report.verdict)
        store = gmem_side(copy) == "dst"
        if kind is None or not wanted[kind] or (store and kind == "right" and not stores):
            continue
        codes = (kind, tuple(sorted(f.code for f in report.findings)))
        if kind == "wrong" and seen[codes] >= 16:
            continue
        stores -= store and kind == "right"
        seen[codes] += 1
        wanted[kind] -= 1
        named.append((f"random-{seed}-{len(named)}", copy))
    for name, (broken, fixed, *_) in IM2COL_MISCOMPILES.items():
        named += [(f"{name}-broken", build(**broken)[0]), (f"{name}-fixed", build(**fixed)[0])]
    return named


def described(one: Prepared) -> dict[str, Any]:
    """What was run, for the evidence."""
    copy = one.copy
    made = plan(copy) if one.name.startswith("random") else None
    tile = copy.tma
    assert tile is not None
    return {
        "kind": str(copy.atom),
        "src": str(copy.src),
        "dst": str(copy.dst),
        "tiler": list(tile.tiler),
        "coord": list(tile.coord),
        "im2col": {name: list(getattr(tile.im2col, name)) for name in tile.im2col.__slots__}
        if tile.im2col
        else {},
        **(
            {
                "rank": made.implied.rank,
                "swizzle": made.implied.swizzle,
                "dtype": str(copy.src.dtype),
                "box": list(made.implied.box),
                "boxes": made.boxes,
            }
            if made
            else {}
        ),
    }


def features(about: dict[str, Any]) -> list[str]:
    """What a random copy exercises."""
    im2col = about["im2col"]
    found = {
        "a negative lower corner": any(n < 0 for n in im2col["lower_corner"]),
        "a stride above 1": any(n > 1 for n in im2col["stride"]),
        "a dilation other than 1": any(n != 1 for n in im2col["dilation"]),
        "a filter of several taps": im2col["upper_padding"] != im2col["upper_corner"],
        "several boxes": about["boxes"] > 1,
    }
    return [name for name, has in found.items() if has]


# Of word 1: the hint of tensors of 128 KiB and more, and what the DSL always sets and driver 580 never.
_HINTS = 1 << 21 | 1 << 18 | 1 << 1


def against_driver(prepared: list[Prepared]) -> dict[str, Any]:
    """The tensor maps of all copies, as NVIDIA's driver writes or refuses them, against ours."""
    counts: collections.Counter[str] = collections.Counter()
    differ: list[Any] = []
    base = device_address()
    for one in prepared:
        map_ = replace(plan(one.copy).written, base=base)
        if map_.swizzle.startswith("128B_"):
            continue
        mine, theirs = encode(map_), im2col_words(map_)
        broken = [bad.field for bad in violations(map_)]
        same = theirs is not None and [w & ~(_HINTS * (i == 1)) for i, w in enumerate(mine)] == [
            w & ~(_HINTS * (i == 1)) for i, w in enumerate(theirs)
        ]
        if theirs is None:
            outcome = "refused, as the limits say" if broken else "REFUSED"
        else:
            outcome = "TAKEN" if broken else "the same words" if same else "OTHER WORDS"
        counts[outcome] += 1
        if outcome.isupper():
            differ.append([one.name, outcome, broken, [hex(w) for w in mine], [hex(w) for w in theirs or ()]])
    return {"maps": dict(counts), "differ": differ}


def main() -> None:
    given = options(__doc__, 200)
    if given.command == "prepare":
        write_prepared(sample(given.count, given.seed), given.out)
        return
    start = time.time()
    prepared = pickle.loads(given.file.read_bytes())
    found, machine = run(prepared, workers=given.workers)
    about = {p.name: described(p) for p in prepared}
    ran = [c for c in found if c.ran == "gpu"]
    drawn = [c for c in ran if c.name.startswith("random")]
    right = [c for c in drawn if c.verdict != "wrong"]

    def counted(copies: list[Any], key: str) -> dict[str, int]:
        return dict(collections.Counter(str(about[c.name][key]) for c in copies))

    evidence = {
        **head(machine, "python -m tests.gpu.im2col_sweep prepare, then run", start),
        "ran": len(ran),
        "agree": sum(c.agrees is True for c in ran),
        "by_kind": counted(ran, "kind"),
        "right": {key: counted(right, key) for key in ("kind", "rank", "swizzle", "dtype")},
        "right_features": dict(collections.Counter(f for c in right for f in features(about[c.name]))),
        "wrong_codes": dict(
            collections.Counter(code for c in drawn if c.verdict == "wrong" for code in c.codes)
        ),
        "driver_maps": against_driver(prepared),
        "table": table(found),
        "holes": [c.to_dict() for c in found if not c.name.startswith("random")],
        "random": [
            [c.name, c.verdict, list(c.codes), c.expected_fault, c.fault, c.as_predicted, c.as_asked]
            for c in drawn
        ],
        "disagreements": [{**c.to_dict(), **about[c.name]} for c in found if c.agrees is False],
        "not_run": [[c.name, c.note[:120]] for c in found if c.ran != "gpu"],
    }
    given.out.write_text(json.dumps(evidence, indent=1) + "\n")
    for d in evidence["disagreements"][:25]:
        print({k: v for k, v in d.items() if k not in ("compiler", "note")})
    print(*evidence["table"], sep="\n")
    print(evidence["driver_maps"]["maps"], evidence["driver_maps"]["differ"][:6])
    print(machine, evidence["seconds"], evidence["ran"], evidence["agree"])


if __name__ == "__main__":
    main()
