"""Bytes that are stored or multiplied although nothing has written them, and sums in which fills count.

`unset_values(grid, ...)` finds the first, `odd_sums(grid, ...)` the second.
Only what a run shows is told: with the numbers of a call that the program makes, or, where there is none,
with several numbers for all dynamic extents. What they all show is so for every caller. What only tails
show, or only extents of no call, rests on the caller and is a note. What is stored has to arrive inside a
tensor, under the predicate of the store.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered.arguments import EXTENTS, Extent, Numbers
from layoutcheck.dsl.lowered.evaluate import Launched, launch_of, name_of
from layoutcheck.dsl.lowered.flow import Turns
from layoutcheck.dsl.lowered.grid import Grid
from layoutcheck.dsl.lowered.machine import Launch
from layoutcheck.dsl.lowered.spaces import in_object
from layoutcheck.dsl.lowered.values import Reasons
from layoutcheck.machine.arch import WARP
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.provenance.bare import Bare, Beyond, Bools, Stored
from layoutcheck.provenance.gaps import NEVER, Gaps, of_shared
from layoutcheck.provenance.labels import NOTHING
from layoutcheck.provenance.lanes import Reached, may_leave
from layoutcheck.provenance.padded import Padded, may_pad
from layoutcheck.provenance.refs import Array
from layoutcheck.provenance.suspects import Suspects
from layoutcheck.sources.mlir import Operation, Value

_MOST_CALLS = 2
_MOST_TURNS = 2  # of a loop without a count: one over tiles
_LARGER = (1, 2, 8)  # multiples of an extent of whole tiles: a kernel may have larger tiles
_SMALL = 16  # the part of such an extent that may be less than a tile
_MOST_MULTIPLE = 1024
BRANCHES = "what follows the first of several basic blocks"
OTHERS = "extents other than those of the program's calls"
_OTHERS_SECONDS = 3.0  # of processor time that these may take
GRID = "extents or a grid that only a run knows"
_SHARED_LATE = "shared memory that nothing writes: the time budget was used up"
LOST = "lanes"  # in the place of the letter of an operand: a load that a sum leaves out
Uses = dict[tuple[Operation, str], "Found"]


@dataclass(frozen=True, slots=True)
class Found:
    """A product of registers that nothing has written (`letter`), or a store of `bytes` of them by a block.

    They come from `load`; `writers` write these registers in other threads, or others of them. `threads` are
    the first and the last. `called` is the call with which they do, "" for any. If `extent` is given it is
    what all dynamic extents have to be; if they are multiples of `multiple`, it does not happen. `fill` is
    what the registers may be filled with, in Python; "" if that is not known, or if no thread writes them.
    """

    op: Operation
    letter: str = ""
    load: Operation | None = None
    writers: tuple[Operation, ...] = ()
    block: tuple[int, ...] = (0, 0, 0)
    threads: tuple[int, int] = (0, 0)
    bytes: int = 0
    called: str = ""
    extent: int = 0
    multiple: int = 0
    fill: str = ""

    def with_other_extents(self, extent: int) -> Found:
        """The same, which no call of the program does, but which happens with this extent."""
        return self if self.extent else replace(self, extent=extent)


@dataclass(frozen=True, slots=True)
class Unset:
    """What a kernel does with registers that nothing has written, and what of that is not known.

    `beyond` are loads that leave their registers, whatever the extents are.
    """

    found: tuple[Found, ...] = ()
    left: tuple[str, ...] = ()
    beyond: tuple[Beyond, ...] = ()


def unset_values(grid: Grid, calls: Sequence[Numbers | None], budget: Budget) -> Unset:
    """What a kernel does with registers that nothing has written. Raises OutOfTime."""
    if len(grid.kernel.regions[0].blocks) > 1:
        return Unset(left=(BRANCHES,))
    suspects = Suspects(grid.kernel)
    found = _told(_Runs(grid, suspects, budget), calls) if suspects.readers else Unset()
    accesses = of_shared(grid.kernel)
    if not accesses:
        return found
    try:
        shared = _told(_Shared(grid, accesses, budget), calls)
    except OutOfTime:  # what is known of registers is so all the same
        return replace(found, left=(*found.left, _SHARED_LATE))
    return replace(found, found=(*found.found, *shared.found))


def odd_sums(grid: Grid, calls: Sequence[Numbers | None], budget: Budget, left: bool) -> Unset:
    """Stores of sums that count what stands beyond a tensor's end; or loads that a sum over lanes has `left`.

    That is whatever the extents are. Raises OutOfTime.
    """
    follow, may = (Reached, may_leave) if left else (Padded, may_pad)
    return _told(_Sums(grid, follow, budget), calls) if may(grid.kernel) else Unset()


def _told(runs: _Runs, calls: Sequence[Numbers | None]) -> Unset:
    given = [replace(call, contents=()) for call in calls if call is not None][:_MOST_CALLS]
    found: Uses = {}
    for call in given:
        for key, one in runs.uses(call).items():
            found.setdefault(key, one)
    promise = runs.grid.promise()
    if not given:
        found = runs.for_any() if promise else runs.uses(None)
    elif promise is not None:
        found = {key: one.with_other_extents(promise[1]) for key, one in runs.besides().items()} | found
    return Unset(tuple(found.values()), tuple(runs.left), tuple(runs.beyond.values()))


class _Runs:
    """Evaluations of a kernel; `left` is what they do not know, `beyond` what leaves its registers."""

    def __init__(self, grid: Grid, suspects: Any, budget: Budget) -> None:
        self.grid, self.suspects, self.budget = grid, suspects, budget
        self.left: dict[str, None] = {}
        self.beyond: dict[Operation, Beyond] = {}
        self._fills: dict[Operation, str] = {}  # what a load's registers may be filled with

    def _fill(self, load: Operation) -> str:
        if load not in self._fills:
            self._fills[load] = neutral(*self.suspects.through(self.grid.kernel, load))
        return self._fills[load]

    def for_any(self) -> Uses:
        """What a kernel does for every caller, and what it does with some extents."""
        quantum, whole = self.grid.promise() or (1, 1)
        found = self.uses(whole)
        for times in _LARGER[1:] if found else ():
            again = self.uses(times * whole)
            found = {key: one for key, one in found.items() if key in again}
        try:
            found |= self._tails(quantum, whole, found)
        except OutOfTime:
            self.left[GRID] = None
        return found

    def besides(self) -> Uses:
        """The same for a kernel whose calls are known already: what stops it is told as other extents."""
        known, self.left = self.left, {}
        self.budget = Budget(min(_OTHERS_SECONDS, self.budget.left()))
        try:
            return self.for_any()
        except OutOfTime:
            self.left[GRID] = None
            return {}
        finally:
            self.left = known | {OTHERS if why == GRID else why: None for why in self.left}

    def _tails(self, quantum: int, whole: int, always: Uses) -> Uses:
        """What it does besides if the dynamic extents are not multiples of a number."""
        tails: Uses = {}
        for extent in (whole - quantum, whole + quantum, whole // _SMALL + quantum):
            for key, one in self.uses(extent).items():
                if key not in always:
                    tails.setdefault(key, replace(one, extent=extent))
        multiple = 2 * quantum
        while tails and multiple <= min(whole, _MOST_MULTIPLE):
            again = [self.uses(extent) for extent in (multiple, whole + multiple)]
            if all(one.keys() <= always.keys() for one in again):
                return {key: replace(one, multiple=multiple) for key, one in tails.items()}
            multiple *= 2
        return {}

    def uses(self, extent: Extent) -> Uses:
        """What the first and the last block do with these extents."""
        grid = self.grid
        launched, called = grid.launch(extent), isinstance(extent, Numbers)
        if launched is None or (launched[0].rests == "arguments" and not called):
            self.left[GRID] = None
            return {}
        how = launch_of(grid.kernel, launched)
        x, y, z = (n - 1 for n in how.grid)
        at = ((0, 0, 0), (x, y, z)) if x + y + z and how.threads % WARP == 0 else ((x, y, z),)
        how = replace(how, blocks=at) if len(at) > 1 else replace(how, index=at[0])
        run = self._run(how, launched)
        if run is None:
            return {}
        self.left |= run.left
        self.beyond |= run.beyond
        sizes = grid.spans(how, launched, run.machine, run.flow, called)
        found = [
            Found(one.op, one.letter, threads=(one.thread,) * 2, fill=ZERO if one.letter == "C" else "")
            for one in run.products.values()
        ]
        for one in run.stores.values():
            base, offset = in_object("gmem", one.at)
            kept: Bools = np.asarray((offset >= 0) & (offset < sizes.get(base, 0)))
            kept &= ~grid.apart(run.machine, run.flow, one.at)
            if kept.any():
                told = extent.told if isinstance(extent, Numbers) else ""
                fill = self._fill(one.load) if one.elsewhere else ""
                found.append(replace(_stored(one, kept, run.each, at, told), fill=fill))
        for op, step, threads in run.lost():
            span = int(threads[0]), int(threads[-1])
            found.append(Found(op, LOST, threads=span, bytes=threads.size, multiple=step))
        return {(one.op, one.letter): one for one in found}

    def _run(self, how: Launch, launched: Launched) -> Bare | None:
        """The last of several evaluations: in each, shared memory holds what the one before stored there."""
        return self._last(how, launched, self.suspects, None)

    def _last(self, how: Launch, launched: Launched, suspects: Suspects, since: Array | None) -> Bare:
        """`since` are the times when bytes of shared memory are first written."""
        shared = gaps = None if since is None else np.where(since < NEVER, 0, NOTHING)
        while True:
            run = self._went(Bare(self.grid.kernel, suspects, how, _rely, shared, since=since), launched)
            if suspects.shared_elsewhere or (gaps is None and not run.bare.any()):
                return run
            again = np.where(run.written, 0, run.bare) + (0 if gaps is None else gaps)
            if not again.any() or (shared is not None and (again == shared).all()):
                return run
            shared = again

    def _went(self, run: Bare, launched: Launched) -> Bare:
        kernel = self.grid.kernel
        run.flow.tick = self.budget.check
        whiles = [op for op in kernel.walk() if op.name == "scf.while"]
        run.flow.turns = Turns(True, most=dict.fromkeys(whiles, _MOST_TURNS))
        run.go(launched, self.grid.types.get(name_of(kernel), []))
        return run


class _Sums(_Runs):
    """Evaluations of sums over lanes; in the place of suspects the class that follows them."""

    def _run(self, how: Launch, launched: Launched) -> Bare | None:
        return self._went(self.suspects(self.grid.kernel, how, _rely), launched)


class _Shared(_Runs):
    """Evaluations of loads of shared memory that nothing has written."""

    def _run(self, how: Launch, launched: Launched) -> Bare | None:
        kernel = self.grid.kernel
        gaps = Gaps(kernel, how, self.suspects)
        gaps.run(launched, self.grid.types.get(name_of(kernel), []), _rely, _MOST_TURNS, self.budget.check)
        if not gaps.loads:
            return None
        return self._last(how, launched, Suspects(kernel, gaps.loads), gaps.since)


def _rely(reasons: Reasons, bits: int) -> bool:
    return all(one == ("arguments", EXTENTS) for one in reasons.read(bits))


def _stored(one: Stored, kept: Bools, each: int, at: Sequence[tuple[int, ...]], told: str) -> Found:
    """What the last of the blocks stores, by those of its threads that are `kept`."""
    blocks, own = divmod(one.threads, each)
    mine = kept & (blocks == blocks[kept][-1])
    span = int(own[mine][0]), int(own[mine][-1])
    return Found(one.op, "", one.load, one.writers, at[int(blocks[mine][0])], span, int(mine.sum()), told)


ZERO, LEAST = "0.0", 'float("-inf")'
_MOVES = re.compile(
    r"vector\.(?!reduction|multi_reduction)\w+|.*\.(?:select|bitcast|(?:insert|extract)value|freeze|extf|truncf)"
    r"|builtin\.unrealized_conversion_cast|nvvm\.shfl\.sync|llvm\.store|nvvm\.store\.ext"
)
_SUMS = re.compile(
    r"arith\.(?:addf|addi|mulf|negf|extsi|extui)|math\.(?:fma|absf)|nvvm\.(?:add|mul|fma)\.packed\.f32x2"
)
_PRODUCTS = re.compile(r"arith\.mulf|math\.fma|nvvm\.(?:mul|fma)\.packed\.f32x2")
_MOST = re.compile(r"arith\.max(?:imum|num)f|nvvm\.fmax")
_KIND = re.compile(r"<(\w+)>")


def neutral(through: Iterable[Operation], held: Collection[Value]) -> str:
    """What a fragment may be filled with, in Python, so that all that is made of it is right; "" if unknown.

    Its registers go `through` operations, and the values `held` hold them, or what is computed of them. A sum
    begins with 0, which copies, negations and products with other values keep; a maximum begins with minus
    infinity. Anything else (both of them, an exponential, a difference, a product of two registers of the
    fragment) gives no answer.
    """
    kinds = {kind for op in through if (kind := _kind(op, held)) != "move"}
    if kinds <= {"sum"}:
        return ZERO
    return LEAST if kinds == {"most"} else ""


def _kind(op: Operation, held: Collection[Value]) -> str:
    """Whether an operation is a "move", a step of a "sum", of the "most", or "other"."""
    if _PRODUCTS.fullmatch(op.name) and len(set(op.operands[:2]) & set(held)) > 1:
        return "other"
    if "reduction" in op.name:
        kind = _KIND.search(op.attributes.get("kind", ""))
        return {"add": "sum", "maximumf": "most", "maxnumf": "most"}.get(kind[1] if kind else "", "other")
    found = (
        kind
        for kind, names in (("move", _MOVES), ("sum", _SUMS), ("most", _MOST))
        if names.fullmatch(op.name)
    )
    return next(found, "other")
