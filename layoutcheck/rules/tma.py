"""What the rules about TMA copies ask: the tensor map that a copy implies, and its box in shared memory.

Of gather4 and scatter4: which index every row of an instruction should have had.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.integers import Int, divisor
from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.analysis import Analysis
from layoutcheck.atoms.tma import ROWS, TmaCopy
from layoutcheck.atoms.tma.descriptor import DRIVER, DRIVER_IM2COL, Descriptor, dsl_kind, machine_swizzle
from layoutcheck.atoms.tma.internal import as_moved
from layoutcheck.atoms.tma.plan import TmaPlan, gmem_side, plan, scales, smem_side, tile_leaves, tile_of
from layoutcheck.atoms.tma.views import first_step
from layoutcheck.atoms.tma.words import decode, encode
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import offsets
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import parse_arch

# What goes wrong in memory where a tensor map does not say what the layouts do.
EFFECTS = frozenset(("wrong", "missing", "outside_src", "outside_dst", "race", "overlap", "fault"))
FAULT = "an H200 raises an illegal instruction (docs/evidence/tma_probes.json)"


class WholeTma(NamedTuple):
    """A TMA copy between whole tensors, at the run-time values and addresses where the model saw the worst."""

    plan: TmaPlan
    gmem: Memref  # as typed
    static: Memref  # at those values
    smem: Memref
    described: Memref

    @property
    def map(self) -> Descriptor:
        """The tensor map as the tensors imply it."""
        return self.plan.implied

    @property
    def stored(self) -> Descriptor:
        """The tensor map as it is stored."""
        return decode(encode(self.plan.written))

    def mode_of(self, dimension: int) -> tuple[int, Any, Any]:
        """Of a dimension of the map: the global tensor's leaf mode, its stride as typed and its value."""
        mode = self.plan.sides[dimension].modes[0]
        return mode, *(flatten(wrap(memref.layout.stride))[mode] for memref in (self.gmem, self.static))


def tma_atom(analysis: Analysis) -> TmaCopy | None:
    """The atom of a TMA copy that the compiler takes, else None."""
    return analysis.copy.atom if isinstance(analysis.copy.atom, TmaCopy) and analysis.accepted else None


def whole_tma(analysis: Analysis) -> WholeTma | None:
    """The copy between whole tensors; None for others, and for those that are refused or not modelled."""
    return analysis.derive(_whole_tma)


def _whole_tma(analysis: Analysis) -> WholeTma | None:
    copy = analysis.copy
    if tma_atom(analysis) is None or copy.tma is None or not analysis.runs:
        return None
    run = analysis.runs[-1]
    side = gmem_side(copy)
    try:
        made = plan(copy, run.instance, run.src_base if side == "src" else run.dst_base)
    except InputError:
        return None
    smem = copy.side(smem_side(copy))
    typed, static = (as_moved(one).side(side) for one in (copy, run.instance))
    return WholeTma(made, typed, static, smem, copy.tma.described or smem)


def step_of_view(analysis: Analysis) -> Int | None:
    """The step of a box's neighbours in the coordinates of a copy of tiles, if it cannot be 1; else None."""
    copy = analysis.copy
    if tma_atom(analysis) is None or copy.tma is not None or copy.index is not None:
        return None
    if analysis.effect is None or not analysis.effect["wrong"]:
        return None
    step = first_step(copy)
    return None if step is None or divisor(step) == 1 else step


def mapped_tensor(analysis: Analysis) -> Memref | None:
    """The tensor behind the coordinates of a traced copy of tiles; None for others."""
    atom = tma_atom(analysis)
    return analysis.copy.mapped if atom is not None and atom.mode == "tiled" else None


def mapped_strides(analysis: Analysis) -> list[tuple[int, Any]]:
    """(mode, stride) of the tensor behind a traced copy's coordinates, of each dimension after the first.

    Only where each dimension is one mode of the tensor, the first of stride 1, as far as the atom tells.
    """
    gmem, atom = mapped_tensor(analysis), tma_atom(analysis)
    if gmem is None or atom is None or atom.gbasis is None:
        return []
    shape, stride = wrap(gmem.layout.shape), wrap(gmem.layout.stride)
    modes = []
    for basis in wrap(atom.gbasis.stride):
        if not isinstance(basis, Basis) or len(basis.path) != 1 or basis.path[0] >= len(shape):
            return []
        modes.append(basis.path[0])
    if any(type(shape[mode]) is tuple for mode in modes) or stride[modes[0]] != 1:
        return []
    return [(mode, stride[mode]) for mode in modes[1:] if shape[mode] != 1]


