"""What a plan asks of an SM for a tile: what `pace` works with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from layoutcheck.machine.arch import LINE_BYTES, SECTOR_BYTES, WARP
from layoutcheck.machine.cost import SMS, Counts
from layoutcheck.synthesis import compiled, edges
from layoutcheck.synthesis.compiled import Compiled
from layoutcheck.synthesis.moves import Direct, Move
from layoutcheck.synthesis.program import each
from layoutcheck.synthesis.search import Found
from layoutcheck.synthesis.threads import Threads
from layoutcheck.synthesis.tma import Tma
from layoutcheck.synthesis.wanted import Wanted, fast_mode

EACH_CYCLES = 3.0
"""From an instruction of a warp to its next, if it is alone (measured)."""


class Demand(NamedTuple):
    """What a plan asks of an SM: of one tile, and how many blocks share the SM.

    By the classes of `pace`:

    - how the tile comes: `way` (`way_of`); `divided`: the block beside starts at the same time, and has the
      rest of a line that this one takes in part; `blocks` of an SM
    - `Pipes`: `instructions` of all warps; wavefronts: `data`, `cached` of `cp.async` through L1, `engine`
      rows of boxes, `thin` if these are half a sector; `sectors`
    - `Waits`: `own` the cycles that a warp takes if it is alone and memory answers at once; `barriers`; tiles
      `ahead`; `rounds` in which a thread loads its part of the tile: those of the compiled program, or what
      its registers allow; `engine_stores`
    - `Held`: `held_bytes` of L1, whole lines: of each load, of a tile by `cp.async`; `l1_bytes`
    - `Parts`: `read_parts` lines of which runs bring one half alone, or, if a block `beside` comes for the
      rest, take a part; `write_parts`; `live_bytes` such lines of all blocks; `asked_parts` of an SM that are
      under way; `waited_for`: a block has them before it asks for the rest; `read_pieces` lines that loads of
      several instructions bring
    - `Pairs`, shares of the written bytes: `write_cut` in pairs of lines that runs take in part,
      `write_apart` in others which no one instruction or row of a box fills, `write_split` the same of pairs
      of sectors, `write_late` in pairs of which the same block writes a part with its next tile
    - `Spills`: `spilled_bytes` of registers that go to local memory
    - `Memory`: `read_bytes`, `written_bytes`
    """

    way: str
    instructions: float
    own: float
    data: float
    cached: float
    engine: float
    thin: bool
    sectors: float
    read_bytes: float
    written_bytes: float
    read_parts: float
    write_parts: float
    write_cut: float
    write_apart: float
    write_split: float
    live_bytes: float
    asked_parts: float
    ahead: int
    rounds: float
    waited_for: bool
    divided: bool
    barriers: int
    engine_stores: bool
    blocks: int
    held_bytes: float
    l1_bytes: float
    spilled_bytes: float = 0.0
    write_late: float = 0.0
    beside: bool = False
    read_pieces: float = 0.0


def demand(found: Found, wanted: Wanted, made: Compiled | None = None) -> Demand:
    """Of a plan, with what the compiler made of its program; without, with what it is expected to."""
    shared, moves = found.shared, found.moves
    first, last = moves[0], moves[-1]
    active = max((compiled.active(move, wanted) for move in moves), default=wanted.threads)
    counts = [move.least if shared is None else move.counts(shared) for move in moves]
    bulk = [one for move, one in zip(moves, counts, strict=True) if isinstance(move, Tma)]
    barriers = 0 if shared is None else 2 if wanted.stages == 1 else 1
    code = _code(found, wanted, made, active, barriers)
    staged = 0 if shared is None else shared.size * wanted.stages
    blocks = resident(code.registers, wanted.threads, staged)
    way, total = way_of(first, wanted), found.counts
    engine, cached = sum(one.wavefronts for one in bulk), counts[0].wavefronts if way == "ca" else 0
    written = _written(found, counts, wanted)
    held = _held(first, wanted) if way == "ld" else 0.0
    lines = edges.lines(None if wanted.accumulator else wanted.src, wanted)
    loaded = LINE_BYTES * lines.all
    read = float(total.distinct_sectors * SECTOR_BYTES - written)
    if loaded:  # L2 keeps the sectors that tiles side by side share (ncu: memory gives 1.00 of the bytes)
        read = float(math.prod(wanted.tile) * wanted.src.element_bytes)
    back, waits = _comes_back(wanted), way in ("ld", "")
    beside = wanted.divided and not back
    ahead = 1 if waits else max(1, wanted.stages - 1)
    return Demand(
        way=way,
        instructions=code.instructions * -(-active // WARP) + code.alone,
        own=EACH_CYCLES * (code.instructions + code.alone) if code.cycles is None else code.cycles,
        data=total.wavefronts - engine - cached,
        cached=cached,
        engine=engine,
        thin=way == "tma" and counts[0].sectors >= 2 * counts[0].distinct_sectors,
        sectors=total.sectors,
        read_bytes=read,
        written_bytes=written,
        read_parts=lines.parts if beside else lines.halves,
        write_parts=edges.lines(wanted.dst, wanted).parts,
        **edges.left(last, shared, wanted),
        live_bytes=blocks * SMS * edges.live(wanted),
        asked_parts=0.0 if waits or not back else blocks * ahead * lines.halves,
        waited_for=back and (waits or ahead == 1),  # the next tile is asked for when the one before is there
        divided=wanted.divided,
        ahead=ahead,
        rounds=compiled.rounds_of(code, found, wanted) if way == "ld" else 1.0,
        barriers=barriers,
        engine_stores=any(isinstance(move, Tma) and not move.read for move in moves),
        blocks=blocks,
        held_bytes=held if way == "ld" else loaded if way == "ca" else 0.0,
        read_pieces=max(0.0, min(loaded, held - loaded)) / LINE_BYTES,
        l1_bytes=l1_left(blocks, staged),
        beside=beside,
        spilled_bytes=(code.spilled + (code.once / each(wanted) if wanted.divided else 0.0)) * active,
    )


def _code(found: Found, wanted: Wanted, made: Compiled | None, active: int, barriers: int) -> Compiled:
    """Registers and instructions of a thread for a tile."""
    if made is None or made.cycles is None:
        guess = compiled.expected(found, wanted)
        return guess if made is None else guess._replace(registers=made.registers)
    return made.of_a_tile(barriers, math.prod(wanted.tile) / active * wanted.src.element_bytes)


def _written(found: Found, counts: Sequence[Counts], wanted: Wanted) -> int:
    """Bytes of global memory that a tile's moves write, in whole sectors."""
    first, written = found.moves[0], counts[1:]
    if wanted.accumulator:
        written = counts
    elif isinstance(first, Direct):
        written = [side.counts(first.deal, mode) for side, mode in first.sides[1:]]
    return sum(one.distinct_sectors for one in written) * SECTOR_BYTES


