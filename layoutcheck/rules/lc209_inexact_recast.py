"""LC209 inexact-recast: recasting the tensor to another type rounded a stride, lost bytes, or lost its swizzle."""

from __future__ import annotations

from layoutcheck.algebra.modes import dotted, leaves
from layoutcheck.algebra.recast import recast_is_exact
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.analysis.vector import NAMES
from layoutcheck.copies.memref import Memref
from layoutcheck.rules.effects import evidence, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule

EXPLAINS = ("wrong", "missing", "outside_src", "outside_dst")


@make_rule("wrong", explains=EXPLAINS)
def rule(analysis: Analysis) -> Findings:
    """A recast operand that names other bytes than before."""
    for side in ("src", "dst"):
        memref = analysis.copy.whole(side)
        original = memref.recast_from
        if original is None:
            continue
        dropped = original.swizzle if memref.swizzle is None else None
        if dropped is not None and dropped.bits and _seen(analysis, side, dropped):
            yield rule.finding(
                f"the recast of the {NAMES[side]} dropped the pointer's swizzle",
                f"{original} becomes {memref}: it addresses elements as if there were no {original.swizzle}. {sentence(analysis, 'wrong', 'missing')}",
                where(analysis, "wrong", side),
                {"swizzle": str(original.swizzle), **evidence(analysis, *EXPLAINS)},
            )
        if memref.dtype.bits < original.dtype.bits:
            yield from _torn(analysis, side, memref, original)
        ratio = memref.dtype.bits // original.dtype.bits
        if ratio <= 1:
            continue
        for path, extent, stride in leaves(original.layout):
            if extent == 1 or stride in (0, 1) or not isinstance(stride, int) or stride % ratio == 0:
                continue
            yield rule.finding(
                f"the recast to {memref.dtype} rounded a stride of the {NAMES[side]}",
                f"Mode {dotted(path)} of {original.layout} has stride {stride} {original.dtype}, which is "
                f"{stride / ratio:g} {memref.dtype}; {memref.layout} has {-(-stride // ratio)}. {sentence(analysis, 'wrong')}",
                where(analysis, "wrong", side, path),
                {"stride": stride, "ratio": ratio, **evidence(analysis, *EXPLAINS)},
            )


def _seen(analysis: Analysis, side: str, swizzle: Swizzle) -> bool:
    """Whether the swizzle moves anything: it does for a view that may begin anywhere in its pattern."""
    period = swizzle.period
    return analysis.effect is not None or (
        analysis.copy.tiling is None and analysis.copy.side(side).proved_align_bytes % period != 0
    )


def _torn(analysis: Analysis, side: str, memref: Memref, original: Memref) -> Findings:
    """Elements of which a narrower type sees only the first part."""
    if recast_is_exact(memref.dtype.bits, original.dtype.bits, original.layout) is not False:
        return
    yield rule.finding(
        f"the recast to {memref.dtype} takes the first part of each element of the {NAMES[side]}",
        f"No mode of {original.layout} has stride 1, so its {original.dtype} elements are not one run of {memref.dtype}: "
        f"the recast view has the first {memref.dtype.bits} of each element's {original.dtype.bits} bits.",
        where(analysis, "wrong", side),
        {"bits": memref.dtype.bits, "of_bits": original.dtype.bits, **evidence(analysis, *EXPLAINS)},
    )
