"""`tcgen05.ld.red`: what the compiler says beside what it says of `tcgen05.ld`. Measured."""

from __future__ import annotations

from layoutcheck.atoms.family import Compiler
from layoutcheck.atoms.tmem.compiler import readable, space
from layoutcheck.atoms.tmem_red import REPEATS, TYPES, TmemLoadRed
from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.compiler.shared import npow2_sub_byte, printed_view
from layoutcheck.copies.copy import Copy


def check_type(atom: TmemLoadRed) -> Prediction | None:
    """Which shapes, repetitions, types and reductions the type itself takes."""
    lanes, bits, repeat = atom.lanes, atom.width_bits, atom.repeat
    if repeat == 0:
        message = "CopyTraits hit error in LayoutSrcTV."
    elif lanes not in (16, 32):
        message = f"expects the number of data paths to be one of [16,32], but got {lanes}"
    elif bits != 32:
        message = f"only 32b patterns are supported, but got {bits}"
    elif repeat not in REPEATS:
        message = f"expects the number of repetitions to be one of [2,4,8,16,32,64,128], but got {repeat}"
    elif atom.dtype.name not in TYPES:
        message = f"expect val_type to be u32, s32, or f32, but got '{atom.dtype}'"
    elif atom.nan and atom.dtype.name != "f32":
        message = "expect val_type to be f32 when nan is specified"
    elif atom.op.endswith("abs") and atom.dtype.name != "f32":
        message = "expect val_type to be f32 when red_op is minabs or maxabs"
    elif atom.half_split_off is not None and lanes != 16:
        message = "expect half_split_off to be set only when mode is 16dp 32bit"
    else:
        return None
    return rejected("tcgen05_form", message, "atom", lanes=lanes, bits=bits, repeat=repeat)


def operands(_atom: TmemLoadRed, copy: Copy) -> Prediction | None:
    """A second destination, in registers and of the atom's type."""
    if copy.aux is None:
        message = "Expect exactly one source and two destinations, but got 1 sources and 1 destinations"
        return rejected("operand_count", message, "aux")
    return None


def second(atom: TmemLoadRed, copy: Copy) -> Prediction | None:
    """Its kind; its size is compared with nothing."""
    if copy.aux is not None and (copy.aux.space != "rmem" or copy.aux.dtype != atom.dtype):
        message = (
            "Expect second destination to be a reg memref and match atom val_type, "
            f"but got: '{printed_view(copy.aux)}'"
        )
        return rejected("aux_kind", message, "aux", got=str(copy.aux))
    return None


COMPILER = Compiler((operands, second, readable, space, npow2_sub_byte), check_type)
