"""Random kernels over one tensor with dynamic extents; guards may be missing, moved or of the other mode.

A specification is a dictionary. `leaves` computes from it alone, with numpy and without any layout algebra,
whether an access of any block leaves the tensor's memory or one of its modes.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

THREADS = 128
# (index of the coordinate, its offset is part of it, compared with the extent of this mode, -1: with 0)
GUARDS = [(i, moved, mode) for i in (0, 1) for moved in (False, True) for mode in (i, i, i, 1 - i, -1)]
Spec = dict[str, Any]


def generate(seed: int) -> Spec:
    """Mostly right: the guards that keep an access in its tensor, then some left out or added."""
    draw = random.Random(seed)
    moved = [draw.choice((0, 0, 0, -1, 1, 3)) for _ in range(2)]
    guards = [(i, bool(moved[i]), mode) for i in (0, 1) for mode in (i, *((-1,) if moved[i] < 0 else ()))]
    for _ in range(draw.choice((0, 0, 1, 1, 2))):
        if guards and draw.random() < 0.7:
            guards.remove(draw.choice(guards))
        if draw.random() < 0.6:
            guards.append(draw.choice(GUARDS))
    columns = draw.choice((8, 16, 32))
    return {
        "seed": seed, "columns": columns, "order": draw.choice(((1, 0), (0, 1))), "moved": moved,
        "guards": guards, "grid": [draw.choice((i, i, i, 1 - i)) for i in (0, 1)],
        "more": draw.choice((0, 0, 0, 1)),
        "store": draw.random() < 0.6, "rest": draw.choice((0, 0, 4)),
    }  # fmt: skip


def leaves(spec: Spec, m: int, n: int) -> tuple[bool, bool]:
    """Whether an access of any block leaves the tensor's memory, and whether one leaves a mode of it."""
    tile = (THREADS // spec["columns"], spec["columns"])
    shape = (m, n)
    blocks = [-(-shape[g] // t) + spec["more"] for g, t in zip(spec["grid"], tile, strict=True)]
    blocks[0] = max(1, blocks[0] - spec.get("fewer", 0))
    at = np.meshgrid(*(np.arange(b * t) for b, t in zip(blocks, tile, strict=True)), indexing="ij")
    moved = [c + d for c, d in zip(at, spec["moved"], strict=True)]
    on = np.ones(at[0].shape, bool)
    for i, of_moved, mode in spec["guards"]:
        c = (moved if of_moved else at)[i]
        on &= c >= 0 if mode < 0 else c < shape[mode]
    inner, outer = spec["order"]
    offset = moved[outer] * shape[inner] + moved[inner]
    inside = (moved[0] >= 0) & (moved[0] < m) & (moved[1] >= 0) & (moved[1] < n)
    return bool((on & ((offset < 0) | (offset >= m * n))).any()), bool((on & ~inside).any())
