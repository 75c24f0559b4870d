"""`narrow-copy`: move only as many bits at a time as both sides keep together.

Where that is under the atom's minimum (`cp.async` moves at least 32 bits) the element type has to grow: the
report's own second strategy is FP32 elements, 32-bit copies and one value a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.algebra.layout import Layout
from layoutcheck.analysis import Analysis
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.tiled import make_tiled_copy_tv
from layoutcheck.copies.tiled import threads as threads_of
from layoutcheck.copies.tiling import tile
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Draft, contiguous_mode, thread_value
from layoutcheck.machine.dtypes import DType, dtype

STRATEGY = "narrow-copy"

Simple = (CpAsync, UniversalCopy, RegisterCopy)


def propose(analysis: Analysis) -> Iterator[Draft]:
    """Every narrower width the atom has, widest first; then the wider type."""
    copy = analysis.copy
    if not isinstance(copy.atom, Simple):
        return
    element = copy.src.dtype.bits
    at_least = 32 if isinstance(copy.atom, CpAsync) else max(8, element)
    width = (copy.atom.width_bits or 128) // 2
    while width >= at_least:
        yield from _narrow(copy, width)
        width //= 2
    if isinstance(copy.atom, CpAsync) and element < 32 and copy.src.dtype.kind == "float":
        yield from _widen(copy)


def narrower(copy: Copy, width_bits: int) -> CpAsync | UniversalCopy | RegisterCopy:
    """The copy's atom with another width; `.cg` exists for 16 bytes only, so a narrower cp.async is `.ca`."""
    atom = copy.atom
    assert isinstance(atom, Simple)
    if isinstance(atom, CpAsync):
        return replace(atom, width_bits=width_bits, cache="always")
    return replace(atom, width_bits=width_bits)


def _narrow(copy: Copy, width_bits: int) -> Iterator[Draft]:
    atom = narrower(copy, width_bits)
    vector = width_bits // copy.src.dtype.bits
    title = f"copy {width_bits} bits at a time"
    if copy.tiling is None:
        yield Draft(STRATEGY, title, f"atom = {code.atom_code(atom)}", (replace(copy, atom=atom),))
        return
    tiling = copy.tiling
    fast = contiguous_mode(tiling.src.layout)
    split = _split(tiling, fast if fast is not None else 0, vector)
    if split is None:
        return
    repaired = tile(
        make_tiled_copy_tv(atom, *split),
        tiling.src,
        tiling.dst,
        block_threads=tiling.block_threads,
        arch=copy.arch,
    )
    yield Draft(STRATEGY, title, code.tiled_copy_code(atom, *split), (repaired,))


def _widen(copy: Copy) -> Iterator[Draft]:
    wide = dtype("f32")
    atom = CpAsync(wide, 32, "always")
    title = (
        f"hold the matrix in FP32 and copy one element of 32 bits at a time ({copy.src.dtype} is too narrow)"
    )
    note = "the tensor itself must be FP32 in global and shared memory: twice the bytes"
    if copy.tiling is None:
        repaired = replace(copy, atom=atom, src=_one_by_one(copy.src, wide), dst=_one_by_one(copy.dst, wide))
        views = f"# views of one element an atom: {repaired.src.layout} -> {repaired.dst.layout}\n"
        yield Draft(STRATEGY, title, f"{views}atom = {code.atom_code(atom)}", (repaired,), note)
        return
    tiling = copy.tiling
    fast = contiguous_mode(tiling.src.layout)
    split = _split(tiling, fast if fast is not None else 0, 1)
    if split is None:
        return
    repaired = tile(
        make_tiled_copy_tv(atom, *split),
        replace(tiling.src, dtype=wide),
        replace(tiling.dst, dtype=wide),
        block_threads=tiling.block_threads,
        arch=copy.arch,
    )
    yield Draft(STRATEGY, title, code.tiled_copy_code(atom, *split), (repaired,), note)


def _split(tiling: Tiling, fast: int, vector: int) -> tuple[Layout, Layout] | None:
    threads = tiling.block_threads or threads_of(tiling.tiled)
    return thread_value(tiling.src.layout, fast, vector, threads)


def _one_by_one(view: Memref, wide: DType) -> Memref:
    """The view with every element an atom of its own: ((1, V), rest...)."""
    layout = view.layout
    shape = layout.shape if type(layout.shape) is tuple else (layout.shape,)
    stride = layout.stride if type(layout.stride) is tuple else (layout.stride,)
    return replace(
        view,
        dtype=wide,
        layout=Layout(((1, shape[0]), *shape[1:]), ((0, stride[0]), *stride[1:])),
        align_bytes=max(view.proved_align_bytes, 4),
    )
