"""LC205 swizzle-splits-vector: the pointer's swizzle scatters bytes that one instruction keeps together."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from layoutcheck.algebra.modes import leaves
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.analysis.comparison import compare
from layoutcheck.analysis.vector import NAMES
from layoutcheck.atoms.execution import execution
from layoutcheck.atoms.intent import intent
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.rules.effects import evidence, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule

EXPLAINS = ("wrong", "missing", "outside_src", "outside_dst", "misaligned_src", "misaligned_dst", "race")


@make_rule("wrong", explains=EXPLAINS)
def rule(analysis: Analysis) -> Findings:
    """A swizzled side whose chunks are wider than the swizzle's granule, or straddle two granules."""
    run = analysis.worst
    if run is None or (analysis.copy.atom and analysis.copy.atom.by_engine):  # LC222, LC233, LC237
        return
    for side in ("src", "dst"):
        memref = analysis.copy.side(side)
        swizzle = memref.swizzle
        if swizzle is None or swizzle.bits == 0:
            continue
        plain = _without(run.instance, side)
        if not _clean(plain, analysis, side, run.src_base, run.dst_base):
            continue  # wrong without the swizzle too: another rule's business
        cause = _cause(analysis, side, swizzle)
        yield rule.finding(
            f"{swizzle} scatters bytes that one access to the {NAMES[side]} keeps together",
            f"{cause} {sentence(analysis, 'wrong', 'misaligned_' + side)}",
            where(analysis, "wrong", side),
            {
                "granule_bytes": swizzle.granule,
                "width_bytes": analysis.width_bytes,
                **evidence(analysis, *EXPLAINS),
            },
        )


def _cause(analysis: Analysis, side: str, swizzle: Swizzle) -> str:
    granule = swizzle.granule
    if analysis.width_bytes > granule:
        return f"An access of {analysis.width_bytes} B is wider than the {granule} B that {swizzle} keeps together."
    if any(
        isinstance(stride, int) and stride < 0 for _, _, stride in leaves(analysis.copy.side(side).layout[0])
    ):
        return "A negative offset from a swizzled pointer loses its sign (the compiler's fault)."
    return (
        f"Slices of the {NAMES[side]} start inside the {granule} B that {swizzle} keeps together, and are moved "
        "as if the swizzle did not act between their pieces (the compiler's fault)."
    )


def _without(copy: Copy, side: str) -> Copy:
    """The copy with no swizzle on one side."""
    return copy.on_side(side, partial(replace, swizzle=None))


def _clean(plain: Copy, analysis: Analysis, side: str, src_base: int, dst_base: int) -> bool:
    """Whether the same copy without the swizzle does what its layouts say; False where it is not modelled."""
    asked = intent(plain, src_base, dst_base)
    try:
        done = execution(_without(analysis.copy, side), src_base, dst_base, plain)
    except InputError:
        return False
    return compare(asked, done, plain, src_base, dst_base).clean
