"""A found plan as copies: what the compiler is given, and what `check` judges."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from layoutcheck.algebra.image import image
from layoutcheck.algebra.layout import Layout, compact_col_major
from layoutcheck.analysis import Analysis
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.check import Report, check
from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.coverage import coverage, ragged
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.tiled import TiledCopy, make_tiled_copy, make_tiled_copy_tv, partition
from layoutcheck.copies.tiling import tile
from layoutcheck.errors import InputError
from layoutcheck.fixes.draft import fragment
from layoutcheck.fixes.predicate import predicate_of
from layoutcheck.machine.banks import IntArray
from layoutcheck.machine.cost import NOTHING, Counts
from layoutcheck.sources.request import build
from layoutcheck.synthesis.deals import Deal
from layoutcheck.synthesis.matrix import Matrix
from layoutcheck.synthesis.moves import Direct, Move
from layoutcheck.synthesis.search import Found
from layoutcheck.synthesis.threads import Threads
from layoutcheck.synthesis.tma import Tma
from layoutcheck.synthesis.wanted import Wanted


class Step(NamedTuple):
    """One `cute.copy` of a plan, in order. `role` says what it is to the program that is written.

    "load" and "store" are those of threads through registers, "turn" what happens between them; "async",
    "matrix", "matrix store", "tma load" and "tma store" the others. `split` is the thread and value layout,
    where there is one.
    """

    role: str
    copy: Copy
    split: tuple[Layout, Layout] | None = None

    @property
    def threads(self) -> int:
        """Threads that take part."""
        return self.copy.block_threads or 1


def steps_of(found: Found, wanted: Wanted, numbers: bool = False) -> list[list[Step]]:
    """The steps of each move. With `numbers` global tiles have the strides that sectors are counted with."""
    return [list(_steps(found, move, wanted, numbers)) for move in found.moves]


def _steps(found: Found, move: Move, wanted: Wanted, numbers: bool) -> Iterator[Step]:
    src = wanted.probe(wanted.src) if numbers else wanted.tile_of(wanted.src)
    dst = None
    if wanted.dst is not None:
        dst = wanted.probe(wanted.dst) if numbers else wanted.tile_of(wanted.dst)
    arch = str(wanted.arch)
    if isinstance(move, Direct):
        modes = [mode for _, mode in move.sides]
        target = None if dst is None else (dst, modes[1])
        yield from _through(move.deal, (src, modes[0]), target, wanted)
        return
    assert found.shared is not None
    shared = found.shared.memref
    if isinstance(move, Threads):
        deal, fast = move.deal, found.shared.fast
        if move.asynchronous:
            bits = move.width_bytes(deal.fast) * 8
            atom = CpAsync(wanted.dtype, bits, "global" if move.past_l1 else "always")
            split = deal.thr, deal.val(deal.fast)
            tiled = make_tiled_copy_tv(atom, *split)
            made = tile(tiled, src, shared, block_threads=deal.threads, arch=arch)
            yield Step("async", _guarded(made, wanted), split)
        elif move.into:
            yield from _through(deal, (src, deal.fast), (shared, fast), wanted)
        else:
            outer = None if move.outer is None or dst is None else (dst, deal.fast)
            yield from _through(deal, (shared, fast), outer, wanted)
    elif isinstance(move, Matrix):
        yield _matrix(move, shared, wanted)
    elif isinstance(move, Tma):
        yield _tma(move, shared, wanted)


def _through(
    deal: Deal, source: tuple[Memref, int], target: tuple[Memref, int] | None, wanted: Wanted
) -> Iterator[Step]:
    """Threads load vectors of `source` along its mode, and store vectors of `target` along its own.

    Between the two the values are converted where the types differ.
    """
    tensor, mode = source
    arch = str(wanted.arch)
    load, split = _tiled(deal, tensor, mode)
    view = partition(load, "src", tensor).view
    held = fragment(view)
    made = _copy(load, view, held, Tiling(load, tensor, held, deal.threads), arch)
    yield Step("load", _guarded(made, wanted), split)
    if target is None:
        return
    tensor, into = target
    held = replace(held, dtype=tensor.dtype)
    store, split = _tiled(deal, tensor, into)
    view = partition(store, "dst", tensor).view
    given = held
    if into != mode:
        given = fragment(view)
        turned = held.with_layout(_turned(deal, mode, given.layout))
        if deal.block == 1 or deal.vector == 1:  # the same values in the same order
            given = turned
        else:
            yield Step("turn", Copy(None, turned, given, op="basic_copy", arch=arch))
    made = _copy(store, given, view, Tiling(store, given, tensor, deal.threads), arch)
    yield Step("store", _guarded(made, wanted), split)


def _guarded(copy: Copy, wanted: Wanted) -> Copy:
    """With a predicate for each access of a global tensor whose edge may cut the tile."""
    guards = wanted.tails and "gmem" in (copy.src.space, copy.dst.space)
    return replace(copy, pred=predicate_of(copy)) if guards else copy


def _tiled(deal: Deal, tensor: Memref, mode: int) -> tuple[TiledCopy, tuple[Layout, Layout]]:
    atom = UniversalCopy(tensor.dtype, deal.width(mode) * tensor.dtype.bits)
    split = deal.thr, deal.val(mode)
    return make_tiled_copy_tv(atom, *split), split


def _turned(deal: Deal, mode: int, given: Layout) -> Layout:
    """The registers that hold blocks with `mode` first, seen with the other mode first; rounds stay in order.

    `given` is the layout of the registers that they go to: V is (one access, accesses), rounds follow.
    """
    one = deal.width(mode)
    block = deal.vector * deal.block
    shape: Any = given.shape
    (width, accesses), *rounds = shape
    strides: list[Any] = [(_compact(width, one), _compact(accesses, 1))]
    step = block
    for extent in rounds:
        strides.append(_compact(extent, step))
        step *= _size(extent)
    return Layout(shape, tuple(strides))


def _size(extent: Any) -> int:
    return math.prod(map(_size, extent)) if isinstance(extent, tuple) else int(extent)


def _compact(extent: Any, step: int) -> Any:
    if not isinstance(extent, tuple):
        return step if extent > 1 else 0
    strides = []
    for one in extent:
        strides.append(_compact(one, step))
        step *= _size(one)
    return tuple(strides)


def _copy(tiled: TiledCopy, src: Memref, dst: Memref, tiling: Tiling, arch: str) -> Copy:
    return Copy(tiled.atom, src, dst, tiling=tiling, arch=arch)


def _matrix(move: Matrix, shared: Memref, wanted: Wanted) -> Step:
    """The tiled copy whose fragments the warps' MMAs take, or leave."""
    kind = StMatrix if move.store else LdMatrix
    atom = kind(wanted.dtype, math.prod(move.matrices), move.trans)
    (am, ak), (wm, wk) = move.matrices, move.warps
    lane = 32 // wanted.dtype.bits  # elements of a register
    mn, k = move.consumer.modes
    reach = move.reach
    step = (1, reach[0]) if (mn, k) == (0, 1) else (reach[1], 1)
    thread = ((4, 8, wm, wk), (lane * step[1], step[0], 8 * am * step[0], 4 * lane * ak * step[1]))
    value = ((lane, am, ak), (step[1], 8 * step[0], 4 * lane * step[1]))
    layout_tv = Layout((thread[0], value[0]), (thread[1], value[1]))
    tiler = tuple(Layout(reach[one]) for one in ((0, 1) if (mn, k) == (0, 1) else (1, 0)))
    tiled = make_tiled_copy(atom, layout_tv, tiler)
    threads = move.threads
    if move.store:
        view = partition(tiled, "dst", shared).view
        held = fragment(partition(tiled, "src", shared).view)
        tiling = Tiling(tiled, held, shared, threads)
        return Step("matrix store", _copy(tiled, held, view, tiling, str(wanted.arch)))
    view = partition(tiled, "src", shared).view
    held = fragment(partition(tiled, "dst", shared).view)
    return Step("matrix", _copy(tiled, view, held, Tiling(tiled, shared, held, threads), str(wanted.arch)))


