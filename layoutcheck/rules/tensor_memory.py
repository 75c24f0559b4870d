"""What the rules about tensor memory ask: where each instruction goes, in lanes and columns."""

from __future__ import annotations

from layoutcheck.algebra.layout import Layout
from layoutcheck.analysis import Analysis
from layoutcheck.analysis.vector import find_break
from layoutcheck.atoms.tmem import WARP_LANES, TensorMemoryAtom, TmemCopy, registers
from layoutcheck.atoms.tmem.addresses import offset_bits
from layoutcheck.atoms.tmem.execution import emitted_repeat
from layoutcheck.copies.lanes import atom_part, iterations_of
from layoutcheck.copies.offsets import CompilerFails, IntArray, size

# Every way a copy can differ from its layouts; the causes here explain all of them.
EVERYTHING = ("wrong", "missing", "outside_src", "outside_dst", "unmatched", "overlap", "race")


def tmem_atom(analysis: Analysis) -> TensorMemoryAtom | None:
    """The atom, if it is one of tensor memory's."""
    atom = analysis.copy.atom
    return atom if isinstance(atom, TensorMemoryAtom) else None


def warp_atom(analysis: Analysis) -> TmemCopy | None:
    """The atom, if it is tcgen05.ld or st."""
    atom = analysis.copy.atom
    return atom if isinstance(atom, TmemCopy) else None


def steps(analysis: Analysis) -> IntArray | None:
    """The offset in bits, from the base of the view, of every instruction of one warp."""
    atom = tmem_atom(analysis)
    return None if atom is None or not analysis.runs else offset_bits(analysis.runs[-1].instance, atom)


def fragment_trouble(analysis: Analysis, atom: TmemCopy) -> str | None:
    """Why the registers' V is not what the atom's repetition moves, in one sentence; None where it is."""
    side = atom.register_side
    view = analysis.copy.side(side)
    own = atom_part(view.layout)
    values = registers(atom) * 32 // view.dtype.bits
    if atom.dtype.bits != view.dtype.bits:
        return f"The atom is made for {atom.dtype}, but the tensors hold {view.dtype}: registers are counted in elements of {atom.dtype.bits} bits"
    if size(own) != values:
        emitted = _emitted(atom, own)
        whole = analysis.copy.side("src" if side == "dst" else "dst").layout
        warps = size(atom_part(whole)) == size(own) == values * atom.lanes
        return f"V has {size(own)} values of a thread's registers, {atom.title} moves {values}; {emitted}" + (
            f". V has the values of the whole warp, all {atom.lanes} lanes, as the view of tensor memory does"
            if warps
            else ""
        )
    aux, dst = analysis.copy.aux, analysis.copy.dst
    if aux is not None and [size(atom_part(aux.layout)), iterations_of(aux).size] != [
        1,
        iterations_of(dst).size,
    ]:
        return (
            f"{atom.title} reduces to one value for each of {iterations_of(dst).size} instructions; the second "
            f"destination {aux.layout} has {size(aux.layout)}"
        )
    broken = find_break(analysis.copy, side, values)
    if broken is not None:
        return f"{broken.mode_text} of the registers {view.layout} has stride {broken.stride}; registers are adjacent"
    return None


def _emitted(atom: TmemCopy, own: Layout) -> str:
    """Where the repetition of the emitted instruction comes from, and which it is."""
    if not atom.repeat_of_fragment:
        return f"the repetition is the atom's: x{atom.repeat} is emitted"
    try:
        return f"the repetition comes from V: x{emitted_repeat(atom, own)} is emitted"
    except CompilerFails:
        return "the repetition comes from V: no repetition fits"


def warp_of(thread: int) -> int:
    """The warp of a thread."""
    return thread // WARP_LANES
