"""Tensor cores: wgmma and tcgen05, what they read and write, and what says that they are done.

PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions"; "TensorCore 5th Generation Family Instructions"
(Tensor Memory; Instruction descriptor; Memory Consistency Model: pipelined instructions). Operands in shared
memory are those of their descriptors (`footprint`). tcgen05 operations of one warp execute in order.

Of tensor memory 16 lanes of one column are a cell. `tcgen05.st` is complete at its warp's `tcgen05.wait::st`,
`tcgen05.ld` at `tcgen05.wait::ld`, or where what it brings is stored (`loads`). Arriving before that is a
note: ptxas may put a use first, which waits. So is a load of what its own warp has stored without that wait:
both are asynchronous, and no pipelined pair. `tcgen05.fence` orders no more than an arrival does here. Where
a rectangle is not certain, the smaller one is taken. Kernels that allocate tensor memory more than once are
not followed in it: the addresses are not known.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered.values import unsigned
from layoutcheck.machine.canonical.footprint import UNIT, operand
from layoutcheck.order.clashes import report
from layoutcheck.order.clocks import HAPPENED, Clock
from layoutcheck.order.inline_mma import Descriptor, Multiplication, Sum
from layoutcheck.order.mbarriers import Mbarriers
from layoutcheck.order.registers import Registers
from layoutcheck.order.replay import Warp, World
from layoutcheck.order.shadow import Access, Cells, Shadow
from layoutcheck.order.waiting import Groups
from layoutcheck.order.watched import Event

LANES, COLUMNS, EACH = 128, 512, 16  # of tensor memory; lanes in a cell
_HIGH = LANES // EACH  # cells of a column
_ELEMENT_BYTES = {"f16": 2, "tf32": 4}  # of A and B by the kind of MMA; 1 for all others
_K_COLUMNS = 8  # of A in tensor memory: 32 bytes of each row
_EVER = np.iinfo(np.int32).max


class TensorCores:
    """Groups of wgmma by warp, steps of tcgen05 by warp, and a shadow of tensor memory."""

    def __init__(self, world: World, mbarriers: Mbarriers, registers: Registers) -> None:
        self.world, self.mbarriers, self.registers = world, mbarriers, registers
        self.mma: dict[int, Groups] = {}
        self.tensor: dict[int, Groups] = {}
        self.moves: dict[tuple[int, str], Groups] = {}  # tcgen05.ld and .st, by warp
        self.footprints: dict[Any, Any] = {}
        self.cells = LANES // EACH * COLUMNS
        stores = [world.clocks.tensor_stores(warp) for warp in (0, len(world.warps))]
        self.memory = Shadow(self.cells * len(world.blocks), HAPPENED, None, range(*stores))
        self.loading = Shadow(self.cells * len(world.blocks), HAPPENED, None)  # tcgen05.ld under way
        allocations = {e.meaning.op for e in world.events if e.meaning.facts.get("constant") == "tmem"}
        self.followed = len(allocations) == 1

    def handlers(self) -> dict[str, Any]:
        """By kind of event."""
        return {
            "wgmma": self.multiply, "wgmma_fence": self.fence, "wgmma_commit": self.commit,
            "wgmma_wait": self.wait, "tc_mma": self.tensor_multiply, "tc_copy": self.tensor_copy,
            "tc_commit": self.tensor_commit, "tmem_read": self.access, "tmem_write": self.access,
            "tmem_free": self.free, "tmem_wait": self.moved,
        }  # fmt: skip

    def multiply(self, warp: Warp, index: int, event: Event, _lanes: int) -> bool:
        """wgmma: reads A and B by the asynchronous proxy, each warp 16 of the 64 rows of A and all of B."""
        groups = self.mma.setdefault(warp.number, Groups())
        groups.pending = True
        self.registers.multiply(warp, index, groups.step)
        facts, quarter = event.meaning.facts, warp.first // 32 % 4
        descriptors = [_u64(event.number_of(i, warp.first)) for i in range(len(event.values))]
        component = self.world.clocks.wgmma(warp.number)
        if len(descriptors) > 1:
            rows = range(16 * quarter, 16 * quarter + 16)
            units = self._units(warp.block, descriptors[0], rows, facts["majors"][0])
            self._read(warp, index, units, component, groups.step)
        units = self._units(warp.block, descriptors[-1], range(int(facts["n"])), facts["majors"][-1])
        self._read(warp, index, units, component, groups.step)
        return True

    def _units(self, block: int, descriptor: int, rows: range, major: str, **more: Any) -> Cells:
        """The cells that an operand in a block lies in."""
        key = (block, descriptor, rows, major, *more.values())
        found = self.footprints.get(key)
        if found is None:
            world = self.world
            units = np.unique(operand(descriptor, rows, major, **more))
            units = units[(units >= 0) & (units + UNIT <= world.span)]
            each = max(1, UNIT // world.cell)
            at = (units[:, None] // world.cell + np.arange(each, dtype=np.int64)[None, :]).ravel()
            at += block * (world.span // world.cell)
            whole = at.size > 0 and int(at[-1] - at[0]) + 1 == at.size  # they are in order, each once
            found = Cells(range(int(at[0]), int(at[-1]) + 1) if whole else at)
            self.footprints[key] = found
        return found

    def _read(self, warp: Warp, index: int, cells: Cells, component: int, step: int) -> None:
        world = self.world
        access = Access(cells, index << 10 | warp.first, component, step, True)
        report(world, world.shared.read(access, world.clocks.known[warp.number]))

    def fence(self, warp: Warp, _index: int, _event: Event, _lanes: int) -> bool:
        """wgmma.fence: of registers."""
        self.registers.fence(warp)
        return True

    def commit(self, warp: Warp, _index: int, _event: Event, _lanes: int) -> bool:
        """wgmma.commit_group."""
        self.mma.setdefault(warp.number, Groups()).commit()
        return True

    def wait(self, warp: Warp, _index: int, event: Event, _lanes: int) -> bool:
        """wgmma.wait_group: the warpgroup's operands have been read."""
        groups = self.mma.setdefault(warp.number, Groups())
        clocks = self.world.clocks
        needed = len(groups.closed) - event.meaning.count
        first = warp.number - warp.first // 32 % 4
        for other in self.world.warps[first : first + 4]:  # the warpgroup executes each wgmma together
            done = len(self.mma[other.number].closed) if other.number in self.mma else 0
            if other.block == warp.block and done < needed and not other.exited:
                return False
        clocks.learn_step(warp.number, clocks.wgmma(warp.number), groups.done(event.meaning.count))
        return True

    def tensor_multiply(self, warp: Warp, index: int, event: Event, lanes: int) -> bool:
        """tcgen05.mma: reads A and B, writes D; with `.cta_group::2` in both blocks of a pair."""
        facts = event.meaning.facts
        # A wait between products: taken to stand before them, since nobody waits for these.
        if "bar" in facts:
            operands = int(facts["bar"]), int(facts["parity"])
            if not self.mbarriers.wait(warp, index, event, lanes, operands):
                return False
        for one in event.meaning.made:
            self._multiply(warp, index, *_numbers(one, event, warp.first))
        if "d" in facts:
            numbers = [_u64(event.number_of(i, warp.first)) for i in range(4)]
            self._multiply(warp, index, facts["pair"] == "yes", facts["kind"], bool(facts["a"]), numbers)
        elif not event.meaning.made:
            self.world.skip("operands of tcgen05.mma with sparse matrices, .ws or in inline PTX")
        return True

    def _multiply(
        self, warp: Warp, index: int, pair: bool, kind: str, a_in_tensor: bool, numbers: list[int]
    ) -> None:
        """One MMA: `numbers` are D, A, B and the instruction descriptor."""
        d, a, b, words = numbers
        m, n = (words >> 24 & 31) << 4, (words >> 17 & 63) << 3
        step = self.tensor.setdefault(warp.number, Groups()).step
        component = self.world.clocks.tcgen05(warp.number)
        size = _ELEMENT_BYTES.get(kind, 1)
        of = [(b, n // (1 + pair), words >> 16 & 1)]
        if not a_in_tensor:
            of.append((a, m // (1 + pair), words >> 15 & 1))
        for block in self._blocks(warp, pair):
            for descriptor, rows, transposed in of:
                major = "m" if transposed else "k"
                units = self._units(block, descriptor, range(rows), major, size=size, tcgen05=True)
                self._read(warp, index, units, component, step)
            if a_in_tensor:
                self._tensor(warp, index, block, _rectangle(a, m, _K_COLUMNS, pair), False, component, step)
            at = _rectangle(d, m, _wide(m, n, words, kind, pair), pair)
            self._tensor(warp, index, block, at, True, component, step)

    def _blocks(self, warp: Warp, pair: bool) -> list[int]:
        """The blocks whose memory an instruction of a warp reaches."""
        world = self.world
        peer = world.ranks.get(world.blocks[warp.block].launch.rank ^ 1) if pair else None
        return [warp.block] if peer is None else [warp.block, peer]

    def tensor_copy(self, warp: Warp, index: int, event: Event, _lanes: int) -> bool:
        """tcgen05.cp: reads shared memory, row after row of 16 bytes; what it writes is not looked at."""
        facts = event.meaning.facts
        if not facts.get("rows"):
            self.world.skip("sources of tcgen05.cp in shared memory")
            return True
        step = self.tensor.setdefault(warp.number, Groups()).step
        component = self.world.clocks.tcgen05(warp.number)
        descriptor = _u64(event.number_of(0, warp.first))
        rows = range(int(facts["rows"]))
        for block in self._blocks(warp, facts["pair"] == "yes"):
            units = self._units(block, descriptor, rows, "k", k_bytes=UNIT, tcgen05=True)
            self._read(warp, index, units, component, step)
        return True

    def access(self, warp: Warp, index: int, event: Event, _lanes: int) -> bool:
        """tcgen05.ld, tcgen05.st: a warp accesses its quarter of the lanes."""
        address = event.number_of(0, warp.first)
        rows, columns = event.meaning.size, event.meaning.count
        quarter = warp.first // 32 % 4 * 32
        cells = _cells((quarter + (address >> 16 & 31),), rows, address & 0xFFFF, columns)
        clocks, kind = self.world.clocks, event.meaning.kind
        step = self.moves.setdefault((warp.number, kind), Groups()).cut()
        if kind == "tmem_write":
            self._tensor(warp, index, warp.block, cells, True, clocks.tensor_stores(warp.number), step)
            return True
        self._tensor(warp, index, warp.block, cells, False, warp.number, clocks.now(warp.number))
        self.registers.load(warp, index, step)
        if self.followed:
            found = cells.moved(warp.block * self.cells)
            under_way = Access(found, index << 10 | warp.first, clocks.tensor_loads(warp.number), step, False)
            list(self.loading.read(under_way, clocks.known[warp.number]))
        return True

    def moved(self, warp: Warp, _index: int, event: Event, lanes: int) -> bool:
        """tcgen05.wait: what each lane has stored is there, or what the warp has loaded."""
        clocks, kind = self.world.clocks, "tmem_read" if event.meaning.count else "tmem_write"
        done = self.moves.setdefault((warp.number, kind), Groups()).step - 1
        agent = clocks.tensor_loads if kind == "tmem_read" else clocks.tensor_stores
        if kind == "tmem_write":
            self.world.loose[warp.number] = lanes | self.world.loose.get(warp.number, 0)
        clocks.learn_step(warp.number, agent(warp.number), done, by_lane=kind == "tmem_write")
        return True

    def free(self, warp: Warp, index: int, event: Event, _lanes: int) -> bool:
        """tcgen05.dealloc: another block may take the columns, so it counts as a write of all of them."""
        step = self.world.clocks.now(warp.number)
        for block in self._blocks(warp, event.meaning.facts["pair"] == "yes"):
            self._tensor(warp, index, block, Cells(range(self.cells)), True, warp.number, step)
        return True

    def _tensor(
        self, warp: Warp, index: int, block: int, cells: Cells, write: bool, component: int, step: int
    ) -> None:
        """An access of tensor memory: what the same agent did before is over, and a warp's own tcgen05.st."""
        if not self.followed or not cells.size:
            return
        clocks = self.world.clocks
        clock: Clock = clocks.known[warp.number].copy()
        mine = [warp.number, clocks.tensor_stores(warp.number), clocks.tensor_loads(warp.number)]
        clock[:, mine if component in mine else component] = _EVER
        access = Access(cells.moved(block * self.cells), index << 10 | warp.first, component, step, False)
        found = list((self.memory.write if write else self.memory.read)(access, clock))
        report(self.world, iter(found), memory="tensor")
        if not write and component == warp.number:
            clock[:] = _EVER
            stores = clocks.tensor_stores(warp.number)
            clock[:, stores] = clocks.known[warp.number, :, stores]
            own = self.memory.after_write(access, clock)
            report(self.world, own, memory="tensor", kind="store-before-wait")
        if write and not found:
            under_way = self.loading.write(access._replace(step=0), clock)
            report(self.world, under_way, memory="tensor", kind="load-in-flight")

    def tensor_commit(self, warp: Warp, index: int, event: Event, lanes: int) -> bool:
        """tcgen05.commit: an arrival when all tcgen05 work of the thread is done."""
        clocks, ranks = self.world.clocks, self.world.ranks
        groups = self.tensor.setdefault(warp.number, Groups())
        clock = clocks.snapshot(warp.number)
        clock[:, clocks.tcgen05(warp.number)] = groups.cut()
        for place, group in self.mbarriers.places(warp, event, lanes):
            targets = [place]
            if event.meaning.facts.get("multicast"):
                mask = event.number_of(1, warp.first + group[0]) & 0xFFFF
                targets = [(ranks[r], place[1]) for r in range(16) if mask >> r & 1 and r in ranks]
            for target in targets:
                party = self.world.party(warp, index, group[0], target[1], 8)
                barrier = self.mbarriers.find(target, warp, party)
                if barrier is not None:
                    if target[0] != warp.block:
                        barrier.far = (barrier.phase, warp.number, clocks.now(warp.number), party)
                    self.mbarriers.come(barrier, clock, len(group), party)
        return True


def reached_by(event: Event, thread: int) -> int:
    """The column behind the last that a thread's access of tensor memory reaches; 0 where it is not known."""
    if event.meaning.kind != "tc_mma":
        return (event.number_of(0, thread) & 0xFFFF) + event.meaning.count
    found = 0
    facts = event.meaning.facts
    of = [_numbers(one, event, thread) for one in event.meaning.made]
    if "d" in facts:
        numbers = [_u64(event.number_of(i, thread)) for i in range(4)]
        of.append((facts["pair"] == "yes", facts["kind"], bool(facts["a"]), numbers))
    for pair, kind, a_in_tensor, (d, a, _, words) in of:
        m, n = (words >> 24 & 31) << 4, (words >> 17 & 63) << 3
        found = max(found, (d & 0xFFFF) + _wide(m, n, words, kind, pair))
        if a_in_tensor:
            found = max(found, (a & 0xFFFF) + _K_COLUMNS)
    return found


def _wide(m: int, n: int, words: int, kind: str, pair: bool) -> int:
    """The columns of an MMA's D in one block."""
    wide = n // 2 if pair and m == LANES else n
    halves = kind in ("f16", "f8f6f4") and not words >> 4 & 3  # D of 16 bits
    return wide // 2 if halves else wide


def _rectangle(address: int, m: int, columns: int, pair: bool) -> Cells:
    """Cells of an MMA's rows in one block: 16 lanes of each quarter where there are 64 rows, else all."""
    column = address & 0xFFFF
    if m // (1 + pair) == 64 and not (pair and m == LANES):
        lane = address >> 16 & 16  # two accumulators of 64 rows may share their columns
        return _cells(tuple(range(lane, LANES, 32)), 16, column, columns)
    return _cells((0,), LANES, column, columns)


@cache
def _cells(first: tuple[int, ...], lanes: int, column: int, columns: int) -> Cells:
    """`lanes` from each of these on, of these columns; a column's cells lie beside one another."""
    low, high = column, column + max(0, min(columns, COLUMNS - column))
    rows = [row for lane in first for row in range(lane // EACH, -(-(lane + lanes) // EACH))]
    if len(rows) == _HIGH:
        return Cells(range(low * _HIGH, high * _HIGH))
    at = np.arange(low, high, dtype=np.int64)[:, None] * _HIGH + np.array(rows, np.int64)
    return Cells(at.ravel())


def _numbers(one: Multiplication, event: Event, thread: int) -> tuple[bool, str, bool, list[int]]:
    """(a pair of blocks?, the kind, is A in tensor memory?, the numbers of its operands)."""

    def value(part: Sum | Descriptor) -> int:
        if isinstance(part, Descriptor):
            return value(part.high) << 32 | value(part.low)
        given = event.number_of(part.operand, thread) if part.operand is not None else 0
        return given + part.constant & 0xFFFFFFFF

    return one.pair, one.kind, isinstance(one.a, Sum), [value(one.d), value(one.a), value(one.b), one.words]


def _u64(value: int) -> int:
    return int(unsigned(value, 64))
