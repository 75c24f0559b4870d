"""The best way from one given tile to another: what a copy costs, and what it could.

Source and destination stay as they are, or the shared tile gets another layout with the same contiguous
mode. Only copies of threads from global to shared memory are looked at: their threads and values are free,
where those of registers follow from who uses the registers.

`with_synthesized`: the last fix of `explain`, such a way where no other fix is as quick.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from layoutcheck.algebra.inttuple import flatten, is_static, product
from layoutcheck.algebra.layout import Layout
from layoutcheck.analysis import Analysis
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.check import Fix, Report
from layoutcheck.copies.atom import ThreadAtom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.copies.tiled import threads as threads_of
from layoutcheck.copies.tiling import of_tiles
from layoutcheck.copies.vectors import contiguous_mode
from layoutcheck.errors import InputError
from layoutcheck.fixes import faster
from layoutcheck.fixes.draft import Draft
from layoutcheck.machine.arch import LINE_BYTES, SECTOR_BYTES, WARP, parse_arch
from layoutcheck.machine.cost import Counts, predicted_time
from layoutcheck.synthesis.candidates import writers
from layoutcheck.synthesis.copies import Step, complete, counted_again, judged, steps_of
from layoutcheck.synthesis.moves import Move
from layoutcheck.synthesis.program import statements
from layoutcheck.synthesis.search import Found, Space, search
from layoutcheck.synthesis.shared import Shared, layouts
from layoutcheck.synthesis.threads import WIDEST_BYTES, Threads
from layoutcheck.synthesis.wanted import BYTE, MOST_EXTENT, Wanted, probed

if TYPE_CHECKING:
    from layoutcheck.sources.traced import Addresses

WORTH = 1.1
"""How much faster another layout of the shared tile has to be, which its readers must take too."""
MOST_SIMPLE = 4
"""Ways of one kind and width that `kept` counts."""
ENOUGH = 2.0
"""How often its optimum a copy has to cost to be named."""
NO_TILES = "their tiles or costs are not known"
NO_SEARCH = "no search takes their tiles (two modes of 2 to 1024, one contiguous, one type of 8 bits or more)"


class Optimum(NamedTuple):
    """What a copy costs a block, and the best way that was found.

    `cycles` are predicted for the copy; `keeps` says that the shared tile stays as it is; `steps` are the
    copies of what was `found`, each judged; `waits` that the program does not wait for cp.async by itself;
    `alone` that one thread makes the copy of the whole tile, which all could share.
    """

    cycles: float
    keeps: bool
    found: Found
    steps: list[Step]
    wanted: Wanted
    waits: bool
    alone: bool = False

    @property
    def least(self) -> float:
        """Predicted for the best."""
        return self.found.cycles

    @property
    def recounted(self) -> float | None:
        """Predicted for the best by its copies' partitions, where `least` is by the deals of the search."""
        counts = counted_again(self.found, self.wanted)
        return None if counts is None else predicted_time(counts).cycles

    @property
    def ratio(self) -> float:
        """How often its optimum the copy costs."""
        return self.cycles / self.least

    @property
    def title(self) -> str:
        """What the best is: `cp.async 128 bits, the shared tile under S<3,4,3>`."""
        [move], shared = self.found.moves, self.found.shared
        assert isinstance(move, Threads) and shared is not None
        words = f"{move.kind} {move.width_bytes(move.deal.fast) * 8} bits"
        if move.deal.block > 1:
            words += f", blocks of {move.deal.vector} x {move.deal.block} turned in registers"
        if not self.keeps:
            words += f", the shared tile {shared}"
        return words

    @property
    def code(self) -> str:
        """Statements in place of the copy: `src` and `dst` are its tiles, `tidx` the thread."""
        return statements(self.found, self.steps, self.wanted, self.waits)


class Alone(NamedTuple):
    """What a copy costs that one thread of a block of `threads` makes of a whole tile."""

    threads: int
    counts: Counts


def fills_shared(copy: Copy) -> bool:
    """Whether threads copy from global into shared memory."""
    threads = copy.atom is None or isinstance(copy.atom, ThreadAtom)
    return threads and (copy.src.space, copy.dst.space) == ("gmem", "smem")


