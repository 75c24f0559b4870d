"""Several blocks of a kernel's grid evaluated side by side, with numbers of choice for dynamic extents.

Where a kernel touches global memory is mostly decided at the edges of its grid: all blocks of a small grid
are evaluated, of a larger one the first, the middle and the last two along each axis, in every combination.
Where an address is made of quotients and remainders of the block's index, or of `block * 256 + thread`, so
are the blocks where these begin and end. Where it is neither that nor of first degree, or accesses begin or
end between evaluated blocks, all blocks are evaluated, if they are not too many; else that access is not
checked.

Every turn of every loop counts. A loop that `corners` vouches for runs its first and last turns alone, all
others run whole. Where that takes too long, these run their first and last turns too, and what is in them is
not checked.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.dsl.lowered.arguments import Extent, Numbers, TooLarge, dynamic_layout
from layoutcheck.dsl.lowered.blocks import (
    Blocks,
    Index,
    all_of,
    edge_axes,
    edges,
    every_block,
    has_gaps,
    jumps_of,
    nested,
    period_ends,
    spread,
    sum_ends,
)
from layoutcheck.dsl.lowered.corners import Digits, decided_by_corners, digits
from layoutcheck.dsl.lowered.evaluate import Launched, launch_of, name_of, prepare, run_kernel, tag
from layoutcheck.dsl.lowered.flow import Flow, Turns
from layoutcheck.dsl.lowered.hosts import hosts_of
from layoutcheck.dsl.lowered.instructions import is_access, numbers_and_data
from layoutcheck.dsl.lowered.loops import CUT_SHORT
from layoutcheck.dsl.lowered.machine import Launch, Machine
from layoutcheck.dsl.lowered.needed import Needed
from layoutcheck.dsl.lowered.steps.lanes import MAKERS as BETWEEN_LANES
from layoutcheck.dsl.lowered.tensors import Tensor, apart, between, sizes
from layoutcheck.dsl.lowered.values import Value, number
from layoutcheck.machine.arch import WARP
from layoutcheck.sources.mlir import Operation
from layoutcheck.sources.mlir import Value as SsaValue

RUN_TIME = "extents or grid known at run time"
TOO_LONG = "the blocks at the edges of the grid take too long to evaluate"
LONG_LOOP = "a loop around it has more turns than are evaluated, and its addresses do not follow a line"
IN_GRID = (
    "its address does not follow the block's index on a line, and the grid is too large to evaluate whole"
)
BLOCK_THREADS = 1024  # the most that a block has (CUDA C++ Programming Guide, Compute Capabilities)
_MOST_STEPS = 60_000  # operations of all of them together, as one
_MOST_THREADS = 1 << 18  # of a grid that is evaluated whole because it has to be
_MOST_TURNING = 256  # blocks that are evaluated besides those at the edges
_MOST_NUMBERS = 1 << 25  # addresses that are kept, of all threads together
OVERFLOW = ("static", "32-bit arithmetic that overflows")
_MOST_ELEMENTS = 1 << 30  # of a tensor, all of whose dynamic extents get one number: int32 offsets hold it


class _TooLong(Exception):
    """The evaluation takes more steps than it may."""


class Grid:
    """A kernel's grid; `types` are those of all functions' arguments when traced, by name."""

    def __init__(self, kernel: Operation, types: dict[str, list[str]]) -> None:
        self.kernel, self.types = kernel, types
        self._launches: dict[tuple[Extent, int | None], Launched | None] = {}
        # Whether the turns of all loops took too long, with what tensors hold or without.
        self._long = set[bool]()
        self._divided: dict[str, list[list[Digits | None]]] = {}  # by tag, axis by axis
        self._needed: dict[frozenset[str], Needed] = {}  # for the accesses under tags
        self._ran: tuple[Machine, Flow]  # the last evaluation
        self._lines: dict[tuple[Operation, frozenset[str]], bool] = {}  # loops that corners decide

    def promise(self) -> tuple[int, int] | None:
        """(what all dynamic extents are multiples of, a large number for them); None if there are none."""
        quantum, most = 1, 0
        for layout in filter(None, map(dynamic_layout, itertools.chain(*self.types.values()))):
            extents = [leaf for leaf in flatten(layout.shape) if isinstance(leaf, Dynamic)]
            quantum = math.lcm(quantum, *(leaf.divisor for leaf in extents))
        for fixed, count in _dynamic(itertools.chain(*self.types.values())):
            root = int((_MOST_ELEMENTS / max(1, fixed)) ** (1 / count))
            most = root if not most else min(most, root)
        size = 1024
        while size > 64 and size > most:
            size //= 2
        whole = math.lcm(quantum, size)
        return (quantum, whole) if most and whole <= 1 << 16 else None

    def dynamic(self) -> list[int]:
        """The arguments of the host's functions that are tensors with dynamic extents."""
        hosts = [
            self.types.get(name_of(op), []) for op in self.kernel.outer().walk() if op.name == "func.func"
        ]
        found = {i for given in hosts for i, kind in enumerate(given) if next(_dynamic([kind]), None)}
        return sorted(found)

    def ranks(self) -> set[int]:
        """The numbers of modes that tensors with dynamic extents have."""
        return {len(one) for one in self._promises()}

    def quanta(self) -> tuple[int, ...]:
        """What the dynamic extents of each mode are multiples of, in all tensors; () where ranks differ.

        Of a mode that is static everywhere what all dynamic extents are.
        """
        modes = self._promises()
        if len(self.ranks()) != 1:
            return ()
        whole = math.lcm(*itertools.chain(*itertools.chain(*modes)))
        every = (list(itertools.chain(*mode)) for mode in zip(*modes, strict=True))
        return tuple(math.lcm(*mode) if mode else whole for mode in every)

    def _promises(self) -> list[list[list[int]]]:
        """Of each tensor with dynamic extents, mode by mode, what these are multiples of."""
        layouts = filter(None, map(dynamic_layout, itertools.chain(*self.types.values())))
        shapes = (one.shape if isinstance(one.shape, tuple) else (one.shape,) for one in layouts)
        found = (
            [[n.divisor for n in flatten(mode) if isinstance(n, Dynamic)] for mode in shape]
            for shape in shapes
        )
        return [modes for modes in found if any(modes)]

    def many(self, whole: int) -> list[int]:
        """The least multiples of `whole` that, as all dynamic extents, make a tensor more than 2^31 elements.

        One for each of the kernel's own, the least first.
        """
        own = self.types.get(name_of(self.kernel), [])
        return sorted({whole * _times(fixed, count, whole) for fixed, count in _dynamic(own)})

    def launch(self, extent: Extent, integer: int | None = None) -> Launched | None:
        """How the host launches it, with this number for dynamic extents; None where that is not known.

        `integer` is the number for integer arguments.
        """
        if (extent, integer) not in self._launches:
            launches: dict[str, Launched] = {}
            with suppress(TooLarge):  # no problem has this size
                launches = hosts_of(self.kernel.outer(), self.types).launches(extent, integer)
            self._launches[extent, integer] = launches.get(name_of(self.kernel))
        return self._launches[extent, integer]

    def blocks(
        self, tags: Collection[str], extent: Extent = None, integer: int | None = None
    ) -> Blocks | str:
        """The accesses under `tags` of the blocks at the grid's edges, or why they are not known."""
        launched = self.launch(extent, integer)
        if launched is None:
            return RUN_TIME
        how, called = launch_of(self.kernel, launched), isinstance(extent, Numbers)
        at = edges(how)
        found = self._evaluated(tags, how, launched, at, called)
        if isinstance(found, str) or found.whole:
            return found
        turning = {name: self._turning(name, how, at) for name in tags}
        known = [one for one in turning.values() if one is not None]
        axes = [sorted(set(axis).union(*more)) for axis, *more in zip(edge_axes(how), *known, strict=True)]
        if math.prod(map(len, axes)) > len(at):
            again = self._evaluated(tags, how, launched, all_of(axes), called)
            if isinstance(again, str) or math.prod(map(len, axes)) > _MOST_TURNING:
                turning = dict.fromkeys(tags)
            else:
                found = again
        jumps = {name: jumps_of(found, found.accesses.get(name, ())) for name in tags}
        while any(map(has_gaps, jumps.values())):  # the first or last that accesses something may lie between
            near = set().union(*jumps.values())
            full = [
                sorted(set(axis).union(*(spread(low, high) for at, low, high in near if at == i)))
                for i, axis in enumerate(axes)
            ]
            if math.prod(map(len, full)) > _MOST_TURNING:
                break
            again = self._evaluated(tags, how, launched, all_of(full), called)
            if isinstance(again, str):
                break
            found = again
            jumps = {name: jumps_of(found, found.accesses.get(name, ())) for name in tags}
        open_ = {name for name in tags if turning[name] is None or has_gaps(jumps[name])}
        if open_ and math.prod(how.grid) * how.threads <= _MOST_THREADS:
            again = self._evaluated(tags, how, launched, every_block(how), called)
            if not isinstance(again, str):
                return again
        return replace(found, unfinished={**dict.fromkeys(open_, IN_GRID), **found.unfinished})

    def at(
        self, tags: Collection[str], extent: Extent, at: tuple[Index, ...] = (), integer: int | None = None
    ) -> Blocks | str:
        """The accesses under `tags` of these blocks (by default of `edges`), or why they are not known."""
        launched = self.launch(extent, integer)
        if launched is None:
            return RUN_TIME
        how = launch_of(self.kernel, launched)
        return self._evaluated(tags, how, launched, at or edges(how), isinstance(extent, Numbers))

    def every_turn(self, tags: Collection[str], most: int) -> Blocks | str:
        """The accesses under `tags` of all blocks, in all turns; not of more than `most` threads."""
        launched = self.launch(None)
        how = None if launched is None else launch_of(self.kernel, launched)
        if launched is None or how is None or how.rests != "static":
            return RUN_TIME
        if math.prod(how.grid) * how.threads > most:
            return IN_GRID
        return self._evaluated(tags, how, launched, every_block(how), called=False, every=True)

    def tensors(self, extent: Extent) -> dict[int, Tensor]:
        """The host's tensors with these extents, by object."""
        launched = self.launch(extent)
        return {} if launched is None else launched[0].tensors

    @cached_property
    def _accesses(self) -> tuple[Needed, dict[str, list[Operation]]]:
        """The registers that pointers of the kernel point into, and its accesses by their tags."""
        tagged: dict[str, list[Operation]] = {}
        for op in self.kernel.walk():
            if (name := tag(op)) and is_access(op):
                tagged.setdefault(name, []).append(op)
        return Needed(self.kernel, ()), tagged

    def _turning(self, name: str, how: Launch, at: tuple[Index, ...]) -> list[Collection[int]] | None:
        """Along each axis, where the quotients and remainders that make addresses under a tag begin and end.

        None where addresses are made of the block's index in another way.
        """
        if name not in self._divided:
            needed, tagged = self._accesses
            ops = tagged.get(name, [])
            self._divided[name] = [[digits(op, axis, needed) for op in ops] for axis in "xyz"]
        machine, flow = self._ran

        def values_of(value: SsaValue) -> NDArray[np.int64]:
            return np.asarray(number(machine.values[flow.slots[value]]), np.int64)

        axes: list[Collection[int]] = []
        for axis, (n, by_op) in enumerate(zip(how.grid, self._divided[name], strict=True)):
            known = [one for one in by_op if one is not None]
            found: dict[SsaValue, set[int]] = {}
            for divided, by in {pair for one in known for pair in one.divisions}:
                found.setdefault(divided, set()).update(np.unique(values_of(by)).tolist())
            if len(known) < len(by_op) or not all(map(nested, found.values())):
                return None
            numbers = set().union(*found.values())
            ends = set(period_ends(n, numbers))
            for value in {value for one in known for value in one.sums} if n > 1 else ():
                sums = np.broadcast_to(values_of(value), (how.threads * len(at),))
                more = sum_ends(sums, at, axis, n, numbers)
                if more is None:
                    return None
                ends |= more
            axes.append(ends)
        return axes

    def _evaluated(
        self, tags: Collection[str], how: Launch, launched: Launched, at: tuple[Index, ...], called: bool,
        every: bool = False,
    ) -> Blocks | str:  # fmt: skip
        """These blocks, or why they are not known. Side by side, where none gives numbers to its lanes.

        `called` says that a call of the program gave the numbers, `every` that no turn of a loop is left out.
        """
        if how.threads > BLOCK_THREADS:
            return f"a block of {how.threads:,} threads"
        blocks = math.prod(how.grid)
        alone = how.threads % WARP != 0 and any(op.name in BETWEEN_LANES for op in self.kernel.walk())
        at = at[-1:] if alone else at
        how = replace(how, blocks=at) if len(at) > 1 else replace(how, index=at[0])
        try:
            if bool(how.memories) in self._long:
                raise _TooLong
            machine, flow, unfinished = self._run(tags, how, launched, whole=True, every=every)
        except _TooLong:
            if every:
                return TOO_LONG
            self._long.add(bool(how.memories))
            try:
                machine, flow, unfinished = self._run(tags, how, launched, whole=False)
            except _TooLong:
                return TOO_LONG
        spans = self.spans(how, launched, machine, flow, called)
        cut = dict.fromkeys(unfinished, LONG_LOOP)
        return Blocks(
            at, how.threads // len(at), machine.accesses, machine.reasons, spans, how.rests, machine.overflow,
            len(at) == blocks, dict.fromkeys(tags, IN_GRID) | cut if alone and blocks > 1 else cut,
        )  # fmt: skip

    def spans(
        self, how: Launch, launched: Launched, machine: Machine, flow: Flow, called: bool
    ) -> dict[int, int]:
        """The bytes of each tensor in global memory, by object, in an evaluation; `called` by the program."""
        given, types = self._given(machine, flow)
        rests = [why for _, why in launched[1]]
        spans = sizes(given, types, rests, called) if len(rests) == len(given) else {}
        own = between(given, types, how.tensors)
        held = {base: span for base, span in how.held.items() if base not in own}
        spans = {base: min(span, held.get(base, span)) for base, span in spans.items()}
        return spans | {base: span for base, span in held.items() if base in how.fixed and base not in spans}

    def apart(self, machine: Machine, flow: Flow, at: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which addresses in global memory lie between the elements of the kernel's tensors."""
        return apart(*self._given(machine, flow), at)

    def _given(self, machine: Machine, flow: Flow) -> tuple[list[Value], list[str]]:
        """The kernel's arguments in an evaluation, and their types."""
        slots = flow.slots_of(self.kernel.regions[0].blocks[0].arguments)
        return [machine.values[slot] for slot in slots], self.types.get(name_of(self.kernel), [])

    def _run(
        self, tags: Collection[str], how: Launch, launched: Launched, whole: bool, every: bool = False
    ) -> tuple[Machine, Flow, frozenset[str]]:
        """Evaluate these blocks, with `whole` all turns that count; then the tags of which accesses lack.

        With `every` all turns of all loops.

        Raises _TooLong.
        """

        def recorded(op: Operation) -> str:
            found = tag(op)
            return found if found in tags and is_access(op) else ""

        needed = self._needed.get(wanted := frozenset(tags))
        if needed is None:
            roots = ((op, numbers_and_data(op)[0], []) for op in self.kernel.walk() if recorded(op))
            self._needed[wanted] = needed = Needed(self.kernel, roots)
        machine, flow = prepare(self.kernel, how, needed, recorded=recorded)
        machine.overflow = machine.reasons.bit(*OVERFLOW)
        loops = [op for op in self.kernel.walk() if op.name in ("scf.for", "scf.while")]
        ends = {op for op in loops if not every and (not whole or self._line(op, flow))}
        flow.turns = Turns(True, ends_only=ends)

        def count() -> None:
            if machine.steps > _MOST_STEPS or machine.kept * how.threads > _MOST_NUMBERS:
                raise _TooLong

        flow.tick = count
        types = self.types.get(name_of(self.kernel), [])
        run_kernel(self.kernel, machine, flow, launched, types)
        if CUT_SHORT in machine.notes:
            raise _TooLong
        self._ran = machine, flow
        cut = [op for op in flow.shortened if not self._line(op, flow)]
        inside = (flow.tags_in(region) for op in cut for region in op.regions)
        return machine, flow, frozenset(machine.dropped).union(*inside)

    def _line(self, loop: Operation, flow: Flow) -> bool:
        """Whether corners decide a loop, for the tags of this run."""
        tags = frozenset().union(*(flow.tags_in(region) for region in loop.regions))
        known = self._lines.get((loop, tags))
        if known is None:
            known = self._lines[loop, tags] = decided_by_corners(loop, flow.tag, flow.full)
        return known


def _dynamic(types: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Of each tensor with dynamic extents: the product of the others, and the number of these."""
    for layout in filter(None, map(dynamic_layout, types)):
        leaves = flatten(layout.shape)
        count = sum(isinstance(leaf, Dynamic) for leaf in leaves)
        fixed = math.prod(int(leaf) for leaf in leaves if not isinstance(leaf, Dynamic))
        if count and fixed:
            yield fixed, count


def _times(fixed: int, count: int, whole: int) -> int:
    """The least n for which fixed (n whole)^count is more than 2^31."""
    tried = range(1, (1 << 31) + 2)
    return tried[bisect_left(tried, True, key=lambda n: fixed * (n * whole) ** count > 1 << 31)]
