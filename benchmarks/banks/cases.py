"""The accesses that the bank and sector models are judged by: generated, deterministic, named.

Every family of address pattern goes through every instruction it makes sense for: strides, broadcasts,
swizzles, padded and hierarchical tiles, random addresses, repeated addresses, partial warps.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.gpu.counters import GLOBAL_BYTES, SHARED_BYTES, Probe

Lanes = tuple["int | None", ...]
LANES = range(32)

SWIZZLES = [
    Swizzle(1, 4, 3), Swizzle(2, 4, 3), Swizzle(3, 4, 3), Swizzle(2, 4, 4), Swizzle(3, 4, 4),
    Swizzle(3, 2, 3), Swizzle(3, 3, 3), Swizzle(2, 5, 2), Swizzle(5, 2, 5),
]  # fmt: skip
MASKS: dict[str, Callable[[int], bool]] = {
    "even lanes": lambda i: i % 2 == 0,
    "odd lanes": lambda i: i % 2 == 1,
    "lanes 0,1 of 4": lambda i: i % 4 < 2,
    "lanes 0,3 of 4": lambda i: i % 4 in (0, 3),
    "lanes 0-3 of 8": lambda i: i % 8 < 4,
    "lanes 0-7 of 16": lambda i: i % 16 < 8,
    "lane 0 of 4": lambda i: i % 4 == 0,
    "lanes 0-15": lambda i: i < 16,
    "lanes 16-31": lambda i: i >= 16,
    "lanes 0-7": lambda i: i < 8,
    "lanes 8-15": lambda i: 8 <= i < 16,
    "lanes 0-22": lambda i: i < 23,
    "lane 0": lambda i: i == 0,
    "lane 31": lambda i: i == 31,
    "no lane": lambda i: False,
}


def patterns(width: int, limit: int, seed: int) -> Iterator[tuple[str, Lanes]]:
    """Named address patterns for accesses of `width` bytes within `limit` bytes."""
    rng = random.Random(seed * 1000 + width)
    for k in (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 32, 33, 64):
        if 31 * k * width + width <= limit:
            yield f"stride {k * width} B", tuple(i * k * width for i in LANES)
    yield "reversed", tuple((31 - i) * width for i in LANES)
    for swizzle in SWIZZLES:
        pitch = 1 << (swizzle.base + swizzle.shift)
        if swizzle.granule >= width and 32 * pitch <= limit:
            yield f"column of pitch {pitch} B, {swizzle}", tuple(swizzle(i * pitch) for i in LANES)
    for pad in (4, 8, 16):
        if pad % width == 0:
            yield f"column of pitch {128 + pad} B", tuple(i * (128 + pad) for i in LANES)
    for _ in range(6):
        shape = rng.choice([(4, 8), (8, 4), (2, 16), (16, 2), (2, 4, 4), (4, 2, 4), (2, 2, 2, 4)])
        steps = [rng.choice([0, 1, 2, 3, 4, 8, 9, 16, 20, 32, 33]) * width for _ in shape]
        at = []
        for i in LANES:
            total = 0
            for extent, step in zip(shape, steps, strict=True):
                total, i = total + i % extent * step, i // extent
            at.append(total)
        name = f"({','.join(map(str, shape))}):({','.join(map(str, steps))}) B"
        if max(at) + width <= limit:
            yield f"tile {name}", tuple(at)
    for n, span in enumerate((128, 256, 1024, 4096, limit)):
        yield f"random {n} in {span} B", tuple(rng.randrange(span // width) * width for _ in LANES)
    repeats: dict[str, Callable[[int], int]] = {
        "i & ~1": lambda i: i & ~1, "i & ~2": lambda i: i & ~2, "i & ~3": lambda i: i & ~3,
        "i & ~4": lambda i: i & ~4, "i & ~8": lambda i: i & ~8, "i & 15": lambda i: i & 15,
        "i & 7": lambda i: i & 7, "i / 2": lambda i: i // 2, "i / 4": lambda i: i // 4,
        "i / 8": lambda i: i // 8,
    }  # fmt: skip
    scatter = [rng.randrange(4096 // width) * width for _ in LANES]
    for name, source in repeats.items():
        yield f"contiguous, lane {name}", tuple(source(i) * width for i in LANES)
        yield f"random, lane {name}", tuple(scatter[source(i)] for i in LANES)
    for name, keep in MASKS.items():
        yield f"contiguous, {name}", tuple(i * width if keep(i) else None for i in LANES)
        if name != "no lane":
            yield f"random, {name}", tuple(scatter[i] if keep(i) else None for i in LANES)
    for n in range(6):
        some = rng.randrange(1, 1 << 32)
        other = [rng.randrange(rng.choice([512, 4096]) // width) * width for _ in LANES]
        yield f"random lanes {n}", tuple(other[i] if some >> i & 1 else None for i in LANES)


def shared_probes(seed: int) -> list[tuple[str, Probe]]:
    """ld.shared and st.shared of every width."""
    return [
        (name, Probe(op, 8 * width, shared=lanes))
        for op in ("ld.shared", "st.shared")
        for width in (1, 2, 4, 8, 16)
        for n, (name, lanes) in enumerate(patterns(width, SHARED_BYTES, seed))
        if width >= 4 or n % 4 == 0
    ]


def matrix_probes(seed: int) -> list[tuple[str, Probe]]:
    """ldmatrix and stmatrix, x1, x2 and x4, plain and transposed: no lane may be off."""
    return [
        (name, Probe(f"{op}.x{count}{trans}", 128, shared=lanes))
        for op in ("ldmatrix", "stmatrix")
        for trans in ("", ".trans")
        for count in (1, 2, 4)
        for n, (name, lanes) in enumerate(patterns(16, SHARED_BYTES, seed + 1))
        if None not in lanes and (count == 4 or n % 4 == 0)
    ]


def cp_async_probes(seed: int) -> list[tuple[str, Probe]]:
    """cp.async: shared addresses by pattern with global ones contiguous, and the other way round."""
    out = []
    for op, width in (("cp.async.ca", 4), ("cp.async.ca", 8), ("cp.async.ca", 16), ("cp.async.cg", 16)):
        straight = tuple(i * width for i in LANES)
        for n, (name, lanes) in enumerate(patterns(width, SHARED_BYTES, seed + 2)):
            masked = tuple(None if lanes[i] is None else straight[i] for i in LANES)
            out.append((f"to shared: {name}", Probe(op, 8 * width, shared=lanes, globl=masked)))
            if n % 3 == 0:
                out.append((f"from global: {name}", Probe(op, 8 * width, shared=masked, globl=lanes)))
    return out


def global_probes(seed: int) -> list[tuple[str, Probe]]:
    """ld.global and st.global of every width."""
    return [
        (name, Probe(op, 8 * width, globl=lanes))
        for op in ("ld.global", "st.global")
        for width in (1, 2, 4, 8, 16)
        for n, (name, lanes) in enumerate(patterns(width, GLOBAL_BYTES >> 4, seed + 3))
        if n % 2 == 0 or width >= 8
    ]
