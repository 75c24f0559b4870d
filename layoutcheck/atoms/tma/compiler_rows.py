"""What the DSL refuses of gather4 and scatter4 beyond what it refuses of other TMA copies. Measured.

The index tensor's element type, its memory, its alignment, and whether it indexes the right mode are checked
nowhere (measured; tests/conformance/test_tma_rows.py).
"""

from __future__ import annotations

from layoutcheck.algebra.composition import composition
from layoutcheck.algebra.inttuple import flatten, product, wrap
from layoutcheck.algebra.inverse import right_inverse
from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.tma import ROWS, TmaCopy
from layoutcheck.atoms.tma.basis import Side
from layoutcheck.atoms.tma.rows import blocks
from layoutcheck.copies.compiler.operands import check_shapes
from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import CoordTensor, OtherOperand
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import parse_arch


def predict_views(copy: Copy, there: CoordTensor, here: Memref) -> Prediction | None:
    """Of the operands of `cute.copy`: coordinates and index tensor on one side."""
    atom, index = copy.atom, copy.index
    assert isinstance(atom, TmaCopy)
    side = "src" if atom.kind == "load" else "dst"
    if index is None:
        text = (
            f"'{there}' src index tensor need be CuteMemRefType"
            if side == "src"
            else f"'{atom.dtype}' scatter4 expects 1 src operand and 2 dst operands "
            "(coordinate tensor + index tensor), got 1 and 1"
        )
        return rejected("tma_index", text, side)
    ranks = len(wrap(index.layout.shape)), len(wrap(there.layout.shape))
    if ranks[0] != ranks[1]:
        text = (
            "expects all operands to have the same rank, "
            f"but got: {side}[1]: {ranks[0]} != {side}[0]: {ranks[1]}"
        )
        return rejected("tma_index", text, "index", index_rank=ranks[0], rank=ranks[1])
    found = check_shapes(copy)
    if found is not None:
        return found
    if isinstance(index, OtherOperand):
        text = (
            f"'{index}' src index tensor need be CuteMemRefType"
            if side == "src"
            else f"'{atom.dtype}' scatter4 dst operand 1 need be CuteMemRefType index tensor, got {index}"
        )
        return rejected("tma_index", text, "index")
    if not (index.layout.is_static and here.layout.is_static):
        return Prediction(
            "unknown", "an index tensor of run-time layout is not modelled", "tma_index", "index"
        )
    return None


def predict_index(copy: Copy, gmem: Memref) -> Prediction | None:
    """Of whole tensors, before the tensor map is made: the index tensor's shape."""
    assert isinstance(copy.atom, TmaCopy)
    number = parse_arch(copy.arch).number
    if number < 100:
        text = f"expects arch to be at least sm_100, but got {copy.arch}"
        return rejected("tma_arch", text, "atom", arch=copy.arch)
    index, mode = copy.index, copy.atom.mode
    if index is None:
        text = f"gmem_coord_tensor is required for {mode} TMA ops"
        return rejected("tma_index", text, "index")
    rank, of = len(wrap(index.layout.shape)), len(wrap(gmem.layout.shape))
    gather = mode == "gather4"
    name, verb = ("gmem_coord_layout", "gather") if gather else ("gmem_index_layout", "scatter")
    if rank != 2:
        text = f"{name} must be 2D for 2D {mode} TMA {copy.atom.kind}, but got rank {rank}"
        return rejected("tma_index", text, "index", index_rank=rank)
    if rank != of:
        text = (
            f"{name} rank must match gmem tensor layout rank for {mode} "
            f"(got {'coord' if gather else 'index'} rank {rank}, gmem rank {of})"
        )
        return rejected("tma_index", text, "index", index_rank=rank, rank=of)
    if any(type(mode) is tuple for mode in (*wrap(gmem.layout.shape), *wrap(index.layout.shape))):
        return Prediction("unknown", "four rows of nested modes are not modelled", "tma_index", "index")
    sizes = [
        n
        for n, d in zip(flatten(wrap(index.layout.shape)), flatten(wrap(index.layout.stride)), strict=True)
        if d != 0
    ]
    size = product(tuple(sizes)) if sizes else 1
    if isinstance(size, int) and size < ROWS:
        text = f"{name} {verb} mode size must be at least {ROWS}, but got {size}"
        return rejected("tma_index", text, "index", indices=size)
    return None


def predict_basis(sides: tuple[Side, ...]) -> Prediction | None:
    """Of whole tensors: how many dimensions the tensor map would have."""
    if len(sides) == 2:
        return None
    text = f"TMA Gather/Scatter only expects TMA G-basis with rank 2, but got rank {len(sides)}"
    return rejected("tma_index", text, "atom", dimensions=len(sides))


def predict_partition(smem: Layout, tiler: tuple[int, ...], sides: tuple[Side, ...]) -> Prediction | None:
    """Of whole tensors: shared memory whose runs do not divide into instructions, nor the other way round."""
    moved, run = ROWS * sides[0].extent, product(right_inverse(smem).shape)
    refused = rejected(
        "tma_size", "unable to partition input tensors for TMA", "atom", run=run, instruction=moved
    )
    if isinstance(run, int) and run < moved and moved % run:
        return refused
    try:
        walk = blocks(smem, moved)
        for layout in (smem, Layout(tiler, tuple(range(1, len(tiler) + 1)))):
            composition(layout, walk, strict=False)
    except InputError:
        return refused
    return None
