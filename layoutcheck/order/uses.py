"""What a kernel does with shared memory, whatever its places there: which write each read finds; its cost.

    shared_uses(module, lowered, problem) -> SharedUses

One cluster of each way that blocks go is followed, as `other_blocks` finds them, or all blocks. The events of
a block (`events`) are gone through in program order. A byte of shared memory is known by what wrote it last:
the number of the event, the thread, and which of its bytes. So two programs whose reads find the same writes,
and which are alike beside that, compute the same, wherever their tiles lie. The order of accesses is taken as
it is: whether anything orders them is judged elsewhere.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import fields

import numpy as np

from layoutcheck.analysis.cost import accesses_cost
from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered import Kernel, argument_types, read, spaces
from layoutcheck.dsl.lowered.blocks import Index, all_of, every_block
from layoutcheck.dsl.lowered.instructions import tma_transfers
from layoutcheck.dsl.lowered.lowered_op import memory_accesses
from layoutcheck.dsl.lowered.totals import line_totals
from layoutcheck.dsl.lowered.values import for_all
from layoutcheck.machine.canonical.footprint import UNIT, operand
from layoutcheck.order import check_module
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.order.events import WatchedKernel, kernels
from layoutcheck.order.meaning import IN_SHARED, READS, WRITES
from layoutcheck.order.never_written import unseen
from layoutcheck.order.other_blocks import LOOKED, SECONDS, Ways, last_cluster
from layoutcheck.order.unread import unread
from layoutcheck.order.watched import BULK_KINDS, Event, Watched, lanes_of
from layoutcheck.sources.mlir import Operation, without_locations
from layoutcheck.sources.shared_uses import LineUse, SharedReport, SharedUses, Unread
from layoutcheck.sources.traced_module import TracedModule

_NOT_FOLLOWED = ("unknown", "st_async", "bulk_peer", "tc_mma", "tc_copy", "tmem_read", "tmem_write")
WAVEFRONTS = "wavefronts of "  # so begins what is counted of them over a launch
JOINED = f"joined {WAVEFRONTS}"  # of the instructions that LLVM makes of them, each once: as LC301
_SPAN = 1 << 18
_MOST_BLOCKS = 64  # that are followed
_THREAD, _EVENT = 20, 30  # bits before those of a byte's place in an access, and of a thread


class _NotFollowed(Exception):
    """Why the accesses of a kernel are not known, in words."""


def check_with_uses(module: TracedModule, lowered: str, problem: str, seconds: float) -> SharedReport:
    """The order of accesses in a module, as `check_module` has it, with its uses of shared memory."""
    found = check_module(module, lowered, problem, seconds)
    told = {one.name: getattr(found, one.name) for one in fields(found)}
    return SharedReport(**told, uses=shared_uses(module, lowered, problem))


def shared_uses(module: TracedModule, lowered: str, problem: str) -> SharedUses:
    """Of all kernels of a lowered module; `problem` says why that is not known. Raises InputError."""
    if problem:
        return SharedUses(problem=problem)
    traced = without_locations(module.text)
    found = read(lowered, traced)
    if found.problem:
        return SharedUses(problem=found.problem)
    lines: Counter[tuple[str, int, str]] = Counter()
    digest = hashlib.sha256()
    size, lost, known = 0, set[Unread](), True
    try:
        for watched in kernels(lowered, argument_types(traced)):
            for uses in _follow(watched, digest):
                size = max(size, uses.watched.shared_bytes)
                pairs = unread(uses.watched, tma_transfers(module.text), uses.places)
                known = known and pairs is not None
                for what, *sites in pairs or ():
                    frames = [frame for site in sites for frame in module.frames(site)[:1]]
                    lost.add(Unread(what, *((frame.file, frame.line) for frame in frames)))
        for kernel in found.kernels:
            lines.update(_totals(kernel, module))
            lines.update(_instructions(kernel, module))
    except _NotFollowed as why:
        return SharedUses(problem=str(why))
    every = tuple(LineUse(*key, count) for key, count in sorted(lines.items()))
    return SharedUses(every, digest.hexdigest(), size, unread=tuple(sorted(lost)) if known else None)


def _totals(kernel: Kernel, module: TracedModule) -> Counter[tuple[str, int, str]]:
    """The wavefronts of each line's instructions in shared memory, over the whole launch."""
    found: Counter[tuple[str, int, str]] = Counter()
    counted = line_totals(kernel, module.arch, module.frames)
    if counted.problem:
        raise _NotFollowed(f"its wavefronts are not counted: {counted.problem}")
    for one in counted.lines:
        if one.ideal_wavefronts:
            found[one.where.file, one.where.line, f"{WAVEFRONTS}{one.op}"] += one.wavefronts
    return found


