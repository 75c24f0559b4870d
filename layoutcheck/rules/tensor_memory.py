"""What the rules about tensor memory ask: where each instruction goes, in lanes and columns."""

from __future__ import annotations

from typing import NamedTuple

from layoutcheck.analysis import Analysis
from layoutcheck.analysis.vector import find_break
from layoutcheck.atoms.tmem import COLUMN_BITS, WARP_LANES, TensorMemoryAtom, TmemCopy, registers
from layoutcheck.atoms.tmem.addresses import LANE_BYTES
from layoutcheck.atoms.tmem.execution import emitted_repeat
from layoutcheck.copies.lanes import atom_part, matrix_iterations
from layoutcheck.copies.offsets import CompilerFails, IntArray, size

# Every way a copy can differ from its layouts; the causes here explain all of them.
EVERYTHING = ("wrong", "missing", "outside_src", "outside_dst", "unmatched", "overlap", "race")


class Places(NamedTuple):
    """`lane` and `column` of every byte that instruction i of thread t touches: [i, t, byte].

    Relative to the base of the view (of the whole tile, with a tiling).
    """

    lane: IntArray
    column: IntArray


def tmem_atom(analysis: Analysis) -> TensorMemoryAtom | None:
    """The atom, if it is one of tensor memory's."""
    atom = analysis.copy.atom
    return atom if isinstance(atom, TensorMemoryAtom) else None


def warp_atom(analysis: Analysis) -> TmemCopy | None:
    """The atom, if it is tcgen05.ld or st."""
    atom = analysis.copy.atom
    return atom if isinstance(atom, TmemCopy) else None


def places(analysis: Analysis) -> Places | None:
    """Where the run that was made went; None where none could be made."""
    atom = tmem_atom(analysis)
    if atom is None or not analysis.runs:
        return None
    run = analysis.runs[-1]
    load = atom.memory_side == "src"
    base = run.src_base if load else run.dst_base
    moves = run.execution.src if load else run.execution.dst
    relative = moves // (8 // run.execution.unit_bits) - base
    return Places(relative // LANE_BYTES, relative % LANE_BYTES * 8 // COLUMN_BITS)


def steps(analysis: Analysis) -> IntArray | None:
    """The offset in bits, from the base of the view, of every instruction of one warp."""
    atom = tmem_atom(analysis)
    if atom is None or not analysis.runs:
        return None
    instance = analysis.runs[-1].instance
    both = matrix_iterations(instance)
    out: IntArray = both[atom.memory_side == "dst"] * instance.side(atom.memory_side).dtype.bits
    return out


def fragment_trouble(analysis: Analysis, atom: TmemCopy) -> str | None:
    """Why the registers' V is not what the atom's repetition moves, in one sentence; None where it is."""
    side = atom.register_side
    view = analysis.view(side)
    own = atom_part(view.layout)
    values = registers(atom) * 32 // view.dtype.bits
    if atom.dtype.bits != view.dtype.bits:
        return (
            f"The atom is made for {atom.dtype}, the tensors hold {view.dtype}: registers are counted in "
            f"elements of {atom.dtype.bits} bits"
        )
    if size(own) != values:
        try:
            emitted = f"x{emitted_repeat(atom, own)} is emitted"
        except CompilerFails:
            emitted = "no repetition fits"
        whole = analysis.view("src" if side == "dst" else "dst").layout
        warps = size(atom_part(whole)) == size(own) == values * atom.lanes
        return (
            f"V has {size(own)} values of a thread's registers, {atom.title} moves {values}; "
            f"the repetition comes from V: {emitted}"
            + (
                f". V is the warp's, as the view of tensor memory has it, {atom.lanes} lanes and all"
                if warps
                else ""
            )
        )
    broken = find_break(analysis.copy, side, values)
    if broken is not None:
        return f"{broken.mode_text} of the registers {view.layout} has stride {broken.stride}; registers are adjacent"
    return None


def warp_of(thread: int) -> int:
    """The warp of a thread."""
    return thread // WARP_LANES
