"""The pace of a plan: cycles an SM takes for a tile while blocks run their loops, and what bounds it.

`machine.cost` counts what one tile asks of the pipes. A kernel's pace has more in it. Each mechanism is a
class here: what happens, its constants, and the cycles or bytes that it adds to what a plan asks (`Demand`).
`pipes` has the cycles of all, `pace` puts them together.

If a docstring names no other source, the constants are an H200's (cycles at 1.98 GHz), fitted together to the
times of plans that ran there (benchmarks/synthesis_fit.py, docs/evidence/synthesis_pace.json): seeds that
were held out say how far to trust them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from layoutcheck.machine.arch import SECTOR_BYTES
from layoutcheck.machine.cost import FILL_BYTES_PER_CYCLE, SMS
from layoutcheck.synthesis.demand import Demand


@dataclass(frozen=True)
class Pipes:
    """What is busy on an SM.

    Cycles: `issue` a warp instruction, addresses and predicates among them; `data` a wavefront, `cached` one
    of `cp.async` through L1; `row` of a box in the copy engine, `thin` one of half a sector, which L2 gives
    whole.
    """

    issue: float = 0.276
    data: float = 0.687
    cached: float = 0.994
    row: float = 0.777
    thin: float = 1.18

    def cycles(self, asked: Demand) -> dict[str, float]:
        """Of each pipe, by its name."""
        return {
            "issue": self.issue * asked.instructions,
            "data": self.cached * asked.cached + self.data * asked.data,
            "fill": asked.sectors * SECTOR_BYTES / FILL_BYTES_PER_CYCLE,
            "engine": (self.thin if asked.thin else self.row) * asked.engine,
        }


@dataclass(frozen=True)
class Waits:
    """A block waits for its tile, for its barriers, and for its own instructions.

    The last take as long as its slowest warp takes by itself. Tiles ahead (stages) hide the first, other
    blocks of the SM all.

    Cycles: `latency` of memory, `writing` times as long where blocks write, too; `later` the share of it that
    each further round of loads waits, where registers hold a part of a thread's loads; `barrier` of a block;
    `stored` until the engine has read a tile.
    """

    latency: float = 1260.0
    writing: float = 1.4
    later: float = 0.7
    barrier: float = 60.0
    stored: float = 300.0

    def own(self, asked: Demand) -> float:
        """From a block's tile to its next, if memory answers at once."""
        return self.barrier * asked.barriers + asked.own + self.stored * asked.engine_stores

    def cycles(self, asked: Demand) -> float:
        """That an SM waits for a tile of one of its blocks."""
        if not asked.way:
            return self.own(asked) / asked.blocks
        latency = self.latency * (self.writing if asked.written_bytes else 1.0)
        loads = latency * (1 + self.later * (asked.rounds - 1)) / asked.ahead
        return (self.own(asked) + loads) / asked.blocks


@dataclass(frozen=True)
class Held:
    """A load through L1 holds a line until its data is there, also one of which it takes a part.

    What shared memory leaves of L1 bounds the bytes in flight (docs/evidence/in_flight.json).

    Cycles of a line: `held` by ld.global, `held_async` by cp.async of less than 16 bytes; `behind` times as
    long where memory is busy with what blocks write.
    """

    held: float = 978.0
    held_async: float = 1000.0
    behind: float = 1.9

    def cycles(self, asked: Demand) -> float:
        """Until L1 has room for the next tile's loads."""
        each = self.held_async if asked.way == "ca" else self.held
        return each * (self.behind if asked.written_bytes else 1.0) * asked.held_bytes / asked.l1_bytes


@dataclass(frozen=True)
class Parts:
    """Lines of which a run takes a part: bytes that they cost more than they have.

    Half a line that is brought alone takes memory nearly as long as a whole one; no byte comes twice (ncu).
    Where the block itself comes for the rest, with its next tile: `part` such a half, `part_waited` if the
    block has it before it asks for the rest, or if an SM asks for more than `meet` of them at once. The
    engine brings whole lines. L2 holds `kept` bytes of them (`kept_tma` of the engine's): those beyond come
    `again` so often. Where a block beside comes for the rest, and starts at the same time: `lost` a line
    where they fill `kept`, on both sides. Where nothing is read, L2 loses none. `several` a line that loads
    of several instructions bring, where blocks write, too.
    """

    part: float = 9.99
    part_waited: float = 48.0
    meet: float = 1900.0
    kept: float = 50.4e6
    kept_tma: float = 34.6e6
    again: float = 3.63
    lost: float = 37.0
    several: float = 30.0

    def filled(self, asked: Demand) -> float:
        """The share of what L2 holds that all blocks' lines in part take."""
        return asked.live_bytes / self.kept

    def read(self, asked: Demand) -> float:
        """Bytes that are read more."""
        pieces = self.several * asked.read_pieces if asked.written_bytes else 0.0
        if asked.beside:
            return pieces + (self.lost * self.filled(asked) * asked.read_parts if asked.way else 0.0)
        bulk = asked.way == "tma"
        waits = not bulk and (asked.waited_for or asked.asked_parts > self.meet)
        beyond = max(0.0, asked.live_bytes / (self.kept_tma if bulk else self.kept) - 1)
        each = self.part_waited if waits else self.part
        return pieces + self.again * beyond * asked.read_bytes + each * asked.read_parts

    def written(self, asked: Demand) -> float:
        """Bytes that are written more."""
        beside = asked.divided and asked.way
        return self.lost * self.filled(asked) * asked.write_parts if beside else 0.0


