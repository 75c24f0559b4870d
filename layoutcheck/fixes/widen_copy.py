"""`widen-copy`: fewer, wider instructions where both sides bear them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.analysis import Analysis
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.tiled import make_tiled_copy_tv
from layoutcheck.copies.tiled import threads as threads_of
from layoutcheck.copies.tiling import tile
from layoutcheck.copies.vectors import WIDEST_BITS
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Draft, contiguous_mode, thread_value

STRATEGY = "widen-copy"


def propose(analysis: Analysis) -> Iterator[Draft]:
    """The same atom, widest first; whole tiles are split anew, a whole vector a thread."""
    copy = analysis.copy
    atom = copy.atom
    if not isinstance(atom, (CpAsync, UniversalCopy, RegisterCopy)) or not atom.width_bits:
        return
    width = WIDEST_BITS
    while width > atom.width_bits:
        wider = replace(atom, width_bits=width)
        if copy.tiling is None:
            yield Draft(
                STRATEGY,
                f"copy {width} bits at a time",
                f"atom = {code.atom_code(wider)}",
                (replace(copy, atom=wider),),
            )
        else:
            yield from _split(analysis, wider)
        width //= 2


def _split(analysis: Analysis, atom: CpAsync | UniversalCopy | RegisterCopy) -> Iterator[Draft]:
    tiling = analysis.copy.tiling
    assert tiling is not None
    fast = contiguous_mode(tiling.src.layout)
    threads = tiling.block_threads or threads_of(tiling.tiled)
    if fast is None:
        return
    vector = atom.width_bits // tiling.src.dtype.bits
    split = thread_value(tiling.src.layout, fast, vector, threads)
    if split is None:
        return
    tiled = make_tiled_copy_tv(atom, *split)
    yield Draft(
        STRATEGY,
        f"copy {atom.width_bits} bits at a time, {vector} values a thread along mode {fast}",
        code.tiled_copy_code(atom, *split),
        (tile(tiled, tiling.src, tiling.dst, block_threads=tiling.block_threads, arch=analysis.copy.arch),),
    )
