"""The pace of a plan: cycles an SM takes for a tile while blocks run their loops, and what bounds it.

`machine.cost` counts what one tile asks of the pipes. A kernel's pace has more in it, which this adds:

    issue      warp instructions of the loop, addresses and predicates among them
    chain      a block waits for its tile, for its barriers and for its own instructions; what waits is hidden
               by the tiles ahead (stages) and by the other blocks of the SM, which registers, shared memory
               and threads bound
    lines      a load through L1 (ld.global, cp.async of less than 16 bytes) holds a line of L1 until its data
               is there; what shared memory leaves of L1 bounds the bytes in flight. A line of which an access
               takes a part is held whole
    engine     the copy engine: rows of boxes, and boxes
    memory     bytes at the bandwidth; what is read and written at once costs more than either alone. A run of
               adjacent sectors costs more than it has, by the way that reads it. Lines that a tile takes in
               part wait in L2 for the next tile: where all blocks' together do not fit, they come again

The busy times add up as in `machine.cost`. The constants are an H200's, fitted to plans that ran there
(benchmarks/synthesis_fit.py, docs/evidence/synthesis_pace.json): seeds that were held out say how far to
trust them. L1 and bytes in flight: docs/evidence/in_flight.json.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from layoutcheck.copies.memref import Memref
from layoutcheck.machine.arch import LINE_BYTES, SECTOR_BYTES, WARP
from layoutcheck.machine.cost import FILL_BYTES_PER_CYCLE, SMS
from layoutcheck.synthesis.compiled import Compiled
from layoutcheck.synthesis.matrix import Matrix
from layoutcheck.synthesis.moves import Direct, Global, Move
from layoutcheck.synthesis.search import Found
from layoutcheck.synthesis.threads import Threads
from layoutcheck.synthesis.tma import Tma
from layoutcheck.synthesis.wanted import Wanted, fast_mode

REGISTERS, MOST_WARPS, MOST_BLOCKS = 65536, 64, 32
"""Of an SM (CUDA programming guide, compute capability 9.0)."""
MOST_REGISTERS = 255.0
"""Of a thread (the same)."""
ENGINE_INSTRUCTIONS, LEAST_INSTRUCTIONS = 80, 20
"""Of a loop that starts bulk copies, what one warp alone executes; and what is left at least (measured)."""
L1_BYTES = 256 << 10
"""Of L1 and shared memory together (the same)."""
CARVEOUTS_KB = (0, 8, 16, 32, 64, 100, 132, 164, 196, 228)
"""What shared memory can have of it (the same)."""
BLOCK_BYTES = 1024
"""Of shared memory, which each block has besides its own (the same)."""


@dataclass(frozen=True)
class Constants:
    """Of the machine; cycles at 1.98 GHz.

    `issue` a warp instruction; `latency` of memory; `barrier` of a block; `step` between two instructions of
    a warp; `held` a line of L1 by a load; `read`, `write` a byte, `mixed` a byte of both more; `run_*` bytes
    that a run costs more, by the way; `kept`, `kept_tma` bytes of partial lines that L2 holds, `again` how
    often those beyond come anew; `pages` runs that all blocks write at once, beyond which each costs `crowd`
    of them more; `row`, `box` of the copy engine; `stored` until the engine has read a tile; `overlap` the
    exponent.
    """

    issue: float = 0.39
    latency: float = 1500.0
    barrier: float = 60.0
    step: float = 2.6
    held: float = 960.0
    held_async: float = 945.0
    read: float = 0.0547
    write: float = 0.0574
    mixed: float = 0.0274
    run_ld: float = 29.0
    run_ca: float = 12.0
    run_cg: float = 10.0
    run_tma: float = 10.0
    run_write: float = 9.0
    kept: float = 45e6
    kept_tma: float = 35e6
    again: float = 4.0
    pages: float = 83e3
    crowd: float = 0.225
    cached: float = 1.0
    data: float = 0.9
    row: float = 1.0
    box: float = 5.0
    stored: float = 300.0
    overlap: float = 3.4


H200 = Constants()


class Demand(NamedTuple):
    """What a plan asks of an SM: of one tile, and how many blocks share the SM."""

    way: str
    instructions: float
    warps: int
    data: float
    cached: float
    engine: float
    boxes: float
    sectors: float
    read_bytes: float
    written_bytes: float
    read_runs: float
    write_runs: float
    live_bytes: float
    streams: float
    ahead: int
    waited_for: bool
    barriers: int
    engine_stores: bool
    blocks: int
    held_bytes: float
    l1_bytes: float


def demand(found: Found, wanted: Wanted, made: Compiled | None = None) -> Demand:
    """Of a plan, with what the compiler made of its program; without, with what it is expected to."""
    shared, moves = found.shared, found.moves
    registers, instructions = expected(found, wanted) if made is None else made
    if made is not None and any(isinstance(move, Tma) for move in moves):
        instructions = max(LEAST_INSTRUCTIONS, instructions - ENGINE_INSTRUCTIONS)
    active = max((_active(move, wanted) for move in moves), default=wanted.threads)
    counts = [move.least if shared is None else move.counts(shared) for move in moves]
    first = moves[0]
    way = way_of(first, wanted)
    engine = sum(one.wavefronts for move, one in zip(moves, counts, strict=True) if isinstance(move, Tma))
    boxes = sum(one.instructions for move, one in zip(moves, counts, strict=True) if isinstance(move, Tma))
    cached = counts[0].wavefronts if way == "ca" else 0
    total = found.counts
    written = sum(one.distinct_sectors for one in counts[1:]) * SECTOR_BYTES
    if isinstance(first, Direct) and len(first.sides) > 1:
        cost = first.sides[1][0].cost(first.deal, first.sides[1][1])
        written = 0 if cost is None else cost.counts.distinct_sectors * SECTOR_BYTES
    if wanted.accumulator:
        written = total.distinct_sectors * SECTOR_BYTES
    blocks = resident(registers, wanted.threads, 0 if shared is None else shared.size * wanted.stages)
    waits = way in ("ld", "")
    return Demand(
        way=way,
        instructions=instructions * -(-active // WARP),
        warps=wanted.threads // WARP,
        data=total.wavefronts - engine - cached,
        cached=cached,
        engine=engine,
        boxes=boxes,
        sectors=total.sectors,
        read_bytes=total.distinct_sectors * SECTOR_BYTES - written,
        written_bytes=written,
        read_runs=total.read_runs,
        write_runs=total.write_runs,
        live_bytes=blocks * SMS * _live(wanted),
        streams=blocks * SMS * _rows(wanted.dst, wanted),
        waited_for=waits or wanted.stages == 1,
        ahead=1 if waits else max(1, wanted.stages - 1),
        barriers=0 if shared is None else 2 if wanted.stages == 1 else 1,
        engine_stores=any(isinstance(move, Tma) and not move.read for move in moves),
        blocks=blocks,
        held_bytes=_held(first, wanted) if way in ("ld", "ca") else 0.0,
        l1_bytes=l1_left(blocks, 0 if shared is None else shared.size * wanted.stages),
    )


def _active(move: Move, wanted: Wanted) -> int:
    """Threads that take part."""
    return move.deal.threads if isinstance(move, (Threads, Direct)) else wanted.threads


def expected(found: Found, wanted: Wanted) -> tuple[float, float]:
    """Registers and instructions of a thread for a tile, without the compiler: a rough guess.

    Fitted to what it makes of random plans; a plan's registers are often half or twice as many.
    """
    size, shared = math.prod(wanted.tile) * wanted.element_bytes, found.shared
    piped = wanted.stages > 1 and shared is not None
    swizzled = shared is not None and shared.swizzle is not None
    registers, instructions = 28.0 + 4.0 * piped + 4.0 * swizzled, 24.0 + 12.0 * piped
    for move in found.moves:
        words = size / 4 / _active(move, wanted)
        if isinstance(move, Matrix):
            instructions += words * (1 + 2 / math.prod(move.matrices))
        elif isinstance(move, (Threads, Direct)):
            deal = move.deal
            accesses = words * 4 / wanted.element_bytes / deal.vector
            turned = deal.block > 1 and deal.vector > 1
            if turned:
                registers += 1.3 * words + 12.0 * swizzled
                instructions += words * 4 / wanted.element_bytes * (wanted.element_bytes < 4)
            if isinstance(move, Threads) and move.asynchronous:
                registers += 0.4 * accesses
            instructions += 3 * accesses + (0 if isinstance(move, Threads) and move.outer else words)
    return min(registers, MOST_REGISTERS), instructions


def way_of(writer: Move, wanted: Wanted) -> str:
    """How the tile comes: "tma", "cg" or "ca" of cp.async, "ld", or "" from accumulators."""
    if wanted.accumulator:
        return ""
    if isinstance(writer, Tma):
        return "tma"
    if isinstance(writer, Threads) and writer.asynchronous:
        return "cg" if writer.past_l1 else "ca"
    return "ld"


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


def _live(wanted: Wanted) -> float:
    """Bytes of the lines, of one block, that a tile takes in part."""
    found = 0
    for tensor in (None if wanted.accumulator else wanted.src, wanted.dst):
        fast = None if tensor is None else fast_mode(tensor)
        if tensor is not None and fast is not None and wanted.tile[fast] * tensor.element_bytes % LINE_BYTES:
            found += wanted.tile[1 - fast] * LINE_BYTES
    return float(found)


def _rows(tensor: Memref | None, wanted: Wanted) -> int:
    """Runs of a tile of a tensor, 0 of none; twice where their ends cut pairs of sectors, which L2 keeps."""
    fast = None if tensor is None else fast_mode(tensor)
    if tensor is None or fast is None:
        return 0
    cut = wanted.tile[fast] * tensor.element_bytes % (2 * SECTOR_BYTES) != 0
    return wanted.tile[1 - fast] * (2 if cut else 1)


def _held(writer: Move, wanted: Wanted) -> float:
    """Bytes of the lines that the loads of a tile hold."""
    if isinstance(writer, Threads):
        outer, deal, mode = writer.outer, writer.deal, writer.deal.fast
    elif isinstance(writer, Direct):
        (outer, mode), deal = writer.sides[0], writer.deal
    else:
        return 0.0
    assert outer is not None
    return (
        _lines(outer, deal.accesses(mode)[:8], deal.width(mode))
        * math.prod(wanted.tile)
        * outer.tile.element_bytes
    )


def _lines(outer: Global, index: np.ndarray, elements: int) -> float:
    """How many bytes of lines an access holds for each byte of the sectors that it takes."""
    at = outer.addresses(index)
    width = elements * outer.tile.element_bytes
    sectors = lines = 0
    for row in at:
        known = row[row >= 0]
        taken = np.unique(np.concatenate([known // SECTOR_BYTES, (known + width - 1) // SECTOR_BYTES]))
        sectors += len(taken)
        lines += len(np.unique(taken // (LINE_BYTES // SECTOR_BYTES)))
    return lines * LINE_BYTES / (sectors * SECTOR_BYTES)


def pipes(asked: Demand, machine: Constants = H200) -> dict[str, float]:
    """The cycles that each is busy."""
    run = {"tma": machine.run_tma, "cg": machine.run_cg, "ca": machine.run_ca, "ld": machine.run_ld, "": 0.0}
    each_run = machine.run_ld if asked.way in ("cg", "ca") and asked.waited_for else run[asked.way]
    beyond = asked.live_bytes / (machine.kept_tma if asked.way == "tma" else machine.kept) - 1
    read = asked.read_bytes * (1 + machine.again * max(0.0, beyond)) + each_run * asked.read_runs
    crowd = max(0.0, asked.streams / machine.pages - 1)
    written = (asked.written_bytes + machine.run_write * asked.write_runs) * (1 + machine.crowd * crowd)
    waited = 0.0 if asked.way == "" else machine.latency / asked.ahead
    waited += machine.barrier * asked.barriers + machine.step * asked.instructions / asked.warps
    waited += machine.stored * asked.engine_stores
    held = machine.held_async if asked.way == "ca" else machine.held
    return {
        "issue": machine.issue * asked.instructions,
        "data": machine.cached * asked.cached + machine.data * asked.data,
        "fill": asked.sectors * SECTOR_BYTES / FILL_BYTES_PER_CYCLE,
        "engine": machine.row * asked.engine + machine.box * asked.boxes,
        "memory": machine.read * read + machine.write * written + machine.mixed * min(read, written),
        "chain": waited / asked.blocks,
        "lines": held * asked.held_bytes / asked.l1_bytes,
    }


def pace(asked: Demand, machine: Constants = H200) -> tuple[float, str]:
    """Cycles of an SM a tile, and the pipe that is busiest."""
    each = pipes(asked, machine)
    most = max(each.values())
    cycles = most * sum((one / most) ** machine.overlap for one in each.values()) ** (1 / machine.overlap)
    return cycles, max(each, key=lambda name: each[name])
