"""Random TMA loads and stores, and every TMA hole beside its twin, on a real GPU, written as evidence.

python -m tests.gpu.tma_sweep prepare --count 320 --seed 1 --out FILE     needs the DSL, no GPU
python -m tests.gpu.tma_sweep run FILE --out docs/evidence/tma.json       needs a GPU, no DSL
"""

from __future__ import annotations

import random
from typing import Any

from layoutcheck.atoms.tma.plan import plan
from layoutcheck.copies.copy import Copy
from layoutcheck.gpu.prepare import Prepared
from tests.gpu.sweeping import counted, draw_tma, holes, sweep
from tests.tma_miscompiles import TMA_MISCOMPILES


def drawn(rng: random.Random) -> Copy:
    """Of any type but tf32, a fifth of them by an internal type, for a machine of today."""
    from tests.conformance.test_tma import random_copy, typed_copy  # which need the DSL

    while True:
        copy = typed_copy(rng, 1 << 14) if rng.random() < 0.2 else random_copy(rng, 1 << 14)
        if str(copy.src.dtype) != "tf32" and copy.arch == "sm_90a":
            return copy


def sample(count: int, seed: int) -> list[tuple[str, Copy]]:
    """Two thirds right, one third wrong, of tensors that fit an image; then the holes and their twins."""
    return draw_tma(count, seed, drawn, 1 << 22, 24, count) + holes(TMA_MISCOMPILES)


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


if __name__ == "__main__":
    sweep(
        __doc__, 320, sample, described,
        lambda _, ran, about: {f"by_{key}": counted(ran, about, key) for key in ("rank", "swizzle")},
    )  # fmt: skip
