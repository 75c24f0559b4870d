"""The plans that `transpose` chooses from."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from kernels.transpose.blocks import Blocks, build_blocks
from kernels.transpose.chunks import ahead_by
from kernels.transpose.common import LINE, SECTOR, SOON, Kernel, multiprocessors
from kernels.transpose.direct import Direct, build_direct
from kernels.transpose.exchange import Exchange, build_exchange
from kernels.transpose.few_columns import FewColumns, build_few_columns
from kernels.transpose.few_rows import FewRows, build_few_rows
from kernels.transpose.fitting import (
    CHUNK_BYTES,
    few_pads,
    overlaps,
    rows_start_on,
    whole_chunks,
)
from kernels.transpose.flat import Flat, build_flat
from kernels.transpose.narrow import Narrow, Small, build_narrow, build_small
from kernels.transpose.padded import Padded, build_padded
from kernels.transpose.runs import Runs, build_runs
from kernels.transpose.shifted import Shifted, build_shifted
from kernels.transpose.spliced import Spliced, build_spliced
from kernels.transpose.whole import Whole, build_whole

Thin = FewRows | FewColumns | Spliced | Runs
AnyPlan = Exchange | Shifted | Thin | Padded | Whole | Blocks | Flat | Direct | Narrow | Small

SIZES = (1, 2, 4, 8)
"""Bytes of an element."""


class Tile(NamedTuple):
    """What `FewRows` says of a tile, its columns (the evenest of a range) in bytes."""

    wide: int | range
    unit: int = 1
    eager: bool = False


PLANS: dict[str, AnyPlan] = {
    "flat": Flat(2, 256),
    "exchange 128x128 bulk, 768": Exchange((128, 128), 0, "evict_last", "bulk", 768, fetch=True),
    "exchange 128x128 last, 768": Exchange((128, 128), 0, "evict_last", "plain", 768, fetch=True),
    "exchange 64x128": Exchange((64, 128), 0, "no_allocate", "streaming", 1152),
    **{
        f"exchange {tile[0]}x{tile[1]} {store}, {size} bytes": Exchange(
            tile, 0, "evict_last", store, resident, size, fetch=True
        )
        for size, resident, tile in ((4, 1536, (64, 64)), (8, 2048, (64, 32)))
        for store in ("bulk", "plain")
    },
    "shifted 248x128": Shifted((248, 128), 16, 16, most=2),
    "shifted 120x64": Shifted((120, 64), 8, 16, most=5),
    "shifted 120x64 fetched": Shifted((120, 64), 8, 16, most=5, fetch=True),
    "shifted 64x128, 1 bytes": Shifted((64, 128), 8, 16, most=4, size=1),
    "shifted 128x128, 4, 1 bytes": Shifted((128, 128), 8, 32, most=4, size=1),
    "shifted 128x128 fetched, 1 bytes": Shifted((128, 128), 8, 16, most=4, fetch=True, size=1),
    "shifted 240x128 fetched, 1 bytes": Shifted((240, 128), 16, 32, most=3, fetch=True, size=1),
    "shifted 496x128 once, 1 bytes": Shifted((496, 128), 16, 32, most=2, size=1, once=True),
    "shifted 496x128 once fetched, 1 bytes": Shifted(
        (496, 128), 16, 32, most=2, fetch=True, size=1, once=True
    ),
    "shifted 128x256 edges": Shifted((128, 256), 16, 32, fetch=True, edges=True),
    **{
        f"shifted {tile[0]}x{tile[1]}, {size} bytes": Shifted(
            tile, warps, 32 // size, most=most, fetch=size == 4, size=size
        )
        for size, tile, warps, most in (
            (1, (240, 128), 16, 3),
            (4, (60, 64), 8, 5),
            (8, (30, 64), 8, 5),
        )
    },
    "blocks 4x4": Blocks((4, 4), (4, 8)),
    "direct": Direct(),
    "small 32x32": Small((32, 32)),
    "small 32x32, 4": Small((32, 32), 4),
    "small 64x32": Small((64, 32)),
    "narrow": Narrow(),
}
"""The plans, as the evidence calls them. The first that fits serves where nothing can be timed."""

FEW = 512
"""Rows or columns, at most, for which Padded and FewColumns are compiled."""

PAST_REGISTERS = 96
"""Bytes of the columns of a tile, not of a batch, that is loaded past the registers."""

Tiles = tuple[tuple[int, dict[int, tuple[Tile, ...]]], ...]
"""Tiles of few rows: by how many these are less than, and bytes of an element, those that lead anywhere."""

TILES: Tiles = (
    (5, dict.fromkeys((4, 8), (Tile(1024, 64),))),
    (9, {2: (Tile(256, 16), Tile(1024, 16)), **dict.fromkeys((4, 8), (Tile(1024, 16),))}),
    (
        25,
        {
            1: (Tile(512, 8), Tile(512, 8, True)),
            2: (Tile(192, 12), Tile(256, 8), Tile(384, 8, True)),
            **dict.fromkeys((4, 8), (Tile(256, 8), Tile(384, 12))),
        },
    ),
    (
        64,
        {
            1: (Tile(64, 2), Tile(96, 3), Tile(96, 6), Tile(128, 4), Tile(192, 3), Tile(192, 4, True)),
            2: (Tile(128, 2, True), Tile(192, 6), Tile(256, 8, True), Tile(384, 6, True)),
            4: (Tile(192, 6), Tile(256, 4, True), Tile(384, 12)),
            8: (Tile(96, 3), Tile(192, 6)),
        },
    ),
    (
        128,
        {
            1: (Tile(48), Tile(96, 3, True), Tile(128, 1, True)),
            2: (Tile(128, 2, True), Tile(192, 4, True)),
            4: (Tile(192, 3),),
        },
    ),
    (
        256,
        {
            1: (Tile(range(80, 113, 16), 1, True), Tile(64, 1, True), Tile(128, 1, True)),
            2: (Tile(128), Tile(128, 1, True), Tile(128, 2, True)),
            4: (Tile(128),),
        },
    ),
)

BATCHED: Tiles = (
    (25, {}),
    (64, {1: (Tile(48, 3, True), Tile(96, 3), Tile(192, 6, True)), 2: (Tile(192, 6, True),)}),
    (
        128,
        {
            1: (Tile(48, 3), Tile(64, 1, True), Tile(192, 3, True)),
            2: (Tile(96, 2, True), Tile(128, 2, True), Tile(192, 6, True)),
        },
    ),
    (
        513,
        {
            1: (Tile(64, 1, True), Tile(96, 1, True), Tile(112, 1, True)),
            2: (Tile(96, 1, True), Tile(128, 2, True), Tile(range(32, 81, 16), 1, True)),
        },
    ),
)
"""The same for a batch."""

FETCHED, FETCHED_ROWS = 20 << 10, 128
"""Bytes of a tile up to which blocks of few rows ask for theirs early; those of a batch of bytes always do.
And rows of one matrix of longer elements from which on none does."""

PADDED = ((384, 1, True), (128, 4, True), (512, 2, False), (256, 7, False))
"""Threads for Padded, about, how often they store, and whether the ends of rows are asked for first."""

THIN = {"rows": 8, "columns": 16}
"""Rows and columns, at most, for which Runs and Spliced are; of bytes, all rows that FewRows lacks."""

HELD = 32
"""Bytes, about, of all rows that a thread of Runs moves."""

SPLICED = 8
"""Words of a thread of Spliced, about."""

ALONE, WHOLE = 1 << 10, 24 << 10
"""Bytes of a matrix that has a block for itself, at least and at most."""

SEVERAL = ((6 << 10, 2), (6 << 10, 3), (12 << 10, 2), (12 << 10, 3))
"""Bytes, about, of matrices that share a block, and how often its threads store."""

SHORT = (
    *((4 << 10, 4, 224), (4 << 10, 4, 352), (4 << 10, 8, 224), (6 << 10, 8, 224), (9 << 10, 4, 224)),
    *((9 << 10, 8, 256), (12 << 10, 16, 320)),
)
"""The same for elements shorter than a word: bytes, bytes of a store, and stores side by side, about."""

SINGLY = 2 << 10
"""Bytes, about, of matrices whose elements are stored one at a time."""

MOST_THREADS, MOST_PASSES, MOST_SINGLY = 640, 24, 512
"""Of such a block, and how often each stores; threads, about, if each stores one element at a time."""

TINY = 1 << 18
"""Elements up to which Blocks and Direct are compiled for the very sizes: a thread has less to compute."""

BUILDERS: dict[type, Callable[..., Kernel]] = {
    Exchange: build_exchange,
    Shifted: build_shifted,
    Runs: build_runs,
    Spliced: build_spliced,
    Whole: build_whole,
    Blocks: build_blocks,
    Flat: build_flat,
    Direct: build_direct,
    Narrow: build_narrow,
    Small: build_small,
    Padded: build_padded,
    FewRows: build_few_rows,
    FewColumns: build_few_columns,
}


def build(plan: AnyPlan, early: int | None = None) -> Kernel:
    """The kernel of `plan`; it starts early where the device can, unless `early` says: see `common.enter`."""
    return BUILDERS[type(plan)](plan, SOON * overlaps() if early is None else early)


def candidates(x: Any, y: Any) -> dict[str, AnyPlan]:
    """The plans that fit these two, by name."""
    plans = runs(x) | by_words(x) | PLANS | few_rows(x, y) | padded(x, y) | few_columns(x, y) | wholes(x, y)
    return {name: at_pitches(plan, x, y) for name, plan in plans.items() if plan.fits(x, y)}


def align_bytes(plan: AnyPlan, size: int) -> int:
    """What the bases must be multiples of, for elements of `size` bytes."""
    return CHUNK_BYTES if isinstance(plan, Exchange | Blocks) else size


def at_pitches(plan: AnyPlan, x: Any, y: Any) -> AnyPlan:
    """`plan` without what the pitches make needless."""
    if isinstance(plan, Shifted):
        return plan._replace(ahead=ahead_by(1, x.stride(-2) * y.stride(-2), plan.word) > 0)
    return plan


def thin(x: Any) -> list[tuple[str, int]]:
    """Which sides are so few that all of them are held at once, and how many they are."""
    most = THIN | {"rows": max(THIN["rows"], CHUNK_BYTES // x.element_size() - 1)}
    return [(few, count) for few, count in zip(THIN, x.shape[-2:], strict=True) if 0 < count <= most[few]]


def runs(x: Any) -> dict[str, AnyPlan]:
    """Blocks that hold a run of all rows, or all columns, of a few."""
    size, found = x.element_size(), {}
    for few, count in thin(x) if size > 1 else ():
        each = max(HELD // (count * size), 1)
        for threads, times in ((256, each), (128, 2 * each)):
            found[f"runs, {count} {few}, {threads}"] = Runs(few, count, times, size, threads)
    return found


def by_words(x: Any) -> dict[str, AnyPlan]:
    """Threads that hold a word of all rows, or all columns, of a few, or two."""
    size, found = x.element_size(), {}
    for few, count in thin(x) if size < 4 else ():
        for each in (1, 2) if size > 1 and 2 * count <= SPLICED else (1,):
            found[f"spliced, {count} {few}{f', {each}' * (each > 1)}"] = Spliced(few, count, each, size)
    return found


def few_rows(x: Any, y: Any) -> dict[str, AnyPlan]:
    """Tiles that hold all rows of a thin matrix."""
    count, size, batch = x.shape[-2], x.element_size(), x.dim() == 3
    chunk, loose = CHUNK_BYTES // size, y.data_ptr() % CHUNK_BYTES != 0 or (batch and not whole_chunks(y))
    slope = None if whole_chunks(x) and not loose else x.stride(-2) % chunk
    tiles = next((sized for rows, sized in (BATCHED if batch else TILES) if count < rows), {})
    found = {}
    for tile in tiles.get(size, ()) if count > 1 and not (loose and count < chunk) else ():
        wide = evenest(x, tile.wide) if isinstance(tile.wide, range) else tile.wide
        short = wide * count < FETCHED and (batch or size == 1 or count < FETCHED_ROWS)
        fetch = short or (batch and size == 1)
        load = "async" if wide == PAST_REGISTERS and not batch else "evict_last"
        eager = tile.eager and (batch or slope is not None)
        plan = FewRows(count, wide // size, tile.unit, slope, fetch, loose, load, size, eager)
        if plan.threads <= 1024 and plan.step > 0:
            found[f"few rows, {plan.columns} by {plan.unit}{' eager' * eager}"] = plan
    return found


def evenest(x: Any, tiles: range) -> int:
    """Of bytes of a tile's columns, those for which the multiprocessor with the most blocks has the least."""
    items = x.shape[0] if x.dim() == 3 else 1

    def most(wide: int) -> int:
        blocks = items * (x.shape[-1] * x.element_size() // wide + 1)
        return -(-blocks // multiprocessors()) * wide

    return min(tiles, key=most)


def padded(x: Any, y: Any) -> dict[str, AnyPlan]:
    """Tiles that hold all rows of a thin matrix, for pads in `y`."""
    (count, n), sector, found = x.shape[-2:], SECTOR // x.element_size(), {}
    if y.stride(-2) == count or not sector <= count <= FEW or not n:
        return {}
    for threads, times, soon in PADDED:
        across = max(threads // (count // sector * 2) // sector, 1) * sector
        even = -(-n // -(-n // (across * times)))
        across = -(-even // sector) * sector if times == 1 else across
        slope = x.stride(-2) % (sector // 2)
        plan = Padded(count, -(-even // across) * across, across, x.element_size(), soon, slope)
        if plan.threads <= 1024 and plan.step > 0 and plan.residents > 1:
            found[f"padded {plan.columns}, {across}{' soon' * soon}"] = plan
    return found


def few_columns(x: Any, y: Any) -> dict[str, AnyPlan]:
    """Tiles that hold all columns of a thin matrix."""
    count, loose = x.shape[-1], x.data_ptr() % CHUNK_BYTES != 0
    size, pad = x.element_size(), x.stride(-2) - count
    if not 8 < count <= FEW or not few_pads(pad, count):
        return {}
    chunk = CHUNK_BYTES // size
    align, slope = min(SECTOR // size, 16), y.stride(-2) % chunk
    if rows_start_on(y, align * size):
        align = 0
    tiles = [(128, 8, True)] if count < 64 else [(64, 8, False), (128, 16, False)]
    plans = [
        FewColumns(count, 2 * rows // size, warps, align, slope, loose, fetch, size, pad)
        for rows, warps, fetch in tiles
    ]
    return {f"few columns, {plan.rows}": plan for plan in plans}


def wholes(x: Any, y: Any) -> dict[str, AnyPlan]:
    """Blocks for one matrix of a batch, or for several."""
    m, n = x.shape[-2:]
    pads = x.stride(-2) - n, y.stride(-2) - m
    if x.dim() != 3 or not m * n or not (few_pads(pads[0], n) and few_pads(pads[1], m)):
        return {}
    one = Whole((m, n), 1, 1, x.element_size(), pads)
    held, plans = one.size * one.apart[0], []
    lines = LINE // math.gcd(held, LINE)

    def worded(about: int, store: int, wide: int) -> Whole:
        items = about // held
        items -= items % lines if items % lines * 4 <= items else 0
        plan = one._replace(items=min(items, x.shape[0]), store=store)
        beside = max(wide // plan.alike, 1) * plan.alike
        return plan._replace(beside=beside if beside <= MOST_THREADS else wide)

    # Chunks side by side are gathered 16 bytes times the pitch apart: from the same banks at one of four.
    if ALONE <= held <= WHOLE and one.pitches[0] % 4:
        plans += [shared(one, 1, passes) for passes in (2, 3)]
        plans += [worded(held, 4, 320)] if one.size < 4 else []
    for about, store, wide in SHORT if one.size < 4 else ():
        plans += [worded(about, store, wide)] if about // held > 1 else []
    for about, passes in SEVERAL if one.size >= 4 else ():
        if about // held > 1:
            # As many to a block as give each multiprocessor as many blocks.
            waves = multiprocessors() * -(-x.shape[0] // (about // held * multiprocessors()))
            plans.append(shared(one, -(-x.shape[0] // waves), passes))
    # Rows with pads in between start and end in chunks of which parts stay as they are.
    if pads[1] and ALONE <= held <= WHOLE:
        plans.append(shared(one._replace(store=one.size), 1, -(-one.apart[1] // MOST_SINGLY)))
    plans += [worded(SINGLY, one.size, 224)] if pads[1] and SINGLY // held > 1 else []
    names = {16: "", 8: " by 8", 4: " by words", one.size: " singly"}
    return {
        f"whole, {plan.items} {plan.threads}{names[plan.store]}": plan
        for plan in plans
        if plan.threads <= MOST_THREADS and plan.passes <= MOST_PASSES
    }


def shared(one: Whole, items: int, passes: int) -> Whole:
    """A block for so many matrices like that of `one`, whose threads store so many times."""
    plan = one._replace(items=items)
    beside = -(-(items * plan.apart[1] // plan.stored + 2) // passes)
    if plan.alike <= beside:
        beside = -(-beside // plan.alike) * plan.alike
    return plan._replace(beside=beside)
