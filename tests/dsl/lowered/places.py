"""Random kernels in three modes, with predicates, offsets, loops and stages, whose PTX says what they touch.

A specification is a dictionary. `generate` draws it; `place_kernels` compiles it; `ptx_grid` runs its PTX for
every thread of every block. Nothing else says what such a kernel does: the PTX is the judge.
"""

from __future__ import annotations

import random
from typing import Any

Spec = dict[str, Any]
THREADS = 64
LIMITS = ("less", "less", "less", "less", "equal", "more", "fewer")
OTHER = 1 << 41  # where the second tensor is put; the first is at `BASE`
BASE = 1 << 40


def generate(seed: int) -> Spec:
    """A random specification: two tensors of three modes, tiles of 64 elements, one thread for each."""
    draw = random.Random(seed)
    columns = draw.choice((8, 16, 32, 64))
    tile = (1, THREADS // columns, columns)
    shape = [
        draw.choice((1, 2, 3)),
        *(draw.randint(1, 3) * t + draw.choice((0, 0, 1, t // 2, -1)) for t in tile[1:]),
    ]
    shape = [max(1, n) for n in shape]
    turns = draw.choice(("none", "none", "strided", "split", "back"))
    grid = [-(-n // t) + draw.choice((0, 0, 0, 1)) for n, t in zip(shape, tile, strict=True)]
    tiles = grid[2] + draw.choice((0, 0, 0, 0, 1))
    if turns != "none":
        grid[2] = draw.choice((1, 2, 3))
    stages = draw.choice((0, 0, 1, 2, 3))
    return {
        "seed": seed, "shape": shape, "columns": columns, "grid": grid, "turns": turns, "tiles": tiles,
        "order": [draw.sample(range(3), 3) for _ in range(2)],
        "pitch": [draw.choice((0, 0, 0, 1, 5)) for _ in range(2)],
        "offset": [draw.choice((0, 0, 0, 0, 0, -1, 1)) for _ in range(3)],
        "moved": draw.random() < 0.5,
        "load": guards(draw), "store": guards(draw),
        "stages": stages, "kept": draw.choice((stages, stages, stages, stages + 1)),
        "room": draw.choice((0, 0, 0, -1, 4)), "shift": draw.choice((0, 0, 0, 1)),
        "vector": draw.choice((1, 1, 1, 2, 4)),
    }  # fmt: skip


def guards(draw: random.Random) -> list[tuple[int, str, int]]:
    """(coordinate, comparison, mode of the extent) of each; mostly all three modes, each with its own."""
    found = [(mode, "less", mode) for mode in range(3)]
    if draw.random() < 0.15:
        found.pop(draw.randrange(3))
    if draw.random() < 0.3:
        at = draw.randrange(len(found))
        found[at] = (found[at][0], draw.choice(LIMITS), found[at][2])
    if draw.random() < 0.08:
        at = draw.randrange(len(found))
        found[at] = (found[at][0], "less", draw.randrange(3))
    if draw.random() < 0.6:
        found += [(mode, "from", 0) for mode in range(3)]
    return found


def strides(spec: Spec, which: int) -> list[int]:
    """Those of one of the two tensors, in elements: its modes in their order, a pitch behind the first."""
    found, step = [0, 0, 0], 1
    for n, mode in enumerate(spec["order"][which]):
        found[mode] = step
        step = step * spec["shape"][mode] + (spec["pitch"][which] if n == 0 else 0)
    return found


def size_bytes(spec: Spec, which: int) -> int:
    """The bytes from the first element of a tensor to the end of its last."""
    return 4 * (1 + sum((n - 1) * s for n, s in zip(spec["shape"], strides(spec, which), strict=True)))


def shared_bytes(spec: Spec) -> int:
    """What the kernel allocates in shared memory."""
    return 4 * (spec["stages"] * THREADS + spec["room"]) if spec["stages"] else 0