def _instructions(kernel: Kernel, module: TracedModule) -> Counter[tuple[str, int, str]]:
    """The instructions of each line in shared memory, and their wavefronts, once LLVM has joined them."""
    found: Counter[tuple[str, int, str]] = Counter()
    beside = defaultdict(list)
    for tag, op in kernel.lowered_ops.items():
        if frames := module.frames(tag):
            beside[tuple(map(str, frames)), op.threads].append((frames[0], op))
    for (_, threads), ops in beside.items():
        where = ops[0][0]
        every = tuple(access for _, op in ops for access in op.once if access.op in ("ld", "st"))
        for one in (one for side in memory_accesses(every, threads, joined=True) for one in side):
            if one.space != "smem":
                continue
            found[where.file, where.line, f"instructions of {one.op}"] += len(one.addresses)
            wavefronts = accesses_cost((one,), ()).sides[0].wavefronts
            found[where.file, where.line, f"{JOINED}{one.op}"] += wavefronts
    return found


def _follow(kernel: WatchedKernel, digest: hashlib._Hash) -> Iterator[_Uses]:
    """Put what the blocks of a kernel do into the digest, one of each way."""
    if unseen(kernel):
        raise _NotFollowed("an instruction reaches shared memory in a way that is not followed")
    for block in _blocks(kernel):
        watched = kernel.watch(block)
        if not watched.complete:
            raise _NotFollowed("its loops are not followed to their end")
        if watched.guessed:
            raise _NotFollowed("its branches or loops rest on what only a run knows")
        uses = _Uses(watched, digest)
        uses.run()
        yield uses


def _blocks(kernel: WatchedKernel) -> Sequence[Index]:
    """A cluster of each way that blocks go, the first and the last; all where places rest on their index."""
    ways, unchecked = Ways(kernel, Budget(SECONDS), ()), set[str]()
    moved = (
        m.operands[0] for one in kernel.meanings.values() for m in one.all if m.space in ("smem", "dsmem")
    )
    if any(value in ways.by.values for value in moved):
        if math.prod(kernel.launch.grid) > _MOST_BLOCKS:
            raise _NotFollowed("where it accesses shared memory rests on the block's index")
        return every_block(kernel.launch)
    try:
        found = dict.fromkeys(((0, 0, 0), last_cluster(kernel), *ways.chosen(kernel, unchecked)))
    except OutOfTime:
        raise _NotFollowed("its blocks go too many ways") from None
    if left := [one for one in unchecked if not one.endswith(LOOKED)]:
        raise _NotFollowed(left[0])
    each = kernel.launch.cluster
    axes = ([range(i, i + n) for i, n in zip(at, each, strict=True)] for at in found)
    return [block for some in axes for block in all_of(some)]


