"""What the rules about TMA copies ask: the tensor map that a copy implies, and its box in shared memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.integers import Int, divisor
from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.analysis import Analysis
from layoutcheck.atoms.tma import ROWS, TmaCopy
from layoutcheck.atoms.tma.descriptor import DRIVER, DRIVER_IM2COL, Descriptor, dsl_kind, machine_swizzle
from layoutcheck.atoms.tma.internal import as_moved
from layoutcheck.atoms.tma.plan import TmaPlan, gmem_side, plan, smem_side
from layoutcheck.atoms.tma.views import first_step
from layoutcheck.atoms.tma.words import decode, encode
from layoutcheck.copies.memref import Memref
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