def _tma(move: Tma, shared: Memref, wanted: Wanted) -> Step:
    whole = wanted.src if move.read else wanted.dst
    assert whole is not None
    sides = (whole, shared) if move.read else (shared, whole)
    name = "tma_load" if move.read else "tma_store"
    tiler = f"({','.join(map(str, wanted.tile))})"
    copy, _ = build(*sides, name, tiler=tiler, arch=str(wanted.arch))
    return Step(name.replace("_", " "), copy)


class Judged(NamedTuple):
    """A plan's steps, what `check` says of each, and why the plan is dropped ("" for one that works).

    `guilty` is the move that the refusal is about.
    """

    steps: list[list[Step]]
    reports: list[Report]
    refusal: str = ""
    guilty: Move | None = None


def judged(found: Found, wanted: Wanted, known: dict[Copy, Report] | None = None) -> Judged:
    """The plan's copies, each checked, and its tiled copies' coverage proved.

    Of copies that another plan of the request has too, the reports are `known`.
    """
    known = {} if known is None else known
    steps: list[list[Step]] = []
    reports: list[Report] = []
    for move in found.moves:
        try:
            steps.append(list(_steps(found, move, wanted, False)))
        except InputError as error:
            return Judged(steps, reports, error.message, move)
        for step in steps[-1]:
            report = known[step.copy] = known.get(step.copy) or check(step.copy)
            reports.append(report)
            if report.verdict not in ("legal", "slow"):
                told = report.findings[0].title if report.findings else report.compiler.message
                return Judged(steps, reports, f"{step.role}: {report.verdict}, {told}", move)
            hole = _hole(step.copy)
            if hole:
                return Judged(steps, reports, f"{step.role}: {hole}", move)
        if not keeps_elements(steps[-1]):
            return Judged(steps, reports, "threads store other elements than they loaded", move)
    return Judged(steps, reports)


