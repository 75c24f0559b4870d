"""Why no plan of the space works, where no move or no layout serves: what is missing, and what would do."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from layoutcheck.synthesis.candidates import ASYNC_BYTES, proved_bytes
from layoutcheck.synthesis.matrix import ROW_BYTES
from layoutcheck.synthesis.search import Space
from layoutcheck.synthesis.shared import layouts
from layoutcheck.synthesis.threads import WIDEST_BYTES
from layoutcheck.synthesis.wanted import MAJORS, MOST_EXTENT, Wanted, fast_mode

ROUNDED = (1, 4, 8, 16, 32)
"""Elements that the extents of canonical layouts are multiples of, of any type and major."""


class Lack(NamedTuple):
    """What is missing, and what was expected instead."""

    said: str
    expected: str


def lack(space: Space, wanted: Wanted) -> Lack:
    """Of a space in which no plan can be put together."""
    if not space.layouts:
        units = " and ".join(str(one) for one in wanted.consumers if one.unit in ("wgmma", "tcgen05"))
        larger = _larger(wanted)
        other = "another --major, or a tile for each reader"
        return Lack(
            f"no canonical layout of {units} divides the tile",
            other if larger is None else f"a tile such as {larger.title}",
        )
    if not space.writers:
        return _no_writer(wanted)
    for consumer, slot in zip(wanted.consumers, space.readers, strict=True):
        if slot:
            continue
        if consumer.unit == "ldmatrix":
            row = ROW_BYTES // wanted.element_bytes
            return Lack(
                f"the tile is not made of whole matrices for {consumer}", f"extents that 8 and {row} divide"
            )
        assert wanted.dst is not None
        return Lack(
            f"{' and '.join(wanted.engines)} cannot store to dst {wanted.dst.layout}", "another --engine"
        )
    return _no_layout(space, wanted)


def _larger(wanted: Wanted) -> Wanted | None:
    """The request with the smallest tile around its own that a canonical layout divides."""
    mn, k = ({-(-n // unit) * unit for unit in ROUNDED} for n in wanted.tile)
    made = (replace(wanted, tile=tile) for tile in sorted(product(mn, k), key=math.prod))
    made = (one for one in made if max(one.tile) <= MOST_EXTENT)
    return next((one for one in made if layouts(one.tile, one.dtype, one.consumers, one.major)), None)


def _no_writer(wanted: Wanted) -> Lack:
    if wanted.accumulator:
        return Lack("the tile is not made of whole matrices for stmatrix", "extents that 8 divides")
    found = [f"{engine}: {_cannot(engine, wanted, 'src')}" for engine in wanted.engines]
    return Lack("; ".join(found), "--engine universal, or what the engine needs")


def unserved(engine: str, space: Space, wanted: Wanted) -> str:
    """Why no plan of a space has an engine that it may have."""
    if wanted.accumulator:
        some = [move for move in space.readers[0] if move.kind == engine]
        return lack(space._replace(readers=[some]), wanted).said if some else _cannot(engine, wanted, "dst")
    some = [move for move in space.writers if move.kind == engine]
    return lack(space._replace(writers=some), wanted).said if some else _cannot(engine, wanted, "src")


def _cannot(engine: str, wanted: Wanted, side: str) -> str:
    """Why an engine does not copy from or to that tensor."""
    first = {"tma": 90, "cp.async": 80}.get(engine, 0)
    tensor = wanted.src if side == "src" or wanted.dst is None else wanted.dst
    if wanted.arch.number < first:
        return f"{wanted.arch} does not have it (sm_{first} and later)"
    if tensor.dtype != wanted.dtype:
        kinds = [str(tensor.dtype), str(wanted.dtype)]
        return f"it does not convert {' to '.join(kinds if side == 'src' else reversed(kinds))}"
    fast = fast_mode(tensor)
    if fast is None:
        return f"no mode of {side} {tensor.layout} has stride 1"
    least = WIDEST_BYTES if engine == "tma" else ASYNC_BYTES[-1]
    tails = wanted.tails and engine != "tma"  # TMA clips at an extent, accesses lie inside
    known = proved_bytes(tensor, fast, tails)
    what = "base, pitch and extent" if tails else "base and pitch"
    return (
        f"it needs multiples of {least} bytes, and {what} of {side} {tensor.layout} are multiples of {known}"
    )


def _no_layout(space: Space, wanted: Wanted) -> Lack:
    """No layout suits every move, or those that do are too large."""
    writers = " and ".join(dict.fromkeys(move.kind for move in space.writers))
    slots = {f"written by {writers}": space.writers} | {
        f"read by {consumer}": slot for consumer, slot in zip(wanted.consumers, space.readers, strict=True)
    }
    fitting = {
        name: {one for one in space.layouts if any(move.fits(one) for move in slot)}
        for name, slot in slots.items()
    }
    both = set.intersection(*fitting.values())
    most = wanted.arch.smem_per_block_bytes
    if both:
        size = min(one.size for one in both)
        return Lack(
            f"{wanted.stages} stage{'s' * (wanted.stages > 1)} of {size:,} bytes at least are more than the "
            f"{most:,} that a block has on {wanted.arch}",
            f"a smaller tile, or --stages {most // size}" if most >= size else "a smaller tile",
        )
    turns = "" if "universal" in wanted.engines else "--engine universal, which turns blocks in registers; "
    modes = {name: {one.fast for one in some} for name, some in fitting.items()}
    other = turns + "another --major or --to, other extents"
    alone = next((name for name, some in fitting.items() if not some), None)
    if alone is not None:
        kept = " or ".join(MAJORS[mode] for mode in sorted({one.fast for one in space.layouts}))
        return Lack(f"no layout with {kept} contiguous is {alone}", other)
    if not set.intersection(*modes.values()):
        said = [
            f"{name} with {MAJORS[min(some)]} contiguous" for name, some in modes.items() if len(some) == 1
        ]
        return Lack(f"the tile is {' and '.join(said)}", other)
    return Lack(f"no one layout is {' and '.join(fitting)}", other)
