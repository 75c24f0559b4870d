"""What each line of a kernel costs over a whole launch: instructions, wavefronts and sectors of all blocks.

    for one in line_totals(kernel, "sm_90a", module.frames).lines:
        one.where, one.op, one.instructions, one.wavefronts, one.sectors

Every turn of every loop is evaluated, for all blocks of a grid of up to `MOST_BLOCKS`; of a larger one the
blocks at its edges are, and the one in the middle of an axis counts for those between them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered import Kernel, Lowered, read
from layoutcheck.dsl.lowered.blocks import edges
from layoutcheck.dsl.lowered.costs import NOWHERE
from layoutcheck.dsl.lowered.evaluate import Launched, launch_of, name_of, prepare, run_kernel, tag
from layoutcheck.dsl.lowered.flow import Turns
from layoutcheck.dsl.lowered.grid import RUN_TIME, Grid
from layoutcheck.dsl.lowered.instructions import is_memory
from layoutcheck.dsl.lowered.loops import CUT_SHORT
from layoutcheck.dsl.lowered.lowered_op import access_parts
from layoutcheck.dsl.lowered.machine import Launch
from layoutcheck.dsl.lowered.record import Recorded
from layoutcheck.dsl.lowered.values import for_all
from layoutcheck.errors import InputError
from layoutcheck.machine import banks
from layoutcheck.machine.arch import WARP, parse_arch
from layoutcheck.machine.banks import LOAD, MATRIX, OFF, STORE
from layoutcheck.machine.cp_async import bypasses, cached
from layoutcheck.machine.sectors import sectors
from layoutcheck.sources.traced import Frame
from layoutcheck.sources.traced_module import TracedModule

MOST_BLOCKS = 1024  # of a grid that is evaluated whole
_SIDE_BY_SIDE = 1 << 14  # threads that are evaluated at once
_LINE = 128  # bytes; cp.async past L1 costs the same when everything moves by lines
TOO_LONG = "it takes too many steps to evaluate"
_MOST_STEPS = 400_000

Place = Callable[[str], Sequence[Frame]]


@dataclass(frozen=True, slots=True)
class LineTotal:
    """One kind of instruction of one line, over all blocks of a launch.

    `instructions` are warp instructions with a lane that is on; `wavefronts` are those of shared memory,
    `sectors` of 32 B those of global memory; the ideal ones would move as many bytes. `kind` says what
    addresses and execution rest on (`LoweredOp`).
    """

    where: Frame
    op: str
    width_bits: int
    kind: str
    instructions: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0
    sectors: int = 0
    ideal_sectors: int = 0

    @property
    def extra(self) -> int:
        """Wavefronts and sectors beyond the ideal."""
        return self.wavefronts - self.ideal_wavefronts + self.sectors - self.ideal_sectors


@dataclass(frozen=True, slots=True)
class KernelLines:
    """The lines of a kernel, the one with most beyond the ideal first; `problem` says why there are none.

    `grid` are its blocks, of which `evaluated` were.
    """

    kernel: str
    arch: str
    lines: tuple[LineTotal, ...] = ()
    grid: tuple[int, int, int] = (0, 0, 0)
    evaluated: int = 0
    problem: str = ""


def kernel_lines(
    module: TracedModule, text: str, problem: str, extent: int | None = None
) -> Iterator[KernelLines]:
    """Of each kernel of a traced module, whose lowered text is `text`, or "" for the `problem`.

    `extent` is the number for all dynamic extents. Raises InputError for an unknown architecture.
    """
    lowered = Lowered(problem=problem) if problem else read(text, module.text)
    if lowered.problem:
        yield KernelLines(module.kernel, module.arch, problem=lowered.problem)
    for kernel in lowered.kernels:
        yield line_totals(kernel, module.arch, module.frames, extent)


def line_totals(kernel: Kernel, arch: str, place: Place, extent: int | None = None) -> KernelLines:
    """The totals of one kernel; `place` tells where a tag stands. Raises InputError as `kernel_lines` does.

    Where all threads of a block do not fill its warps, blocks are evaluated one by one.
    """
    widest = parse_arch(arch).widest_access_bits // 8
    launched = kernel.grid.launch(extent) if kernel.grid is not None else None
    if kernel.grid is None or launched is None:
        return KernelLines(kernel.name, arch, problem=RUN_TIME)
    counted = _Counted(kernel.grid, launched, widest)
    problem = counted.run()
    if problem:
        return KernelLines(kernel.name, arch, problem=problem)
    found: dict[tuple[Frame, str, int], LineTotal] = {}
    for (name, op, bits), (sums, kind) in counted.totals():
        where = next(iter(place(name)), NOWHERE)
        one = LineTotal(where, op, bits, kind, *sums)
        was = found.get((where, op, bits))
        found[where, op, bits] = one if was is None else _sum(was, one)
    lines = sorted(found.values(), key=lambda one: (-one.extra, one.where.file, one.where.line, one.op))
    return KernelLines(kernel.name, arch, tuple(lines), counted.how.grid, counted.evaluated)


def _sum(a: LineTotal, b: LineTotal) -> LineTotal:
    return replace(
        a,
        instructions=a.instructions + b.instructions,
        wavefronts=a.wavefronts + b.wavefronts,
        ideal_wavefronts=a.ideal_wavefronts + b.ideal_wavefronts,
        sectors=a.sectors + b.sectors,
        ideal_sectors=a.ideal_sectors + b.ideal_sectors,
        kind=a.kind if a.kind == b.kind else f"{a.kind}, {b.kind}",
    )


class _Counted:
    """Blocks of a grid evaluated some at a time, their accesses counted as they come."""

    def __init__(self, grid: Grid, launched: Launched, widest_bytes: int) -> None:
        self.grid, self.launched, self.widest = grid, launched, widest_bytes
        self.how = launch_of(grid.kernel, launched)
        self.evaluated = 0
        self._sums: dict[tuple[str, str, int], IntArray] = defaultdict(lambda: np.zeros(5, np.int64))
        self._kinds: dict[tuple[str, str, int], set[str]] = defaultdict(set)
        self._weights: IntArray = np.ones(1, np.int64)  # of each warp
        self._threads = 0
        self._known: dict[bytes, tuple[int, ...]] = {}  # of one warp's cp.async

    def totals(self) -> Iterator[tuple[tuple[str, str, int], tuple[list[int], str]]]:
        """(tag, instruction, bits) and its five sums, with what they rest on."""
        for key, sums in self._sums.items():
            yield key, (sums.tolist(), ", ".join(sorted(self._kinds[key])))

    def run(self) -> str:
        """Evaluate; why not, or ""."""
        each = max(1, _SIDE_BY_SIDE // self.how.threads) if self.how.threads % WARP == 0 else 1
        chosen = list(_weighted(self.how))
        self.evaluated = len(chosen)
        parts = (chosen[first : first + each] for first in range(0, len(chosen), each))
        try:
            return "" if all(map(self._some, parts)) else TOO_LONG
        except InputError as error:  # an access that faults takes no wavefronts
            return f"an access is misaligned: {error.message}"

    def _some(self, chosen: list[tuple[tuple[int, int, int], int]]) -> bool:
        at = tuple(index for index, _ in chosen)
        how = replace(self.how, blocks=at) if len(at) > 1 else replace(self.how, index=at[0])
        self._threads = how.threads
        warps = -(-self.how.threads // WARP)
        self._weights = np.repeat(np.array([weight for _, weight in chosen], np.int64), warps)
        machine, flow = prepare(self.grid.kernel, how, recorded=lambda op: tag(op) if is_memory(op) else "")
        flow.turns = Turns(every=True)

        def seen(access: Recorded) -> None:
            kind = machine.reasons.worst(access.provenance | access.second_provenance | access.guard)
            for key in self._count(access):
                self._kinds[key].add(kind)

        machine.seen = seen
        long = False

        def tick() -> None:
            if machine.steps > _MOST_STEPS:
                raise _TooLong

        flow.tick = tick
        types = self.grid.types.get(name_of(self.grid.kernel), [])
        try:
            run_kernel(self.grid.kernel, machine, flow, self.launched, types)
        except _TooLong:
            long = True
        return not long and CUT_SHORT not in machine.notes

    def _count(self, access: Recorded) -> Iterator[tuple[str, str, int]]:
        parts = [
            (side, op, space, width, self._by_warp(access, address))
            for side, op, space, width, address in access_parts(access, self.widest)
            if space in ("gmem", "smem", "dsmem")
        ]
        if access.op.startswith("cp.async") and len(parts) == 2:
            yield self._count_async(access, parts[0][4], parts[1][4], parts[0][3])
            return
        for side, op, space, width, rows in parts:
            key = access.tag, op, 8 * width
            on = (rows >= 0).any(axis=1)
            sums = np.zeros((len(rows), 5), np.int64)
            sums[:, 0] = on
            if space == "gmem":
                spent = sectors(rows, 8 * width)
                sums[:, 3], sums[:, 4] = spent.sectors, spent.ideal
            else:
                rule = MATRIX if "matrix" in op else STORE if side else LOAD
                shared = banks.wavefronts(rows, 8 * width, rule)
                sums[:, 1], sums[:, 2] = shared.wavefronts, shared.phases
            self._sums[key] += self._weights @ sums
            yield key

    def _count_async(
        self, access: Recorded, source: IntArray, target: IntArray, width: int
    ) -> tuple[str, str, int]:
        past = access.op == "cp.async.cg" and width == 16
        key = access.tag, f"cp.async.{'cg' if past else 'ca'}", 8 * width
        sums = np.zeros((len(source), 5), np.int64)
        both = (target >= 0) & (source >= 0)
        target, source = np.where(both, target, OFF), np.where(both, source, OFF)
        sums[:, 0] = both.any(axis=1)
        if past:
            sums[:, 1:] = np.stack(bypasses(target, source), axis=1)
        else:
            for row in np.flatnonzero(sums[:, 0]):
                sums[row, 1:] = self._through_l1(8 * width, target[row], source[row])
        self._sums[key] += self._weights @ sums
        return key

    def _through_l1(self, bits: int, target: IntArray, source: IntArray) -> tuple[int, ...]:
        """The sums of one warp's `cp.async` through L1, with some lane on."""
        near = [np.where(at >= 0, at - at[at >= 0].min() // _LINE * _LINE, OFF) for at in (target, source)]
        key = bytes([bits]) + near[0].tobytes() + near[1].tobytes()
        if key not in self._known:
            to, frm = ([None if a < 0 else int(a) for a in at] for at in near)
            self._known[key] = cached(to, frm, bits)
        return self._known[key]

    def _by_warp(self, access: Recorded, address: Any) -> IntArray:
        """Addresses as int64[warp, 32], OFF where a lane is off or its address does not count."""
        row = for_all(address, self._threads)
        if access.active is not None:
            row = np.where(access.active, row, OFF)
        out = np.full(-(-self._threads // WARP) * WARP, OFF, np.int64)
        out[: self._threads] = row
        rows = out.reshape(-1, WARP)
        if "matrix" in access.op:
            rows = rows.copy()
            rows[:, 8 * int(access.op.rpartition(".x")[2]) :] = OFF
        return rows


class _TooLong(Exception):
    """The evaluation takes more steps than it may."""


def _weighted(how: Launch) -> Iterator[tuple[tuple[int, int, int], int]]:
    """The blocks to evaluate, and how many each counts for."""
    x, y, z = how.grid
    if x * y * z <= MOST_BLOCKS:
        yield from (((i, j, k), 1) for k in range(z) for j in range(y) for i in range(x))
        return
    for index in edges(how):
        weight = math.prod(
            n - 3 if n > 4 and i == n // 2 else 1 for i, n in zip(index, how.grid, strict=True)
        )
        yield index, weight
