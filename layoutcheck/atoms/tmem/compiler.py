"""`tcgen05.ld`, `tcgen05.st`: the operands' kinds and nothing of strides, alignment or lanes.

Measured on the DSL. The number of elements in V[0] is compared with nothing: not with the atom's repetition,
not between the two sides where both V modes are (atom, rest).
"""

from __future__ import annotations

from layoutcheck.atoms.family import Compiler
from layoutcheck.atoms.tmem import REPEATS, TmemCopy
from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.compiler.shared import align_bits, npow2_sub_byte, sub_byte_abort
from layoutcheck.copies.copy import Copy


def tmem_type(atom: TmemCopy) -> Prediction | None:
    """Which shapes and repetitions the type itself takes."""
    lanes, bits, repeat = atom.lanes, atom.width_bits, atom.repeat
    if repeat == 0:
        side = "Dst" if not atom.loads and bits != 32 else "Src"
        message = f"CopyTraits hit error in Layout{side}TV."
    elif lanes not in (16, 32):
        message = f"expects the number of data paths to be one of [16,32], but got {lanes}"
    elif bits not in (32, 64, 128, 256):
        message = f"expects the number of bits to be one of [32,64,128,256], but got {bits}"
    elif repeat not in REPEATS:
        message = f"expects the number of repetitions to be one of [1,2,4,8,16,32,64,128], but got {repeat}"
    elif lanes == 32 and bits != 32:
        message = f"only 32b patterns are supported when the number of data paths is 32, but got {bits}"
    elif bits == 128 and repeat == 128:
        message = (
            "a repetition of 128 is not supported when the number of data paths is 16 "
            "and the number of bits is 128"
        )
    elif bits == 256 and repeat in (64, 128):
        message = (
            "a repetition of 64 or 128 is not supported when the number of data paths is 16 "
            "and the number of bits is 256"
        )
    else:
        return None
    return rejected("tcgen05_form", message, "atom", lanes=lanes, bits=bits, repeat=repeat)


def space(atom: TmemCopy, copy: Copy) -> Prediction | None:
    """Tensor memory on one side and registers on the other."""
    need = atom.spaces
    if (copy.src.space, copy.dst.space) == need:
        return None
    wrong = "src" if copy.src.space != need[0] else "dst"
    return rejected("space", f"'{atom}' src/dst need be tmem/reg or reg/tmem based memref", wrong)


def readable(atom: TmemCopy, copy: Copy) -> Prediction | None:
    """The alignment of the tensor-memory side is read before anything is said of spaces."""
    operand, view = atom.memory_side, copy.side(atom.memory_side)
    return sub_byte_abort(operand, view) if align_bits(view) is None else None


def columns(atom: TmemCopy, copy: Copy) -> Prediction | None:
    """The 64-, 128- and 256-bit shapes and the packing ones want the base at an even column: 8 bytes."""
    operand, view = atom.memory_side, copy.side(atom.memory_side)
    have = align_bits(view)
    if have is None or have % 64 == 0 or not atom.wants_even_columns:
        return None
    message = (
        f"'{atom}' require tmem memref aligned at 2 cols (8B) at least, but got tmem align {have // 8} bytes"
    )
    return rejected("tmem_alignment", message, operand, have_bytes=have // 8, need_bytes=8)


COMPILER = Compiler((readable, space, columns, npow2_sub_byte), tmem_type)
