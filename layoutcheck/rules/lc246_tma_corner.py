"""LC246 tma-corner: the corners of an im2col tensor map are out of range, or enclose no pixel."""

from __future__ import annotations

from layoutcheck.atoms.tma.im2col import pixel_range
from layoutcheck.atoms.tma.limits import Violation, violations
from layoutcheck.atoms.tma.plan import gmem_side
from layoutcheck.rules.rule import Analysis, Finding, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, WholeTma, whole_tma

FAULT_IM2COL = "an H200 raises an illegal instruction (docs/evidence/tma_im2col.json)"


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """The first corner that is cut."""
    found = whole_tma(analysis)
    if found is None or found.stored.corners is None or found.map.corners is None:
        return
    for bad in violations(found.map):
        if not bad.field.startswith("pixelBox"):
            continue
        lower = bad.field == "pixelBoxLowerCorner"
        given, kept = (
            (found.map.corners.lower, found.stored.corners.lower)
            if lower
            else (found.map.corners.upper, found.stored.corners.upper)
        )
        i = next((i for i, value in enumerate(given) if value != kept[i]), None)
        if i is None:
            yield _empty(analysis, found, bad)
            return
        yield rule.finding(
            f"the tensor map stores the {'lower' if lower else 'upper'} corner {given[i]} of {'WHD'[i]} as {kept[i]}",
            f"{bad.field} is {list(given)} (W first), and each must be {bad.demand}. The DSL stores the low bits "
            f"without a check, {list(kept)}: " + _what(analysis),
            Where(gmem_side(analysis.copy)),
            demanded(bad.field, given[i], bad.demand, bad.source, stored=kept[i], dimension="WHD"[i]),
        )
        return


def _what(analysis: Analysis) -> str:
    """What comes of it in this tile."""
    if analysis.effect is not None and analysis.effect["fault"]:
        return f"the instruction begins outside of that box, and {FAULT_IM2COL}."
    if analysis.effect is None and analysis.runs:
        return "tiles take pixels from another part of the tensor, though this one does not."
    return "the copy takes pixels from another part of the tensor."


def _empty(analysis: Analysis, found: WholeTma, bad: Violation) -> Finding:
    ranges = pixel_range(found.map)
    i = next(i for i, (first, last) in enumerate(ranges) if last < first)
    return rule.finding(
        f"the box of pixels is empty along {'WHD'[i]}: the kernel faults",
        f"Along {'WHD'[i]}, which has {found.map.dims[1 + i]} elements, the corners leave {ranges[i][0]} to "
        f"{ranges[i][1]} for the filter's first tap: it has no position in the padded tensor. The DSL counts one position, because it rounds towards zero; {FAULT_IM2COL}.",
        Where(gmem_side(analysis.copy)),
        demanded(bad.field, bad.value, bad.demand, bad.source, dimension="WHD"[i]),
    )