def complete(steps: list[Step]) -> bool:
    """Whether the threads of every step cover the tile once, and store the elements that they loaded."""
    return not any(_hole(step.copy) for step in steps) and keeps_elements(steps)


def keeps_elements(steps: list[Step]) -> bool:
    """Whether every value that a thread stores is the element that it loaded, by both partitions."""
    if [step.role for step in steps if step.role != "turn"] != ["load", "store"]:
        return True
    held = (steps[1].copy.src if len(steps) == 3 else steps[-1].copy.src).layout
    loaded, stored = _elements(steps[0], "src"), _elements(steps[-1], "dst")
    return bool((loaded[:, image(held)] == stored).all())


def _elements(step: Step, side: str) -> IntArray:
    """Which element of the tile, counted colexicographically, each value is: [thread, value]."""
    tiling = step.copy.tiling
    assert tiling is not None
    tensor = tiling.src if side == "src" else tiling.dst
    shape = tensor.layout.shape
    found = partition(tiling.tiled, side, tensor.with_layout(Layout(shape, compact_col_major(shape))))
    return image(found.thread)[:, None] + image(found.view.layout)[None, :]


def _hole(copy: Copy) -> str:
    """What the threads do not cover, or cover twice; "" where every element has one thread and value."""
    tiling = copy.tiling
    if tiling is None:
        return ""
    if not coverage(tiling.tiled).bijective:
        return "threads and values do not cover the tile once"
    sides = [side for side in (tiling.src, tiling.dst) if side.space != "rmem"]
    return (
        "the tiled copy does not divide the tile" if any(ragged(tiling.tiled, side) for side in sides) else ""
    )


def counted_again(found: Found, wanted: Wanted) -> Counts | None:
    """The counts that the judge's own analysis gives the plan's copies of threads; None where it has none.

    They are worked out from the partitions, not from the deals that the search counts with.
    """
    total = NOTHING
    for move, steps in zip(found.moves, steps_of(found, wanted, numbers=True), strict=True):
        if isinstance(move, Tma) or not steps:
            total += move.least if found.shared is None else move.counts(found.shared)
            continue
        for step in steps:
            if step.role != "turn":
                counts = _counts_of(step.copy)
                if counts is None:
                    return None
                total += counts
    return total


@lru_cache(maxsize=256)
def _counts_of(copy: Copy) -> Counts | None:
    cost = Analysis(copy).cost
    return None if cost is None else cost.counts
