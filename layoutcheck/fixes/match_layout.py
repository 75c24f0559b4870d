"""`match-layout`: give the destination tile the source's mode order, so that one vector is one run on both sides."""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.analysis import Analysis
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.tiled import make_tiled_copy_tv
from layoutcheck.copies.tiled import threads as threads_of
from layoutcheck.copies.tiling import tile
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Draft, compact_like, contiguous_mode, thread_value

STRATEGY = "match-layout"


def propose(analysis: Analysis) -> Iterator[Draft]:
    """Relayout the side that the kernel itself allocates: shared memory or registers."""
    copy = analysis.copy
    if not isinstance(copy.atom, (CpAsync, UniversalCopy, RegisterCopy)) or not copy.atom.width_bits:
        return
    side = "dst" if copy.dst.space in ("smem", "rmem") else "src"
    own = copy.side(side)
    if own.space not in ("smem", "rmem"):
        return  # both sides are somebody else's memory
    if copy.tiling is None:
        yield from _view(copy, side)
    else:
        yield from _tile(copy, side)


def _view(copy: Copy, side: str) -> Iterator[Draft]:
    own, other = copy.side(side), copy.side(_OTHER[side])
    layout = compact_like(other.layout, own.layout.shape)
    if layout is None or layout == own.layout:
        return
    repaired = copy.with_side(side, own.with_layout(layout))
    yield Draft(
        STRATEGY,
        f"give the {_NAMES[side]} the other side's layout {layout}",
        f"{side}_layout = {code.layout_code(layout)}",
        (repaired,),
    )


def _tile(copy: Copy, side: str) -> Iterator[Draft]:
    tiling = copy.tiling
    assert tiling is not None and isinstance(copy.atom, (CpAsync, UniversalCopy, RegisterCopy))
    own, other = tiling.side(side), tiling.side(_OTHER[side])
    layout = compact_like(other.layout)
    fast = contiguous_mode(other.layout)
    threads = tiling.block_threads or threads_of(tiling.tiled)
    if layout is None or fast is None or layout == own.layout:
        return
    split = thread_value(layout, fast, copy.atom.width_bits // own.dtype.bits, threads)
    if split is None:
        return
    tiled = make_tiled_copy_tv(copy.atom, *split)
    matched = own.with_layout(layout)
    src, dst = (other, matched) if side == "dst" else (matched, other)
    repaired = tile(tiled, src, dst, block_threads=tiling.block_threads, arch=copy.arch)
    yield Draft(
        STRATEGY,
        f"lay the {_NAMES[side]} out as the {_NAMES[_OTHER[side]]} is, {layout}",
        f"{side}_layout = {code.layout_code(layout)}\n{code.tiled_copy_code(copy.atom, *split)}",
        (repaired,),
        "the reader of the tile sees the other major order: transpose there, or not at all",
    )


_NAMES = {"src": "source", "dst": "destination"}
_OTHER = {"src": "dst", "dst": "src"}
