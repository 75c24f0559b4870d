"""What a plan asks of an SM for a tile, and how many blocks share the SM: what `pace` works with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from layoutcheck.copies.memref import Memref
from layoutcheck.machine.arch import LINE_BYTES, SECTOR_BYTES, WARP
from layoutcheck.machine.banks import IntArray
from layoutcheck.machine.cost import SMS, Counts
from layoutcheck.synthesis.compiled import Compiled
from layoutcheck.synthesis.matrix import Matrix
from layoutcheck.synthesis.moves import Direct, Global, Move
from layoutcheck.synthesis.program import each
from layoutcheck.synthesis.search import Found
from layoutcheck.synthesis.shared import Shared
from layoutcheck.synthesis.threads import Threads
from layoutcheck.synthesis.tma import Tma
from layoutcheck.synthesis.wanted import BYTE, Wanted, fast_mode

REGISTERS, MOST_WARPS, MOST_BLOCKS = 65536, 64, 32
"""Of an SM (CUDA programming guide, compute capability 9.0)."""
MOST_REGISTERS = 255.0
"""Of a thread (the same)."""
REGISTER_BYTES = 4
"""Of a register (the same)."""
EACH_CYCLES = 3.0
"""From an instruction of a warp to its next, if it is alone (measured)."""
TOGETHER = 4
"""Loads that a thread waits for at once, of twice as many; each doubling takes a round more (measured)."""
OWN_REGISTERS, LEAST_REGISTERS = 20, 4
"""Those of a thread that hold no loads under way, and those that do at least (measured)."""
L1_BYTES = 256 << 10
"""Of L1 and shared memory together (the same)."""
CARVEOUTS_KB = (0, 8, 16, 32, 64, 100, 132, 164, 196, 228)
"""What shared memory can have of it (the same)."""
PAIR_BYTES, SPLIT_BYTES = 2 * LINE_BYTES, 2 * SECTOR_BYTES
"""What memory takes at once of what is written, at best and at least (docs/evidence/synthesis_pace.json)."""
MOST_PIECES = 64
"""Instructions that stand for all of a tile's."""
BLOCK_BYTES = 1024
"""Of shared memory, which each block has besides its own (the same)."""