class _Uses:
    """The events of one block, put into a digest without their places in shared memory."""

    def __init__(self, watched: Watched, digest: hashlib._Hash) -> None:
        self.watched, self.digest = watched, digest
        self.threads = watched.launch.threads
        self.writers = np.full(_SPAN, -1, np.int64)
        self.barriers: dict[int, int] = {}  # mbarriers, by the order in which they are met
        self.names: dict[Operation | None, int] = {}  # operations, likewise

    def run(self) -> None:
        """All events. Raises _NotFollowed."""
        for event in self.watched.events:
            self._add(event)

    def _add(self, event: Event) -> None:
        meaning = event.meaning
        kind = meaning.kind
        if kind in _NOT_FOLLOWED or meaning.facts.get("multicast") or meaning.facts.get("pair"):
            raise _NotFollowed("an instruction reaches shared memory in a way that is not followed")
        lanes = lanes_of(event, self.threads)
        name = self.names.setdefault(meaning.op, len(self.names))
        self._put(kind, str(name), str(event.turns))
        self.digest.update(np.packbits(lanes).tobytes())
        if kind == "wgmma":
            self.digest.update(self.writers[self._within(_operands(event))].tobytes())
            return
        plain = list(event.values)
        if kind in (*READS, *WRITES):
            self._access(event, lanes)
            plain = plain[1:]
        if kind.startswith("mbar") or kind in ("cp_arrive", "bulk_load"):
            barrier, *plain = plain or [0]
            self._put(*map(str, self._renamed(barrier, lanes)))
        for value in plain:
            self.digest.update(for_all(value, self.threads)[lanes].tobytes())

    def _put(self, *words: str) -> None:
        self.digest.update("\0".join((*words, "")).encode())

    def _renamed(self, address: object, lanes: np.ndarray) -> list[int]:  # type: ignore[type-arg]
        at = for_all(address, self.threads)[lanes]  # type: ignore[arg-type]
        return [self.barriers.setdefault(int(one), len(self.barriers)) for one in np.unique(at)]

    def _access(self, event: Event, lanes: np.ndarray) -> None:  # type: ignore[type-arg]
        """A load, store or copy: what it finds in shared memory, or where it goes elsewhere."""
        meaning = event.meaning
        threads = self._taking(event, np.flatnonzero(lanes))
        at = event.numbers(0, self.threads)[threads]
        if not _shared(event, at):
            self.digest.update(at.tobytes())
            return
        if (event.doubt and not event.gathers) or (event.guarded and meaning.kind in WRITES):
            raise _NotFollowed("an access of shared memory rests on what a thread loads")
        if int((at & (spaces.GENERIC_SHARED - 1)).max(initial=0)) >= spaces.SHARED_BYTES:
            raise _NotFollowed("a block reaches the shared memory of another one")
        if meaning.box:
            maps = self.watched.map_of(event), [for_all(one, self.threads).tolist() for one in event.box[1:]]
            self._put(*map(repr, maps))
        place = self._within(self.places(event, threads))
        if meaning.kind in READS:
            self.digest.update(self.writers[place].tobytes())
        if meaning.kind in WRITES:
            byte = np.arange(place.shape[1], dtype=np.int64)[None, :]
            self.writers[place] = (event.number << _EVENT) | (threads[:, None] << _THREAD) | byte

    def places(self, event: Event, threads: IntArray) -> IntArray:
        """The bytes of shared memory that some threads reach by an event, a row each."""
        if event.meaning.kind == "wgmma":
            return _operands(event)
        threads = self._taking(event, threads)
        at = event.numbers(0, self.threads)[threads] if event.meaning.kind in (*READS, *WRITES) else None
        if at is None or not _shared(event, at):
            return np.zeros((0, 0), np.int64)
        return (at & (spaces.SHARED_BYTES - 1))[:, None] + np.arange(self._size(event), dtype=np.int64)

    def _taking(self, event: Event, threads: IntArray) -> IntArray:
        """Those of some threads that name an address."""
        matrix = event.meaning.kind.startswith("matrix")
        return threads[threads % 32 < event.meaning.count] if matrix else threads

    def _within(self, at: IntArray) -> IntArray:
        if at.size and (int(at.min()) < 0 or int(at.max()) >= _SPAN):
            raise _NotFollowed("an access lies outside of shared memory")
        return at

    def _size(self, event: Event) -> int:
        """The bytes of an access of each thread."""
        meaning = event.meaning
        if meaning.kind not in BULK_KINDS or meaning.size:
            return meaning.size
        if event.bulk is not None:
            return int(np.max(event.bulk[0]))
        size = self.watched.box_bytes(event)
        if size is None:
            raise _NotFollowed("the tensor map of a TMA copy is not known")
        return size


def _shared(event: Event, at: IntArray) -> bool:
    """Whether addresses of an access are of shared memory."""
    space = event.meaning.space
    return (spaces.space_of(0, at) if space == "generic" and at.size else space) in IN_SHARED


def _operands(event: Event) -> IntArray:
    """The bytes that a wgmma reads, operand by operand, in the order of its rows, 16 in each row."""
    facts = event.meaning.facts
    rows, found = [int(facts["m"]), int(facts["n"])][-len(event.values) :], list[IntArray]()
    for value, count, major in zip(event.values, rows, facts["majors"], strict=False):
        if np.unique(np.asarray(value)).size > 1:
            raise _NotFollowed("warp groups multiply different operands at once")
        found.append(operand(int(np.asarray(value).flat[0]), range(count), major).ravel())
    return np.concatenate(found)[:, None] + np.arange(UNIT)
