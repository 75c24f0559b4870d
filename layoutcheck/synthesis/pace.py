"""The pace of a plan: cycles an SM takes for a tile while blocks run their loops, and what bounds it.

`machine.cost` counts what one tile asks of the pipes. A kernel's pace has more in it, which this adds:

    issue      warp instructions of the loop, addresses and predicates among them
    chain      a block waits for its tile (in rounds, where its registers hold a part of its loads), for
               its barriers and for its own instructions, as long as its slowest warp
               takes by itself, or, where it loads nothing, until its stores have left its
               registers; what waits is hidden by the tiles ahead (stages) and by the
               other blocks of the SM, which registers, shared memory and threads bound
    lines      a load through L1 (ld.global, cp.async of less than 16 bytes) holds a line of L1 until its data
               is there; what shared memory leaves of L1 bounds the bytes in flight. A line of which a load
               takes a part is held whole, and longer where memory is busy with what blocks write
    engine     the copy engine: rows of boxes
    memory     bytes at the bandwidth; what is read and written at once costs more than either alone. A line
               that a run of adjacent sectors takes in part costs more than it has, most where a block waits
               for it before it asks for the rest. Such lines wait in L2 for the next tile: where all do
               not fit, they come again. Where the rest is that of a block that starts at the same time,
               L2 loses the more of them the more there are. What is written takes a quarter longer where
               a tile's runs take pairs of lines in part; a part of that, where one instruction does not
               fill a pair; and half as long again where it fills no pair of sectors. Where nothing is read,
               L2 loses none of those that the block beside writes; but the longer a block takes to come
               to its next tile, the longer does a pair that both take in part. What registers do not
               hold is written to L2, and where all blocks' together do not fit there, to memory and back

The busy times add up as in `machine.cost`; where nothing is read, the busiest nearly hides the others. What
waits beside them nearly hides them, or is hidden. The constants are an H200's, fitted to plans that ran there
(benchmarks/synthesis_fit.py, docs/evidence/synthesis_pace.json): seeds that were held out say how far to
trust them. L1 and bytes in flight: docs/evidence/in_flight.json.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from layoutcheck.machine.arch import SECTOR_BYTES
from layoutcheck.machine.cost import FILL_BYTES_PER_CYCLE, SMS
from layoutcheck.synthesis.demand import Demand


@dataclass(frozen=True)
class Constants:
    """Of the machine; cycles at 1.98 GHz.

    `issue` a warp instruction; `latency` of memory, `later` the share of it that each further round of
    loads waits; `barrier` of a block; `held` a line of L1 by a load, `behind` times as long behind what is
    written; `read`, `write` a byte, `mixed` a byte of both more; bytes that a line costs more of which a run
    takes a part (`part`, `part_waited`); `cut` of a written byte more, where a run takes a pair of lines in
    part, `apart` where an instruction does (`near` where nothing is read), `bulk` where a row of a box does,
    `split` of one that an instruction takes pairs of sectors in part of; where nothing is read, `met` of one
    in a pair that runs take in part, where all these fill `kept`, and `late` of one in a pair that a block's
    next tile takes a part of, for each cycle until then; `spilled` of one that stays in L2; `lost` bytes of
    each line in part where they fill `kept`, and its rest is that of a block beside; `meet` rows asked for at
    once, beyond which the parts of a line are fetched apart though copies run ahead; `kept`, `kept_tma`
    bytes of partial lines that L2 holds, `again` how often those beyond come anew; `pages` runs that all
    blocks write at once, beyond which each costs `crowd` of them more; `row` of a box, `thin` one of half a
    sector, which L2 gives whole; `stored` until the engine has read a tile; `overlap` (`written_only` where
    nothing is read), `hidden` the exponents of what is busy and of what waits.
    """

    issue: float = 0.276
    latency: float = 1260.0
    later: float = 0.7
    barrier: float = 60.0
    held: float = 978.0
    held_async: float = 1150.0
    behind: float = 1.9
    read: float = 0.0555
    write: float = 0.0552
    mixed: float = 0.02
    part: float = 9.99
    part_waited: float = 43.4
    cut: float = 0.25
    apart: float = 0.092
    bulk: float = 0.1
    split: float = 0.46
    near: float = 0.032
    late: float = 5.1e-4
    met: float = 0.139
    spilled: float = 0.33
    lost: float = 37.0
    meet: float = 250e3
    kept: float = 50.4e6
    kept_tma: float = 34.6e6
    again: float = 3.63
    pages: float = 81e3
    crowd: float = 0.2
    cached: float = 0.994
    data: float = 0.687
    row: float = 0.777
    thin: float = 1.18
    stored: float = 300.0
    overlap: float = 2.5
    written_only: float = 7.0
    hidden: float = 2.9


H200 = Constants()


def pipes(asked: Demand, machine: Constants = H200) -> dict[str, float]:
    """The cycles that each is busy, and `chain` those that a block waits."""
    waited = machine.barrier * asked.barriers + asked.own + machine.stored * asked.engine_stores
    memory = _memory(asked, waited, machine)
    if asked.way:
        waited += machine.latency * (1 + machine.later * (asked.rounds - 1)) / asked.ahead
    held = machine.held_async if asked.way == "ca" else machine.held
    held *= machine.behind if asked.written_bytes else 1.0
    return {
        "issue": machine.issue * asked.instructions,
        "data": machine.cached * asked.cached + machine.data * asked.data,
        "fill": asked.sectors * SECTOR_BYTES / FILL_BYTES_PER_CYCLE,
        "engine": (machine.thin if asked.thin else machine.row) * asked.engine,
        "memory": memory,
        "chain": waited / asked.blocks,
        "lines": held * asked.held_bytes / asked.l1_bytes,
    }


def _memory(asked: Demand, waited: float, machine: Constants) -> float:
    """Cycles of the memory bandwidth, for a block that waits so long between its tiles."""
    live = asked.live_bytes / machine.kept
    read, written = float(asked.read_bytes), asked.written_bytes * (1 + _shares(asked, waited, machine))
    if not asked.divided:
        waits = asked.way != "tma" and (asked.waited_for or asked.asked_rows > machine.meet)
        part = machine.part_waited if waits else machine.part
        beyond = asked.live_bytes / (machine.kept_tma if asked.way == "tma" else machine.kept) - 1
        read = read * (1 + machine.again * max(0.0, beyond)) + part * asked.read_parts
        written *= 1 + machine.crowd * max(0.0, asked.streams / machine.pages - 1)
    elif asked.way:
        read += machine.lost * live * asked.read_parts
        written += machine.lost * live * asked.write_parts
    beyond = max(0.0, 1 - machine.kept / max(1.0, asked.spilled_bytes * asked.blocks * SMS))
    read += asked.spilled_bytes * beyond
    written += asked.spilled_bytes * max(machine.spilled, beyond)
    return machine.read * read + machine.write * written + machine.mixed * min(read, written)


def _shares(asked: Demand, waited: float, machine: Constants) -> float:
    """What pairs of lines, and of sectors, that are written in parts add, as a share of the written bytes."""
    shares = machine.split * asked.write_split
    if not asked.divided:
        shares += machine.cut * asked.write_cut
    elif not asked.way:
        live = asked.live_bytes / machine.kept
        shares += machine.met * live * asked.write_cut + machine.late * waited * asked.write_late
    if asked.engine_stores:
        return shares + machine.bulk * asked.write_apart
    apart = machine.apart if not asked.divided else 0.0 if asked.way else machine.near
    return shares + apart * asked.write_apart


def pace(asked: Demand, machine: Constants = H200) -> tuple[float, str]:
    """Cycles of an SM a tile, and the pipe that is busiest."""
    each = pipes(asked, machine)
    overlap = machine.overlap if asked.way else machine.written_only
    busy = _added((cycles for name, cycles in each.items() if name != "chain"), overlap)
    return _added((busy, each["chain"]), machine.hidden), max(each, key=lambda name: each[name])


def _added(each: Iterable[float], exponent: float) -> float:
    return float(sum(one**exponent for one in each) ** (1 / exponent))
