"""LC303 narrow: the copy moves fewer bits in each instruction than its layouts and proved alignment allow."""

from __future__ import annotations

from layoutcheck.algebra.modes import make_layout
from layoutcheck.copies.atom import ThreadAtom
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import size
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.copies.tiled import threads
from layoutcheck.copies.vectors import WIDEST_BITS, contiguous_mode, max_vector
from layoutcheck.errors import InputError
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


@make_rule("slow")
def rule(analysis: Analysis) -> Findings:
    """A working copy of a stated width, at most half of what `max_vector` proves."""
    copy = analysis.copy
    width = analysis.width_bits
    if not analysis.right or not isinstance(copy.atom, ThreadAtom):
        return
    if isinstance(copy.src, OtherOperand) or isinstance(copy.dst, OtherOperand):
        return
    if copy.pred is not None or copy.src.dtype.bits % 8 or 2 * width > WIDEST_BITS:
        return
    try:
        provable = min(max_vector(copy.src, copy.dst).bits, WIDEST_BITS)
    except InputError:
        return
    run = analysis.runs[-1].execution
    done = run.instructions
    if not done:  # from registers to registers
        return
    if width == 0 or provable < 2 * width:  # 0: the compiler takes the widest
        accesses = (*run.src_accesses, *run.dst_accesses)
        narrowest = min((access.width_bytes * 8 for access in accesses), default=WIDEST_BITS)
        yield from _of_tiles(analysis, width or narrowest, done)
        return
    yield rule.finding(
        f"{width}-bit accesses, although {provable} bits are proved",
        f"{done} instructions of {width} bits a thread; {max(1, done * width // provable)} of {provable} "
        f"bits move the same: the values are adjacent on both sides, and the alignment is proved.",
        Where("atom"),
        _evidence(width, provable, done),
    )


def _evidence(width: int, provable: int, done: int) -> dict[str, int]:
    return {
        "width_bits": width,
        "provable_bits": provable,
        "instructions": done,
        "ideal_instructions": max(1, done * width // provable),
        "ratio": provable // width,
    }


def _of_tiles(analysis: Analysis, width: int, done: int) -> Findings:
    """Tiles that the same threads could copy in an eighth of the instructions, each along the contiguous mode."""
    tiling = analysis.copy.tiling
    if tiling is None or "rmem" in (tiling.src.space, tiling.dst.space):
        return
    fast = contiguous_mode(tiling.src.layout)
    if fast is None or contiguous_mode(tiling.dst.layout) != fast or not tiling.src.layout.is_static:
        return
    views = [_along(tile, fast) for tile in (tiling.src, tiling.dst)]
    try:
        provable = min(max_vector(*views).bits, WIDEST_BITS)
    except InputError:
        return
    vectors, odd = divmod(size(tiling.src.layout) * tiling.src.dtype.bits, provable)
    count = tiling.block_threads or threads(tiling.tiled)
    if odd or vectors % count or provable < _MUCH * width:
        return
    yield rule.finding(
        f"{width}-bit accesses, although {provable} bits are proved along mode {fast} of both tiles",
        f"{done} instructions of {width} bits a thread, and {max(1, done * width // provable)} of {provable} "
        f"bits would move the same tile: both tiles are contiguous along mode {fast}, but a thread's values run across it.",
        Where("atom"),
        _evidence(width, provable, done),
    )


_MUCH = 8


def _along(tile: Memref, fast: int) -> Memref:
    """The tile as a thread sees it that takes all of mode `fast` as its values."""
    rest = [mode for i, mode in enumerate(tile.layout.modes) if i != fast]
    return tile.with_layout(make_layout(tile.layout[fast], *rest))