def way_of(writer: Move, wanted: Wanted) -> str:
    """How the tile comes: "tma", "cg" or "ca" of cp.async, "ld", or "" from accumulators."""
    if wanted.accumulator:
        return ""
    if isinstance(writer, Tma):
        return "tma"
    if isinstance(writer, Threads) and writer.asynchronous:
        return "cg" if writer.past_l1 else "ca"
    return "ld"


def _comes_back(wanted: Wanted) -> bool:
    """Whether a block walks along the rows of src, and has the rest of a line in its next tile."""
    along_k = not wanted.accumulator and fast_mode(wanted.src) == 1
    return along_k and not (wanted.divided and wanted.dst is not None and fast_mode(wanted.dst) == 1)


def _held(writer: Move, wanted: Wanted) -> float:
    """Bytes of the lines that the loads of a tile hold, by its first accesses, wherever in a line it lies."""
    assert isinstance(writer, (Threads, Direct))
    outer, mode = writer.sides[0] if isinstance(writer, Direct) else (writer.outer, writer.deal.fast)
    assert outer is not None
    size, loaded, lines = outer.tile.element_bytes, 0, 0
    width, fast = writer.deal.width(mode) * size, fast_mode(wanted.src) or 0
    for row in outer.addresses(writer.deal.accesses(mode)[:8]):
        for start in edges.places(wanted.tile[fast] * size, LINE_BYTES):
            ends = row[row >= 0][:, None] + [start, start + width - 1]
            loaded += len(ends) * width
            lines += len(np.unique(ends // LINE_BYTES))
    return lines * LINE_BYTES / loaded * math.prod(wanted.tile) * size


REGISTERS, MOST_WARPS, MOST_BLOCKS = 65536, 64, 32
"""Of an SM (CUDA programming guide, compute capability 9.0)."""
L1_BYTES = 256 << 10
"""Of L1 and shared memory together (the same)."""
CARVEOUTS_KB = (0, 8, 16, 32, 64, 100, 132, 164, 196, 228)
"""What shared memory can have of it (the same)."""
BLOCK_BYTES = 1024
"""Of shared memory, which each block has besides its own (the same)."""


def resident(registers: float, threads: int, shared_bytes: int) -> int:
    """Blocks on an SM."""
    each = math.ceil(registers / 8) * 8 * threads
    room = (CARVEOUTS_KB[-1] << 10) // (shared_bytes + BLOCK_BYTES)
    return int(max(1, min(MOST_WARPS * WARP // threads, MOST_BLOCKS, REGISTERS // each, room)))


def l1_left(blocks: int, shared_bytes: int) -> float:
    """Bytes that the shared memory of so many blocks leaves to L1."""
    if not shared_bytes:
        return float(L1_BYTES)
    asked = min(blocks * (shared_bytes + BLOCK_BYTES), CARVEOUTS_KB[-1] << 10)
    return float(L1_BYTES - next(kb << 10 for kb in CARVEOUTS_KB if kb << 10 >= asked))
