"""`fit-threads`: thread and value layouts that cover the tile exactly once, a whole vector a thread."""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.analysis import Analysis
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.tiled import make_tiled_copy_tv
from layoutcheck.copies.tiled import threads as threads_of
from layoutcheck.copies.tiling import tile
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Draft, contiguous_mode, thread_value

STRATEGY = "fit-threads"


def propose(analysis: Analysis) -> Iterator[Draft]:
    """The same atom and tensors, with values along the contiguous mode; the block's threads, or fewer."""
    copy = analysis.copy
    tiling = copy.tiling
    if tiling is None or not isinstance(copy.atom, (CpAsync, UniversalCopy, RegisterCopy)):
        return
    fast = contiguous_mode(tiling.src.layout)
    vector = max(1, copy.atom.width_bits // copy.src.dtype.bits)
    threads = tiling.block_threads or threads_of(tiling.tiled)
    while fast is not None and threads >= 1:
        split = thread_value(tiling.src.layout, fast, vector, threads)
        if split is not None:
            tiled = make_tiled_copy_tv(copy.atom, *split)
            guard = "" if threads == (tiling.block_threads or threads) else f" (guard: if tidx < {threads})"
            yield Draft(
                STRATEGY,
                f"{threads} threads, {vector} value{'s' if vector > 1 else ''} each along mode {fast}{guard}",
                code.tiled_copy_code(copy.atom, *split),
                (tile(tiled, tiling.src, tiling.dst, block_threads=threads, arch=copy.arch),),
            )
            return
        threads //= 2
