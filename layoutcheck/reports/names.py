"""Short names of atoms, as the command line takes them."""

from __future__ import annotations

from layoutcheck.machine.atoms import (
    Atom,
    BulkCopy,
    CpAsync,
    DsmemStore,
    LdMatrix,
    OtherAtom,
    RegisterCopy,
    S2TCopy,
    StMatrix,
    TmaCopy,
    TmemLoad,
    TmemStore,
    UniversalCopy,
)
from layoutcheck.machine.atoms.s2t import instruction
from layoutcheck.machine.atoms.tmem import shape_name


def atom_name(atom: Atom) -> str:
    """One readable phrase: `cp.async 128 bits (8 x bf16), cache = global`."""
    if isinstance(atom, UniversalCopy):
        return f"universal {_width(atom.width_bits, atom.dtype.bits, atom.dtype.name)}"
    if isinstance(atom, CpAsync):
        cache = "" if atom.cache == "always" else f", cache = {atom.cache}"
        return f"cp.async {_width(atom.width_bits, atom.dtype.bits, atom.dtype.name)}{cache}"
    if isinstance(atom, RegisterCopy):
        options = "".join(f", {key} = {value}" for key, value in atom.options)
        return f"{atom.kind} {_width(atom.width_bits, atom.dtype.bits, atom.dtype.name)}{options}"
    if isinstance(atom, (LdMatrix, StMatrix)):
        name = "ldmatrix" if isinstance(atom, LdMatrix) else "stmatrix"
        rows, columns = atom.mode
        trans = ".trans" if atom.transpose else ""
        return f"{name}.m{rows}n{columns}.x{atom.num_matrices}{trans} ({atom.dtype})"
    if isinstance(atom, BulkCopy):
        what = ", multicast" if atom.multicast else ", byte mask" if atom.byte_mask else ""
        return f"bulk {atom.kind} {_width(atom.width_bits, atom.dtype.bits, atom.dtype.name)}{what}"
    if isinstance(atom, DsmemStore):
        return f"st.async {_width(atom.width_bits, atom.dtype.bits, atom.dtype.name)}"
    if isinstance(atom, TmaCopy):
        box = "" if atom.gbasis is None else f", boxes of {atom.gbasis.shape} ({atom.copy_bits // 8} B)"
        kind = atom.mode if atom.indexed else atom.kind
        mode = "im2col " if atom.mode == "im2col" else ""
        return f"TMA {mode}{kind} of {atom.dtype}{box}"
    if isinstance(atom, (TmemLoad, TmemStore)):
        name, packing = (
            ("tcgen05.ld", ".pack::16b") if isinstance(atom, TmemLoad) else ("tcgen05.st", ".unpack::16b")
        )
        return f"{name}.{shape_name(atom)}.x{atom.repeat}{packing if atom.packed else ''} ({atom.dtype})"
    if isinstance(atom, S2TCopy):
        return f"{instruction(atom)} ({atom.dtype})"
    assert isinstance(atom, OtherAtom)
    return atom.name


def _width(bits: int, element_bits: int, element: str) -> str:
    if not bits:
        return f"of {element}, width chosen by the compiler"
    count = f"{bits // element_bits} x " if bits % element_bits == 0 else ""
    return f"{bits} bits ({count}{element})"