def box_of(analysis: Analysis) -> tuple[tuple[int, ...], int, str] | None:
    """(box, bytes along its first extent, swizzle of the map); of operands as printed, as far as they tell."""
    atom = tma_atom(analysis)
    if atom is None:
        return None
    found = whole_tma(analysis)
    if found is not None:
        return found.map.box, found.map.inner_bytes, found.map.swizzle
    if atom.gbasis is None or analysis.copy.tma is not None:
        return None
    smem = analysis.copy.side(smem_side(analysis.copy))
    box = tuple(_product(mode) for mode in wrap(atom.gbasis.shape))
    rows = ROWS if atom.indexed else 1
    if _product(box) * rows * smem.dtype.bits != atom.copy_bits:
        return None
    return box, box[0] * smem.dtype.bits // 8, dsl_kind(smem.swizzle)


def row_field(analysis: Analysis) -> tuple[str, str]:
    """(field, source) of the box's first extent."""
    atom = analysis.copy.atom
    if isinstance(atom, TmaCopy) and atom.mode == "im2col":
        return "channelsPerPixel", DRIVER_IM2COL
    return "boxDim[0]", DRIVER


def _product(shape: Any) -> int:
    count = 1
    for extent in flatten((shape,)):
        count *= extent
    return count


def same_pattern(analysis: Analysis, smem: Memref) -> bool:
    """Whether the machine swizzles as the shared tensor's own swizzle does."""
    mine = smem.swizzle if smem.swizzle is not None and smem.swizzle.bits else None
    return machine_swizzle(dsl_kind(smem.swizzle), parse_arch(analysis.copy.arch).number) == mine


class Strayed(NamedTuple):
    """The first row that an instruction does not bring where the tile has it.

    `brings` and `wants` are (offset in the index tensor, column); `wants` is None where the shared tensor has
    no element.
    """

    instruction: int
    row: int
    brings: tuple[int, int]
    wants: tuple[int, int] | None


def first_strayed(analysis: Analysis, found: WholeTma) -> Strayed | None:
    """The first row whose place in shared memory is another row's, as the rows of an instruction are packed."""
    copy, made = analysis.copy, found.plan
    index = copy.index
    if index is None or made.rows is None:
        return None
    try:
        leaves, _ = tile_leaves(found.static.layout, tile_of(copy))
        at = offsets(found.smem.layout)
        column = np.zeros_like(at)
        for leaf, (dimension, step) in zip(leaves, scales(found.static, made.sides), strict=True):
            column += leaf * step if dimension == 0 else 0
        strides = wrap(index.layout.stride)
        named = sum((leaf * d for leaf, d in zip(leaves, strides, strict=True)), np.zeros_like(at))
    except InputError:
        return None
    held = {int(o): (int(i), int(c)) for o, i, c in zip(at, named, column, strict=True)}
    columns = made.written.box[0]
    bits = copy.side(smem_side(copy)).dtype.bits
    for k in range(made.boxes):
        begin = int(made.smem_at[k]) * 8 // (8 if bits == 6 else bits)
        for row in range(ROWS):
            for c in range(0, columns, max(1, columns - 1)):
                brings = (int(made.rows[k, row]), int(made.coords[k, 0]) + c)
                wants = held.get(begin + row * columns + c)
                if wants != brings:
                    return Strayed(k, row, brings, wants)
    return None


def reach(index: Memref) -> int | None:
    """One more than the last offset of an index tensor; None where that is known at run time."""
    if not index.layout.is_static:
        return None
    shape, stride = wrap(index.layout.shape), wrap(index.layout.stride)
    reached: int = sum((n - 1) * d for n, d in zip(shape, stride, strict=True) if d > 0)
    return reached + 1


def names_rows(analysis: Analysis, found: WholeTma) -> bool:
    """Whether the index tensor runs along the mode that the instruction's rows do, and along no other."""
    index = analysis.copy.index
    assert index is not None
    strides = wrap(index.layout.stride)
    rows = found.plan.sides[1].modes[0]
    return all((d != 0) == (mode == rows) for mode, d in enumerate(strides))
