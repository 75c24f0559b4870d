"""LC307 split-accesses: the compiler splits the copy into narrower accesses than the atom names."""

from __future__ import annotations

from layoutcheck.analysis.vector import NAMES
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule

WIDEST_BITS = 128  # of one access; wider atoms are several of them by nature


@make_rule("slow")
def rule(analysis: Analysis) -> Findings:
    """A working universal copy of a stated width, one of whose sides is accessed at less than that."""
    copy = analysis.copy
    if not isinstance(copy.atom, UniversalCopy) or not analysis.right:
        return
    asked = min(analysis.width_bits, WIDEST_BITS)
    done = analysis.runs[-1].execution
    narrow = [
        (side, access)
        for side, accesses in (("src", done.src_accesses), ("dst", done.dst_accesses))
        for access in accesses
        if access.width_bytes * 8 < asked
    ]
    if not narrow:
        return
    side, access = min(narrow, key=lambda found: found[1].width_bytes)
    bits = access.width_bytes * 8
    unit = copy.src.dtype.bits
    why = (
        f"Elements of {unit} bits are moved {bits} bits at a time."
        if unit < 8
        else f"Only {access.width_bytes} B are proved for every slice of the views."
    )
    yield rule.finding(
        f"{asked}-bit copies become accesses of {bits} bits",
        f"{access.addresses.shape[0]} {access.op} of {access.width_bytes} B a thread in the {NAMES[side]} "
        f"instead of {max(1, access.addresses.shape[0] * bits // asked)} of {asked // 8} B. {why}",
        Where(side),
        {
            "asked_bits": asked,
            "access_bits": bits,
            "accesses": access.addresses.shape[0],
            "ratio": asked // bits,
        },
    )
