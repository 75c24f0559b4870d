"""The accesses that the bank and sector models are judged by: generated, deterministic, named.

Every family of address pattern goes through every instruction it makes sense for: strides, broadcasts,
swizzles, padded and hierarchical tiles, random addresses, repeated addresses, partial warps.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from benchmarks.banks.counters import GLOBAL_BYTES, SHARED_BYTES, Probe
from layoutcheck.algebra.image import image
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.errors import InputError
from layoutcheck.machine.tiles import TileAccess, addresses_of, matrix_access, tile_addresses, vector_access

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


def join_probes(seed: int) -> list[tuple[str, Probe]]:
    """Loads of 64 and 128 bits whose lanes repeat each other almost, or in some part of the warp only."""
    rng = random.Random(seed)
    out = []
    for width in (8, 16):
        for n in range(24):
            keep = rng.choice([30, 29, 28, 27])
            base = [rng.randrange(2048 // width) * width for _ in LANES]
            lanes: list[int | None] = [base[i & keep] for i in LANES]
            part = rng.choice(["whole", "one lane differs", "half", "quarter", "lanes off"])
            if part == "one lane differs":
                lanes[rng.randrange(32)] = rng.randrange(2048 // width) * width
            elif part in ("half", "quarter"):
                span = 16 if part == "half" else 8
                first = rng.randrange(32 // span) * span
                lanes = [lanes[i] if first <= i < first + span else base[i] for i in LANES]
            elif part == "lanes off":
                lanes = [base[i] if i & keep == i or rng.random() < 0.1 else None for i in LANES]
            name = f"repeat i & {keep}, {part} ({n})"
            out.append((name, Probe("ld.shared", 8 * width, shared=tuple(lanes))))
            if n % 4 == 0:
                out.append((name, Probe("st.shared", 8 * width, shared=tuple(lanes))))
    return out


def tile_probes() -> list[tuple[str, Probe]]:
    """The accesses of real tiles: K-major and M-major, plain, padded, hierarchical, swizzled."""
    out = []
    tiles = {
        "(64,64):(64,1)": [None, Swizzle(3, 4, 3), Swizzle(2, 4, 3), Swizzle(1, 4, 3), Swizzle(3, 5, 3)],
        "(128,32):(32,1)": [None, Swizzle(2, 4, 3), Swizzle(2, 4, 4)],
        "(64,64):(72,1)": [None],
        "(64,64):(66,1)": [None],
        "(64,64):(1,64)": [None, Swizzle(3, 4, 3)],
        "((8,8),(32,2)):((32,256),(1,2048))": [None, Swizzle(2, 4, 3)],
        "((8,4),(64,2)):((64,512),(1,2048))": [None, Swizzle(3, 4, 3)],
    }
    for text, swizzles in tiles.items():
        tile = parse_layout(text)
        rows, columns = (image(mode).size for mode in tile.modes)
        for swizzle in swizzles:
            for access, op in _tile_accesses(tile, rows, columns):
                try:
                    at = addresses_of(access, tile_addresses(tile, 16), swizzle)
                except InputError:
                    continue  # the swizzle or the pitch breaks this vector
                label = f"{swizzle or 'plain'} {text}"
                for instruction in {0, len(at) - 1}:
                    lanes = tuple(None if a < 0 else int(a) for a in at[instruction])
                    full = tuple(0 if a is None else a for a in lanes) if "matrix" in op else lanes
                    straight = tuple(None if a is None else i * 16 for i, a in enumerate(lanes))
                    source = straight if "cp.async" in op else ()
                    out.append((label, Probe(op, access.width_bits, shared=full, globl=source)))
    return out


def _tile_accesses(tile: Layout, rows: int, columns: int) -> Iterator[tuple[TileAccess, str]]:
    for matrices in (1, 4):
        for store, trans in ((False, False), (False, True), (True, False)):
            access = matrix_access(tile, 16, matrices, store, trans)
            yield access, access.name
    k_major = rows * 8 <= image(tile).size and image(tile)[rows] == 1
    for width in (32, 64, 128):
        each = width // 16
        along = (columns if k_major else rows) // each
        down = max(1, 64 // along)
        step, line = (each * rows, 1) if k_major else (each, rows)
        tv = Layout(((along, down), each), ((step, line), rows if k_major else 1))
        for op, family in (("ld.shared", "ld"), ("st.shared", "st"), ("cp.async.ca", "cp.async")):
            yield vector_access(tile, 16, op, family, width, tv), op


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
        rng = random.Random(seed + width)
        for n in range(8):
            both = [tuple(rng.randrange(1024 // width) * width for _ in LANES) for _ in range(2)]
            out.append((f"both: random {n}", Probe(op, 8 * width, shared=both[0], globl=both[1])))
    return out


def cp_async_bypass_probes() -> list[tuple[str, Probe]]:
    """`cp.async.cg` of 16 bytes, for timing: how its shared writes fall into 128-byte lines and banks."""
    shapes: dict[str, Callable[[int], int]] = {
        "contiguous": lambda i: 16 * i,
        "permuted within each 128 B line": lambda i: 16 * (i ^ (i >> 3)),
        "2-way within the quarter warps, 4 lines": (
            lambda i: 128 * (i // 4 % 2 + i // 16 * 2) + 16 * (i % 4 + 4 * (i // 8 % 2))
        ),
        "4-way within the quarter warps, 4 lines": lambda i: 128 * (i // 2 % 4) + 16 * (i % 2 + 2 * (i // 8)),
        "8-way within the quarter warps, 8 lines": lambda i: 128 * (i % 8) + 16 * (i // 8),
        "free within the quarter warps, 8 lines": lambda i: 128 * (i % 8) + 16 * (i % 8 ^ i // 8),
        "64 B rows, pitch 128": lambda i: 128 * (i // 4) + 16 * (i % 4),
        "64 B rows, pitch 128, swizzled": lambda i: 128 * (i // 4) + 16 * (i % 4 ^ (i // 4 % 2) * 4),
        "32 B rows, pitch 128": lambda i: 128 * (i // 2) + 16 * (i % 2),
        "16 B rows, pitch 128": lambda i: 128 * i,
        "16 B rows, pitch 144": lambda i: 144 * i,
    }  # fmt: skip
    sources: dict[str, Callable[[int], int]] = {
        "contiguous": lambda i: 16 * i,
        "rows of 128 B": lambda i: 16384 * (i // 8) + 16 * (i % 8),
        "rows of 64 B": lambda i: 16384 * (i // 4) + 16 * (i % 4),
        "rows of 32 B": lambda i: 16384 * (i // 2) + 16 * (i % 2),
    }
    return [
        (
            f"{from_name} to {name}",
            Probe(op, 128, shared=tuple(map(to, LANES)), globl=tuple(map(source, LANES))),
        )
        for op in ("cp.async.cg", "cp.async.ca")
        for from_name, source in sources.items()
        for name, to in shapes.items()
    ]


def timing_probes() -> list[tuple[str, Probe]]:
    """Conflict-free and conflicting accesses of every kind, for the cost model's cycles a wavefront."""
    out = []
    for width in (4, 8, 16):
        for ways in (1, 2, 4, 8):
            step = width * ways
            lanes = tuple(i * step for i in LANES)
            ops = ["ld.shared", "st.shared", "ld.global", "st.global"]
            ops += ["ldmatrix.x4", "ldmatrix.x4.trans", "stmatrix.x4"] if width == 16 else []
            for op in ops:
                side = {"globl": lanes} if "global" in op else {"shared": lanes}
                out.append((f"stride {step} B", Probe(op, 8 * width, **side)))
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