class Demand(NamedTuple):
    """What a plan asks of an SM: of one tile, and how many blocks share the SM.

    `instructions` of all warps, `own` the cycles that a warp takes if it is alone and memory answers at once;
    `read_parts`, `write_parts` lines that runs take in part, `live_bytes` those lines of all blocks; of the
    bytes written, `write_cut` is the share in pairs of lines that runs take in part, `write_apart` that of
    others which no one instruction or row of a box fills, `write_split` the same of pairs of sectors,
    `write_late` the share in pairs of which the same block writes a part with its next tile;
    `divided`: the rest of a line in part is that of a block that starts at the same time; `rounds` in which a
    thread loads its part of the tile: those of the compiled program, or what its registers allow;
    `asked_rows` of all blocks that copies under way read at once; `held_bytes` of L1 by loads, whole lines,
    and by `cp.async`, the bytes that it reads;
    `thin`: rows of boxes are half a sector; `spilled_bytes` of registers go to local memory.
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
    streams: float
    asked_rows: float
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


def demand(found: Found, wanted: Wanted, made: Compiled | None = None) -> Demand:
    """Of a plan, with what the compiler made of its program; without, with what it is expected to."""
    shared, moves = found.shared, found.moves
    first, last = moves[0], moves[-1]
    active = max((_active(move, wanted) for move in moves), default=wanted.threads)
    counts = [move.least if shared is None else move.counts(shared) for move in moves]
    bulk = [one for move, one in zip(moves, counts, strict=True) if isinstance(move, Tma)]
    barriers = 0 if shared is None else 2 if wanted.stages == 1 else 1
    code = _code(found, wanted, made, active, barriers)
    staged = 0 if shared is None else shared.size * wanted.stages
    way, total, blocks = way_of(first, wanted), found.counts, resident(code.registers, wanted.threads, staged)
    engine, cached = sum(one.wavefronts for one in bulk), counts[0].wavefronts if way == "ca" else 0
    written = _written(found, counts, wanted)
    read = float(total.distinct_sectors * SECTOR_BYTES - written)
    waits = way in ("ld", "")
    ahead = 1 if waits else max(1, wanted.stages - 1)
    return Demand(
        way=way,
        instructions=code.instructions * -(-active // WARP) + code.alone,
        own=EACH_CYCLES * code.instructions if code.cycles is None else code.cycles,
        data=total.wavefronts - engine - cached,
        cached=cached,
        engine=engine,
        thin=way == "tma" and counts[0].sectors >= 2 * counts[0].distinct_sectors,
        sectors=total.sectors,
        read_bytes=read,
        written_bytes=written,
        read_parts=0.0 if wanted.accumulator else parts(wanted.src, wanted),
        write_parts=0.0 if wanted.dst is None else parts(wanted.dst, wanted),
        **_left(last, shared, wanted),
        live_bytes=blocks * SMS * _live(wanted),
        # Where blocks share a row of tiles, those that start together write side by side: whole runs join.
        streams=0 if wanted.divided else blocks * SMS * _rows(wanted.dst, wanted),
        asked_rows=0.0 if waits else blocks * SMS * ahead * _runs(wanted.src, wanted),
        waited_for=waits or wanted.stages == 1,
        divided=wanted.divided,
        ahead=ahead,
        rounds=_rounds(code, first, active, wanted) if way == "ld" else 1.0,
        barriers=barriers,
        engine_stores=any(isinstance(move, Tma) and not move.read for move in moves),
        blocks=blocks,
        held_bytes=_held(first, wanted) if way == "ld" else read if way == "ca" else 0.0,
        l1_bytes=l1_left(blocks, staged),
        spilled_bytes=(code.spilled + (code.once / each(wanted) if wanted.divided else 0.0)) * active,
    )


def _code(found: Found, wanted: Wanted, made: Compiled | None, active: int, barriers: int) -> Compiled:
    """Registers and instructions of a thread for a tile."""
    if made is None or made.cycles is None:
        guess = expected(found, wanted)
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


def _left(last: Move, shared: Shared | None, wanted: Wanted) -> dict[str, float]:
    """The shares of the written bytes in pairs of lines, or of sectors, that are not written at once."""
    (cut, whole), (sectors_cut, sectors) = (
        [_unfilled(move, shared, wanted, unit) for move in (None, last)] for unit in (PAIR_BYTES, SPLIT_BYTES)
    )
    return {
        "write_cut": cut,
        "write_apart": max(0.0, whole - cut),
        "write_split": max(0.0, sectors - sectors_cut),
        "write_late": _late(wanted),
    }


def _active(move: Move, wanted: Wanted) -> int:
    """Threads that take part."""
    if isinstance(move, Matrix):
        return move.threads
    return move.deal.threads if isinstance(move, (Threads, Direct)) else wanted.threads


def expected(found: Found, wanted: Wanted) -> Compiled:
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
    return Compiled(min(registers, MOST_REGISTERS), instructions)


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


def _rounds(code: Compiled, writer: Move, threads: int, wanted: Wanted) -> float:
    """Those of the program for one tile, or at least so many: ptxas lets few of many loads wait together."""
    if code.rounds is not None:
        return max(1.0, code.rounds)
    words = math.prod(wanted.tile) * wanted.element_bytes / REGISTER_BYTES / threads
    found = words / max(code.registers - OWN_REGISTERS, LEAST_REGISTERS)
    if isinstance(writer, (Threads, Direct)):
        loads = math.prod(writer.deal.tile) / (writer.deal.threads * writer.deal.width(_loaded(writer)[1]))
        found = max(found, math.log2(loads / TOGETHER))
    return max(1.0, found)


def _loaded(writer: Threads | Direct) -> tuple[Global | None, int]:
    """The global tensor that it loads, and along which mode."""
    return writer.sides[0] if isinstance(writer, Direct) else (writer.outer, writer.deal.fast)


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


def parts(tensor: Memref, wanted: Wanted) -> float:
    """Lines that the runs of a tile take in part, on average over tiles side by side.

    A run of one sector counts half: memory gives two, and L2 keeps the other for the next tile.
    """
    fast, unit = fast_mode(tensor), LINE_BYTES
    if fast is None:
        return 0.0
    run = wanted.tile[fast] * tensor.element_bytes
    starts = _starts(run, unit)
    cut = sum((at % unit != 0) + ((at + run) % unit != 0) - _inside(at, run, unit) for at in starts)
    return wanted.tile[1 - fast] * cut / len(starts) * (0.5 if run <= SECTOR_BYTES else 1.0)


def _starts(run: int, unit: int) -> range:
    """Where the runs of tiles side by side begin, until one begins in a unit as the first does."""
    return range(0, math.lcm(run, unit), run)


def _inside(at: int, run: int, unit: int) -> bool:
    """Whether both ends of a run cut the same unit."""
    return at // unit == (at + run) // unit and at % unit != 0


def _unfilled(last: Move | None, shared: Shared | None, wanted: Wanted, unit: int) -> float:
    """The share of the written bytes in units that no one instruction or row of a box fills; None: no run."""
    fast = None if wanted.dst is None else fast_mode(wanted.dst)
    if wanted.dst is None or fast is None:
        return 0.0
    run = wanted.tile[fast] * wanted.dst.element_bytes
    starts = np.array(_starts(run, unit))[:, None]
    first, size = _pieces(last, shared, run)
    whole = np.maximum(0, (starts + first + size) // unit + (-starts - first) // unit) * unit
    return 1 - float(whole.sum() / (len(starts) * size.sum()))


def _late(wanted: Wanted) -> float:
    """The share of the written bytes in pairs of lines within which a block goes on to its next tile."""
    if wanted.dst is None or not wanted.divided or fast_mode(wanted.dst) != 1:
        return 0.0
    run, unit = wanted.tile[1] * wanted.dst.element_bytes, PAIR_BYTES
    row, starts = run * each(wanted), _starts(run * each(wanted), unit)
    ends = ((at, at + end) for at in starts for end in range(run, row, run))
    pairs = {(at, end // unit * unit) for at, end in ends if end % unit}
    return sum(min(at + row, pair + unit) - max(at, pair) for at, pair in pairs) / (len(starts) * row)


def _pieces(last: Move | None, shared: Shared | None, run: int) -> tuple[IntArray, IntArray]:
    """Where what instructions write without a gap begins within a row of the tensor, and how long it is."""
    if isinstance(last, Direct) and len(last.sides) > 1:
        (outer, mode), deal = last.sides[1], last.deal
    elif isinstance(last, Threads) and last.outer is not None and not last.into:
        outer, deal, mode = last.outer, last.deal, last.deal.fast
    else:
        box = run if last is None or shared is None else shared.run * shared.element.bits // BYTE
        return np.arange(0, run, box), np.full(run // box, box)
    stride: Any = outer.tile.layout.stride
    width, pitch = deal.width(mode) * outer.tile.element_bytes, max(stride) * outer.tile.element_bytes
    firsts, sizes = [], []
    for row in outer.addresses(deal.accesses(mode)[:MOST_PIECES]):
        at = np.unique(row[row >= 0])
        begin = np.flatnonzero(np.diff(at, prepend=at[0] - 2 * width) != width)
        firsts.append(at[begin] % pitch)
        sizes.append(np.diff(begin, append=len(at)) * width)
    return np.concatenate(firsts), np.concatenate(sizes)


def _rows(tensor: Memref | None, wanted: Wanted) -> int:
    """Runs of a tile of a tensor; twice where their ends cut pairs of sectors, which L2 keeps."""
    if tensor is None:
        return 0
    cut = wanted.tile[fast_mode(tensor) or 0] * tensor.element_bytes % (2 * SECTOR_BYTES) != 0
    return _runs(tensor, wanted) * (2 if cut else 1)


def _runs(tensor: Memref, wanted: Wanted) -> int:
    """Of a tile of a tensor, 0 where none of its modes is contiguous."""
    fast = fast_mode(tensor)
    return 0 if fast is None else wanted.tile[1 - fast]


def _held(writer: Move, wanted: Wanted) -> float:
    """Bytes of the lines that the loads of a tile hold, by its first accesses."""
    outer, mode = _loaded(writer) if isinstance(writer, (Threads, Direct)) else (None, 0)
    if outer is None or not isinstance(writer, (Threads, Direct)):
        return 0.0
    size, sectors, lines = outer.tile.element_bytes, 0, 0
    for row in outer.addresses(writer.deal.accesses(mode)[:8]):
        ends = row[row >= 0][:, None] + [0, writer.deal.width(mode) * size - 1]
        sectors += len(np.unique(ends // SECTOR_BYTES))
        lines += len(np.unique(ends // LINE_BYTES))
    return lines * LINE_BYTES / (sectors * SECTOR_BYTES) * math.prod(wanted.tile) * size
