"""Random whole tiles near the boundary: a plain copy by threads and values, spoiled in a way or two."""

from __future__ import annotations

import contextlib
from random import Random
from typing import Any

from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.sources.request import build

ATOMS = ("cp.async", "cp.async", "universal", "universal")
SPACES = (("gmem", "smem"), ("gmem", "smem"), ("smem", "gmem"), ("gmem", "rmem"), ("smem", "rmem"))


def random_tile(rng: Random) -> Copy:
    """A copy of whole tiles; the DSL may refuse it, or it may go wrong, in a way that users meet."""
    made = None
    while made is None:
        with contextlib.suppress(InputError):
            made = build(**_arguments(rng))[0]
    return made


def _arguments(rng: Random) -> dict[str, Any]:
    rows, columns = rng.choice((16, 32, 64, 128, 36)), rng.choice((16, 32, 64, 128, 36))
    element, width = rng.choice((("bf16", 16), ("f32", 32), ("i8", 8))), rng.choice((32, 64, 128, 128, 128))
    name, bits = element
    atom = rng.choice(ATOMS)
    spaces = ("gmem", "smem") if atom == "cp.async" else rng.choice(SPACES)
    vector = max(1, width // bits)
    down = rng.random() < 0.5
    rest = max(1, rng.choice((32, 128, 256)) // 8)
    thr = f"(8,{rest}):({rest},1)" if rng.random() < 0.5 else f"({rest},8):(8,1)"
    val = f"({vector},1)" if down else f"(1,{vector})"
    return {
        "src": _layout(rng, rows, columns, down), "dst": _layout(rng, rows, columns, down),
        "atom": atom, "bits": width, "dtype": name, "thr": thr, "val": val,
        "src_space": spaces[0], "dst_space": spaces[1],
        "src_align": rng.choice((16, 16, 16, 8, 4)), "dst_align": rng.choice((128, 128, 16, 4)),
        "block": rng.choice((None, None, 8 * rest, 4 * rest, 16 * rest)),
        "swizzle": rng.choice((None, None, None, "S<3,4,3>", "S<2,3,3>")) if "smem" in spaces else None,
    }  # fmt: skip


def _layout(rng: Random, rows: int, columns: int, down: bool) -> str:
    if rng.random() < 0.25:
        down = not down
    pad = rng.choice((0, 0, 0, 4, 8, 1))
    if rng.random() < 0.1:
        return f"({rows},{columns}):(1,?)" if down else f"({rows},{columns}):(?,1)"
    return f"({rows},{columns}):(1,{rows + pad})" if down else f"({rows},{columns}):({columns + pad},1)"
