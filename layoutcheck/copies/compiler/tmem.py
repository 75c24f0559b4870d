"""`tcgen05.ld`, `tcgen05.st`, `tcgen05.cp`: the operands' kinds and nothing of strides, alignment or lanes.

Measured, DSL 4.8.1. The number of elements in V[0] is compared with nothing: not with the atom's repetition,
not between the two sides where both V modes are (atom, rest).
"""

from __future__ import annotations

from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.compiler.shared import align_bits, npow2_sub_byte, printed_pointer, sub_byte_abort
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.descriptor import DescriptorView
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.machine.atoms import S2TCopy, TmemLoad, TmemStore
from layoutcheck.machine.atoms.s2t import FORMS as S2T_FORMS
from layoutcheck.machine.atoms.tmem import REPEATS


def tmem_type(atom: TmemLoad | TmemStore) -> Prediction | None:
    """Which shapes and repetitions the type itself takes."""
    lanes, bits, repeat = atom.lanes, atom.width_bits, atom.repeat
    if repeat == 0:
        side = "Dst" if isinstance(atom, TmemStore) and bits != 32 else "Src"
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


def s2t_type(atom: S2TCopy) -> Prediction | None:
    """Which shapes, broadcasts and groups of CTAs the type itself takes."""
    if atom.ctas not in (1, 2):
        return rejected("tcgen05_form", f"Expect cta is 1/2 but got: {atom.ctas}", "atom", ctas=atom.ctas)
    if (atom.lanes, atom.width_bits, atom.broadcast) in S2T_FORMS:
        return None
    return rejected(
        "tcgen05_form",
        f"The given UTCCP params: dp {atom.lanes}, bits {atom.width_bits}, "
        f"broadcast {atom.broadcast or 'none'} is unsupported or illegal.",
        "atom",
        lanes=atom.lanes,
        bits=atom.width_bits,
        broadcast=atom.broadcast or "none",
    )


def space(atom: TmemLoad | TmemStore, copy: Copy) -> Prediction | None:
    """Tensor memory on one side and registers on the other."""
    need = ("tmem", "rmem") if isinstance(atom, TmemLoad) else ("rmem", "tmem")
    if (copy.src.space, copy.dst.space) == need:
        return None
    wrong = "src" if copy.src.space != need[0] else "dst"
    return rejected("space", f"'{atom}' src/dst need be tmem/reg or reg/tmem based memref", wrong)


def readable(atom: TmemLoad | TmemStore, copy: Copy) -> Prediction | None:
    """The alignment of the tensor-memory side is read before anything is said of spaces."""
    operand, view = ("src", copy.src) if isinstance(atom, TmemLoad) else ("dst", copy.dst)
    return sub_byte_abort(operand, view) if align_bits(view) is None else None


def columns(atom: TmemLoad | TmemStore, copy: Copy) -> Prediction | None:
    """The 64-, 128- and 256-bit shapes and the packing ones want the base at an even column: 8 bytes."""
    operand, view = ("src", copy.src) if isinstance(atom, TmemLoad) else ("dst", copy.dst)
    have = align_bits(view)
    if have is None or have % 64 == 0 or (atom.width_bits == 32 and not atom.packed):
        return None
    return rejected(
        "tmem_alignment",
        f"'{atom}' require tmem memref aligned at 2 cols (8B) at least, but got tmem align {have // 8} bytes",
        operand,
        have_bytes=have // 8,
        need_bytes=8,
    )


def operands(_atom: S2TCopy, copy: Copy) -> Prediction | None:
    """Descriptors of shared memory, to tensor memory."""
    if not isinstance(copy.src, DescriptorView):
        message = f"Expect srcView be a smemDescView but get: '{_printed(copy.src)}'"
        return rejected("operand_kind", message, "src", got=str(copy.src))
    if isinstance(copy.dst, DescriptorView) or copy.dst.space != "tmem":
        return rejected("space", f"Expect dstView be a memref on tmem but get: '{_printed(copy.dst)}'", "dst")
    return None


def _printed(view: Memref) -> str:
    """A type as the DSL prints it: without what is the default."""
    if isinstance(view, (DescriptorView, OtherOperand)):
        return str(view)
    facts = printed_pointer(view).removeprefix("ptr<").removesuffix(">")
    return f'!cute.memref<{facts}, "{view.layout}">'


def memrefs(atom: object, copy: Copy) -> Prediction | None:
    """Every other atom takes tensors in memory only."""
    for operand, view in (("src", copy.src), ("dst", copy.dst)):
        if isinstance(view, DescriptorView):
            return rejected("operand_kind", f"'{atom}' src and dst need be CuteMemRefType", operand)
    return None


TMEM_CHECKS = (readable, space, columns, npow2_sub_byte)
S2T_CHECKS = (operands,)
