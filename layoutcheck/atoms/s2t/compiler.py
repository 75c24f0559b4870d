"""`tcgen05.cp`: the operands' kinds and nothing of strides, alignment or lanes. Measured."""

from __future__ import annotations

from layoutcheck.atoms.family import Compiler
from layoutcheck.atoms.s2t import FORMS, S2TCopy
from layoutcheck.copies.compiler.prediction import Prediction, rejected
from layoutcheck.copies.compiler.shared import printed_view
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.opaque import DescriptorView


def check_type(atom: S2TCopy) -> Prediction | None:
    """Which shapes, broadcasts and groups of CTAs the type itself takes."""
    if atom.ctas not in (1, 2):
        return rejected("tcgen05_form", f"Expect cta is 1/2 but got: {atom.ctas}", "atom", ctas=atom.ctas)
    if (atom.lanes, atom.width_bits, atom.broadcast) in FORMS:
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


def operands(_atom: S2TCopy, copy: Copy) -> Prediction | None:
    """Descriptors of shared memory, to tensor memory."""
    if not isinstance(copy.src, DescriptorView):
        message = f"Expect srcView be a smemDescView but get: '{printed_view(copy.src)}'"
        return rejected("operand_kind", message, "src", got=str(copy.src))
    if isinstance(copy.dst, DescriptorView) or copy.dst.space != "tmem":
        return rejected(
            "space", f"Expect dstView be a memref on tmem but get: '{printed_view(copy.dst)}'", "dst"
        )
    return None


COMPILER = Compiler((operands,), check_type, descriptors=True)