def examined(
    copy: Copy, addresses: Addresses | None = None, alone: Alone | None = None
) -> tuple[list[Optimum], str]:
    """Ways that cost a copy's part in `ENOUGH` or less, best first; or why none was looked for.

    Predicates count as true. `addresses` are those of the compiler's lowering. A copy that costs less than
    `ENOUGH` times what its bytes take at least, whatever the tile, needs no search.
    """
    bare = replace(copy, pred=None)
    now = _counts(bare) if addresses is None or bare.tiling is not None else _lowered(addresses)
    if now is not None and alone is None:
        counts, moved = now
        lines, sectors = -(-moved // LINE_BYTES), -(-moved // SECTOR_BYTES)
        least = Counts(-(-moved // (WIDEST_BYTES * WARP)), lines, sectors, sectors)
        if predicted_time(counts).cycles < ENOUGH * predicted_time(least).cycles:
            return [], ""
    if (now is None and alone is None) or _wanted(bare, alone) is None or _given(bare) is None:
        return [], NO_TILES if bare.tiling is None or now is None else NO_SEARCH
    return [best for best in optima(bare, alone) if best.ratio >= ENOUGH], ""


def _lowered(addresses: Addresses) -> tuple[Counts, int] | None:
    """What a copy asks by the compiler's lowering, and the bytes that it moves."""
    sides = {side.side: side for side in addresses.sides}
    if len(sides) < len(addresses.sides) or sides.keys() != {"src", "dst"}:
        return None
    src, dst = sides["src"], sides["dst"]
    both = src.instructions if src.op.startswith("cp.async") else src.instructions + dst.instructions
    return Counts(both, src.wavefronts + dst.wavefronts, src.sectors, src.ideal_sectors), src.bytes_used


def optima(copy: Copy, alone: Alone | None = None) -> list[Optimum]:
    """The best way, then the best that keeps the shared tile, where that is another."""
    wanted = _wanted(copy, alone)
    given = None if wanted is None else _given(copy)
    if wanted is None or given is None:
        return []
    known = _counts(copy) if alone is None else (alone.counts, 0)
    if known is None:
        return []
    now = predicted_time(known[0]).cycles
    moves = writers(wanted)
    free = [
        one
        for one in layouts(wanted.tile, wanted.dtype, (), None)
        if one.fast == given.fast
        and one.size <= max(given.size, math.prod(wanted.tile) * wanted.element_bytes)
    ]
    waits = not isinstance(copy.atom, CpAsync)
    best: list[Optimum] = []
    for some, keeps in (([given], True), (free, False)):
        enough = best[0].least / WORTH if best else now
        for found in search(Space(some, moves, [], []), 1, wanted.arch.smem_per_block_bytes).found:
            if found.cycles >= enough:
                break
            answer = judged(found, wanted)
            if not answer.refusal:
                steps = [step for move in answer.steps for step in move]
                best.insert(0, Optimum(now, keeps, found, steps, wanted, waits, alone is not None))
                break
    return best


def kept(copy: Copy) -> Iterator[Optimum]:
    """Simple ways into the shared tile as it lies, best first, not judged yet; none as for `optima`.

    Simple: threads take the tile row by row, as wide as fits. So few ways are counted within milliseconds.
    """
    wanted = _wanted(copy) if copy.pred is None else None
    given = None if wanted is None else _given(copy)
    if wanted is None or given is None:
        return
    simple: dict[tuple[str, int], list[Threads]] = {}
    for move in writers(wanted):
        if isinstance(move, Threads) and move.deal.first == move.deal.along and move.fits(given):
            simple.setdefault((move.kind, move.width_bytes(given.fast)), []).append(move)
    widest = {kind: max(width for one, width in simple if one == kind) for kind, _ in simple}
    moves: list[Move] = [move for kind, width in widest.items() for move in _wide(simple[kind, width])]
    for found in search(Space([given], moves, [], []), 1, wanted.arch.smem_per_block_bytes).found:
        [steps] = steps_of(found, wanted)
        if complete(steps):
            yield Optimum(math.inf, True, found, steps, wanted, False)


def _wide(moves: list[Threads]) -> list[Threads]:
    """Those of the widest access of global memory, the longest rows first."""
    most = max(move.deal.vector for move in moves)
    return sorted((m for m in moves if m.deal.vector == most), key=lambda m: -m.deal.along)[:MOST_SIMPLE]


def _wanted(copy: Copy, alone: Alone | None = None) -> Wanted | None:
    """The request that the copy answers; None where it is none of a global and a shared tile of two modes."""
    tiling = copy.tiling
    if (tiling is None) == (alone is None) or not isinstance(copy.atom, ThreadAtom):
        return None
    src, dst = copy.whole("src"), copy.whole("dst")
    if isinstance(src, OtherOperand) or isinstance(dst, OtherOperand):
        return None
    extents = [product(mode.shape) for mode in src.layout.modes]
    threads = 0 if alone is None else alone.threads
    if tiling is not None:
        threads = tiling.block_threads or threads_of(tiling.tiled)
    if (
        (src.space, dst.space) != ("gmem", "smem")
        or src.dtype != dst.dtype
        or src.dtype.bits not in (8, 16, 32, 64)
        or len(extents) != 2
        or not all(isinstance(n, int) and 1 < n <= MOST_EXTENT for n in extents)
        or extents != [product(mode.shape) for mode in dst.layout.modes]
        or any(isinstance(mode.shape, tuple) for mode in src.layout.modes)
        or threads % WARP
    ):
        return None
    tile: Any = tuple(extents)
    return Wanted(
        tile, src.dtype, src, None, (), None, threads, 1, parse_arch(copy.arch), ("cp.async", "universal")
    )


def _given(copy: Copy) -> Shared | None:
    """The shared tile as the search has layouts; None where no mode is contiguous."""
    dst = copy.whole("dst")
    if isinstance(dst, OtherOperand) or not (is_static(dst.layout.shape) and is_static(dst.layout.stride)):
        return None
    fast = contiguous_mode(dst.layout)
    if fast is None:
        return None
    run, far = 1, [stride for extent, stride in _leaves(dst.layout[1 - fast]) if extent > 1]
    rows = len(far)
    for extent, stride in _leaves(dst.layout[fast]):
        if stride == run and len(far) == rows:
            run *= extent
        elif extent > 1:
            far.append(stride)
    pitch = math.gcd(*far) if far else run
    return Shared(
        dst.layout, dst.dtype, fast, run, dst.swizzle, pitch - run, given_align=dst.proved_align_bytes
    )


def _leaves(mode: Layout) -> list[tuple[int, int]]:
    extents: Any = flatten(mode.shape)
    strides: Any = flatten(mode.stride)
    return list(zip(extents, strides, strict=True))


def _counts(copy: Copy) -> tuple[Counts, int] | None:
    """What the copy asks as it is, its global strides counted as the search counts them; and its bytes."""
    tiling = copy.tiling
    if tiling is None or isinstance(tiling.src, OtherOperand) or isinstance(tiling.dst, OtherOperand):
        return None
    try:
        static = of_tiles(copy, probed(tiling.src), tiling.dst)
    except InputError:
        return None
    cost, elements = Analysis(static).cost, product(tiling.src.layout.shape)
    if cost is None or not isinstance(elements, int):
        return None
    return cost.counts, elements * tiling.src.dtype.bits // BYTE


STRATEGY = "synthesize"


def with_synthesized(
    report: Report, found: tuple[tuple[Fix, ...], str | None]
) -> tuple[tuple[Fix, ...], str | None]:
    """The fixes and the obstacle, with the synthesised fix after the others.

    The search proposes it; `check` judges its copies again, as those of every fix.
    """
    fixes, _ = found
    for best in kept(report.copy):
        draft = Draft(
            STRATEGY,
            f"copy by other threads and values: {best.title}",
            statements(best.found, best.steps, best.wanted, False),
            tuple(step.copy for step in best.steps),
        )
        last = faster(draft, best.least, report, fixes)
        return found if last is None else ((*fixes, last), None)
    return found
