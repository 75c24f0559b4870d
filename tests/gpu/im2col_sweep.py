"""Random im2col loads and stores, and every im2col hole beside its twin, on a real GPU, written as evidence.

python -m tests.gpu.im2col_sweep prepare --count 200 --seed 1 --out FILE        needs the DSL, no GPU
python -m tests.gpu.im2col_sweep run FILE --out docs/evidence/tma_im2col.json   needs a GPU, no DSL
"""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from layoutcheck.atoms.tma.limits import violations
from layoutcheck.atoms.tma.plan import plan
from layoutcheck.atoms.tma.words import encode
from layoutcheck.copies.copy import Copy
from layoutcheck.gpu.outcome import Confirmation
from layoutcheck.gpu.prepare import Prepared
from tests.gpu.sweeping import About, counted, draw_tma, holes, sweep
from tests.gpu.tensor_map_driver import device_address, im2col_words
from tests.im2col_miscompiles import IM2COL_MISCOMPILES


def sample(count: int, seed: int) -> list[tuple[str, Copy]]:
    """Two thirds right, a fifth of them stores, one third wrong; then the holes and their twins."""
    from tests.conformance.test_im2col import random_im2col  # which needs the DSL

    stores = count * 2 // 3 // 5
    drawn = draw_tma(count, seed, lambda rng: random_im2col(rng, 1 << 14), 1 << 21, 16, stores)
    return drawn + holes(IM2COL_MISCOMPILES)


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


def features(about: Mapping[str, Any]) -> list[str]:
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


def more(prepared: list[Prepared], ran: Sequence[Confirmation], about: About) -> dict[str, Any]:
    """What the random copies exercise, and their tensor maps beside the driver's."""
    drawn = [one for one in ran if one.name.startswith("random")]
    right = [one for one in drawn if one.verdict != "wrong"]
    wrong = [one for one in drawn if one.verdict == "wrong"]
    return {
        "right": {key: counted(right, about, key) for key in ("kind", "rank", "swizzle", "dtype")},
        "right_features": dict(collections.Counter(f for one in right for f in features(about[one.name]))),
        "wrong_codes": dict(collections.Counter(code for one in wrong for code in one.codes)),
        "driver_maps": against_driver(prepared),
    }


if __name__ == "__main__":
    sweep(__doc__, 200, sample, described, more)
