"""LC308 fragment-order: `autovec_copy` uses narrow accesses because the fragment's order differs from memory's."""

from __future__ import annotations

from layoutcheck.analysis.vector import NAMES
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.copies.vectors import WIDEST_BITS, max_vector
from layoutcheck.errors import InputError
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


@make_rule("slow")
def rule(analysis: Analysis) -> Findings:
    """A working autovec_copy between registers and memory, narrower than the memory side alone bears."""
    copy = analysis.copy
    if copy.op != "autovec_copy" or analysis.worst is not None or not analysis.runs:
        return
    if isinstance(copy.src, OtherOperand) or isinstance(copy.dst, OtherOperand):
        return
    if (copy.src.space == "rmem") == (copy.dst.space == "rmem"):
        return
    fragment, side = ("src", "dst") if copy.src.space == "rmem" else ("dst", "src")
    registers, memory = getattr(copy, fragment), getattr(copy, side)
    try:
        alone = min(max_vector(memory, memory).bits, WIDEST_BITS)
        together = max_vector(copy.src, copy.dst).bits
    except InputError:
        return
    if alone < 2 * together:
        return
    yield rule.finding(
        f"{together}-bit accesses, although the {NAMES[side]} allows {alone} bits: the fragment's order differs",
        f"{memory.layout} in {memory.space} is contiguous and aligned for {alone} bits, the fragment "
        f"{registers.layout} shares a run of {max(1, together // memory.dtype.bits)} with it. A fragment in "
        f"memory's order takes {alone // together} times fewer instructions.",
        Where(fragment),
        {"width_bits": together, "provable_bits": alone, "ratio": alone // together},
    )
