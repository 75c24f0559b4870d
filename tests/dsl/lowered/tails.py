"""Random kernels with tails, predicates and offsets, and what they touch by brute force over all blocks.

A specification is a dictionary: the tensors' shape and pitch, the tile, threads and values of the tiled copy,
the grid, offsets, whether it loads or stores, and the predicate. `touched` computes from it alone, with numpy
and without any layout algebra, the bytes that every thread of every block reads or writes.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np

Spec = dict[str, Any]
# What a predicate compares: of the vector's first or last element, rows and columns, with limits of its own.
PREDICATES = ("none", "both", "both", "both", "last", "rows", "columns", "row_more", "swapped", "row_equal")
BYTES = {"Float32": 4, "Float16": 2}


def generate(seed: int) -> Spec:
    """A random specification."""
    draw = random.Random(seed)
    dtype = draw.choice(("Float32", "Float32", "Float16"))
    mode = draw.choice(("copy", "copy", "copy", "async", "element"))
    widths = [v for v in (1, 2, 4, 8) if 4 <= v * BYTES[dtype] <= 16]
    v = 1 if mode == "element" else draw.choice(widths)
    tn = draw.choice((4, 8, 16, 32))
    tm = draw.choice([t for t in (1, 2, 4, 8, 16) if 32 <= t * tn <= 256])
    vm, rest = draw.choice((1, 2, 4)), (draw.choice((1, 1, 2)), draw.choice((1, 1, 2)))
    tile = (tm * vm * rest[0], tn * v * rest[1])
    shape = [max(v, draw.randint(0, 4) * t + draw.choice((0, 0, 0, 1, v, t // 2, t - 1))) for t in tile]
    if draw.random() < 0.6:
        shape[1] = -(-shape[1] // v) * v
    pitch = -(-(shape[1] + draw.choice((0, 0, 1, 5, 64))) // v) * v
    grid = [max(1, -(-n // t) + draw.choice((0, 0, 0, 0, 1, -1))) for n, t in zip(shape, tile, strict=True)]
    return {
        "seed": seed, "dtype": dtype, "mode": mode, "v": v, "tm": tm, "tn": tn, "vm": vm, "tile": tile,
        "shape": shape, "pitch": pitch, "grid": grid,
        "tile_offset": draw.choice((0, 0, 0, 0, 0, -1, 1)),
        "offset": (draw.choice((0, 0, 0, 0, 1)), draw.choice((0, 0, 0, 0, v))),
        "side": "load" if mode == "async" else draw.choice(("load", "store")),
        "predicate": draw.choice(PREDICATES),
    }  # fmt: skip


class Touched(NamedTuple):
    """(block x, block y, thread, first byte, bytes) of every access outside of its tensor of `size` bytes."""

    outside: np.ndarray[Any, Any]
    size: int


def touched(spec: Spec) -> Touched:
    """The accesses that leave the tensor, over the whole grid."""
    v, (bm, bn) = spec["v"], spec["tile"]
    (m, n), (gm, gn) = spec["shape"], spec["grid"]
    threads = spec["tm"] * spec["tn"]
    by, bx, t = (np.arange(k) for k in (gm, gn, threads))
    if spec["mode"] == "element":
        i = np.arange(0, bm * bn, threads)[None, :] + t[:, None]  # (thread, turn)
        inside, row, column = i < bm * bn, i // bn, i % bn
    else:
        i = np.arange(spec["vm"])
        down, along = np.arange(0, bm, spec["tm"] * spec["vm"]), np.arange(0, bn, spec["tn"] * v)
        shape = (threads, i.size, down.size, along.size)
        place = (t // spec["tn"] * spec["vm"])[:, None, None, None] + i[None, :, None, None]
        row = np.broadcast_to(place + down[None, None, :, None], shape).reshape(threads, -1)
        place = (t % spec["tn"] * v)[:, None, None, None] + along[None, None, None, :]
        column = np.broadcast_to(place, shape).reshape(threads, -1)
        inside = np.ones(row.shape, bool)
    by, bx = (by + spec["tile_offset"]) * bm, bx * bn
    if spec["mode"] != "element":  # a mode of one tile has no second one: its rest mode (1) has stride 0
        by, bx = by * (m > bm), bx * (n > bn)
    rows = row[None, None] + by[:, None, None, None]
    columns = column[None, None] + bx[None, :, None, None]
    rows, columns = np.broadcast_arrays(rows, columns)
    made = np.broadcast_to(inside, rows.shape) & allowed(spec["predicate"], rows, columns, m, n, v)
    each = BYTES[spec["dtype"]]
    start = ((rows + spec["offset"][0]) * spec["pitch"] + columns + spec["offset"][1]) * each
    size = ((m - 1) * spec["pitch"] + n) * each
    wrong = made & ((start < 0) | (start + v * each > size))
    at = np.argwhere(wrong)
    first = start[wrong]
    return Touched(np.column_stack([at[:, 1], at[:, 0], at[:, 2], first, np.full(len(at), v * each)]), size)


def allowed(kind: str, row: Any, column: Any, m: int, n: int, v: int) -> Any:
    """What a predicate says; `tail_kernels.allowed` says the same in the DSL."""
    if kind == "none":
        return np.ones(row.shape, bool)
    at = column + v - 1 if kind == "last" else column
    limits = {"row_more": (m + 1, n), "swapped": (n, m), "row_equal": (m + 1, n)}.get(kind, (m, n))
    by_row, by_column = row < limits[0], at < limits[1]
    if kind == "rows":
        return by_row
    return by_column if kind == "columns" else by_row & by_column


def faults(spec: Spec) -> set[tuple[str, int, int]]:
    """(block, thread, byte) of every access that leaves its tensor."""
    return {(f"({x},{y},0)", int(t), int(at)) for x, y, t, at, _ in touched(spec).outside.tolist()}