@dataclass(frozen=True)
class Pairs:
    """Memory takes pairs of lines, at least pairs of sectors. One that is written in parts costs more.

    Shares of a written byte: `cut` of pairs that a tile's runs take in part, unless the block beside writes
    the rest at the same time; then, where nothing is read, `met` if all these fill what L2 holds, and `late`
    for each cycle until the block comes to its next tile, if that has the rest. `split` of pairs of sectors
    that one instruction does not fill. Of pairs of lines that it does not fill `apart`, unless the block
    beside writes, too; `bulk` that a row of a box does not fill.
    """

    cut: float = 0.25
    met: float = 0.139
    late: float = 5.1e-4
    split: float = 0.46
    apart: float = 0.092
    bulk: float = 0.1

    def share(self, asked: Demand, filled: float, own: float) -> float:
        """Of the written bytes, where lines in part have `filled` L2, and a block takes its `own` cycles."""
        ends = 0.0
        if not asked.divided:
            ends = self.cut * asked.write_cut
        elif not asked.way:
            ends = self.met * filled * asked.write_cut + self.late * own * asked.write_late
        apart = 0.0 if asked.divided else self.apart
        inside = (self.bulk if asked.engine_stores else apart) * asked.write_apart
        return ends + inside + self.split * asked.write_split


@dataclass(frozen=True)
class Spills:
    """What registers do not hold is written to L2: `spilled` of its bytes cost as to memory.

    Where all blocks' do not fit there, it goes to memory and back.
    """

    spilled: float = 0.33

    def bytes(self, asked: Demand, kept: float) -> tuple[float, float]:
        """Read and written."""
        beyond = max(0.0, 1 - kept / max(1.0, asked.spilled_bytes * asked.blocks * SMS))
        return asked.spilled_bytes * beyond, asked.spilled_bytes * max(self.spilled, beyond)


@dataclass(frozen=True)
class Memory:
    """Cycles of a byte: `read`, `write`; `mixed` more of each that is written while another is read."""

    read: float = 0.0555
    write: float = 0.0552
    mixed: float = 0.02

    def cycles(self, read: float, written: float) -> float:
        """Of so many bytes."""
        return self.read * read + self.write * written + self.mixed * min(read, written)


@dataclass(frozen=True)
class Together:
    """How busy times add up: exponents.

    `overlap` of what is busy, as in `machine.cost` (`written_only` where nothing is read: the busiest nearly
    hides the others); `hidden` of that and of what waits beside it.
    """

    overlap: float = 2.5
    written_only: float = 7.0
    hidden: float = 2.9


@dataclass(frozen=True)
class Machine:
    """All mechanisms."""

    pipes: Pipes = Pipes()
    waits: Waits = Waits()
    held: Held = Held()
    parts: Parts = Parts()
    pairs: Pairs = Pairs()
    spills: Spills = Spills()
    memory: Memory = Memory()
    together: Together = Together()

    def traffic(self, asked: Demand) -> float:
        """Cycles of the memory bandwidth."""
        pairs = self.pairs.share(asked, self.parts.filled(asked), self.waits.own(asked))
        written = asked.written_bytes * (1 + pairs) + self.parts.written(asked)
        back, out = self.spills.bytes(asked, self.parts.kept)
        return self.memory.cycles(asked.read_bytes + self.parts.read(asked) + back, written + out)


H200 = Machine()


def pipes(asked: Demand, machine: Machine = H200) -> dict[str, float]:
    """The cycles that each is busy, and `chain` those that a block waits."""
    return machine.pipes.cycles(asked) | {
        "memory": machine.traffic(asked),
        "chain": machine.waits.cycles(asked),
        "lines": machine.held.cycles(asked),
    }


def pace(asked: Demand, machine: Machine = H200) -> tuple[float, str]:
    """Cycles of an SM a tile, and the pipe that is busiest."""
    each = pipes(asked, machine)
    overlap = machine.together.overlap if asked.way else machine.together.written_only
    busy = _added((cycles for name, cycles in each.items() if name != "chain"), overlap)
    return _added((busy, each["chain"]), machine.together.hidden), max(each, key=lambda name: each[name])


def _added(each: Iterable[float], exponent: float) -> float:
    return float(sum(one**exponent for one in each) ** (1 / exponent))
