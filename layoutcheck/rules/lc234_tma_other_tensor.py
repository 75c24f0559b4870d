"""LC234 tma-other-tensor: the shared tensor of a TMA copy differs from the shared layout that its tensor map was made from."""

from __future__ import annotations

from layoutcheck.atoms.tma.descriptor import PTX, SPAN_BYTES
from layoutcheck.atoms.tma.plan import smem_side
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import v_mode
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, box_of, same_pattern, step_of_view, tma_atom


def _named(smem: Memref) -> str:
    swizzle = f"{smem.swizzle} o " if smem.swizzle is not None else ""
    return f"{swizzle}{smem.layout}"


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """A tensor that differs from the described one, or coordinates that do not run as the box does."""
    if tma_atom(analysis) is None or analysis.effect is None:
        return
    side = smem_side(analysis.copy)
    smem, tile = analysis.copy.side(side), analysis.copy.tma
    if tile is None and analysis.copy.index is not None:
        return  # LC240
    swizzle = analysis.copy.map_swizzle
    if swizzle is not None:
        told, own = (
            f"swizzle {one}" if one and one.bits else "no swizzle" for one in (swizzle, smem.swizzle)
        )
        yield rule.finding(
            f"the tensor map has {told}, the shared tensor {own}",
            f"The host made the tensor map from a shared layout with {told}. The copy is given a shared tensor with {own}. The boxes follow the map; all others that use this memory in the kernel see it through another swizzle.",
            Where(side),
            demanded("swizzle", told, own, PTX),
        )
        return
    if tile is None and (analysis.copy.map_past or step_of_view(analysis) is not None):
        return  # LC230, LC232
    if tile is None:
        box = box_of(analysis)
        v = v_mode(smem.layout)
        effect = analysis.effect
        if box is None or effect["fault"] or not effect["wrong"] or not same_pattern(analysis, smem):
            return
        if len(box[0]) > 1 and 0 < SPAN_BYTES[box[2]] != box[1]:
            return
        yield rule.finding(
            "the elements of V are in another order in shared memory than in the box",
            f"A box of {box[0]} arrives with its first extent fastest, in adjacent bytes; V of the shared tensor, "
            f"{v}, and of the coordinates names its elements in another order. The tensor map was made from another shared layout.",
            Where(side),
            demanded("box", list(box[0]), "the order of the shared tensor", PTX),
        )
        return
    described = tile.described
    if described is None or (described.layout, described.swizzle) == (smem.layout, smem.swizzle):
        return
    yield rule.finding(
        "the tensor map was made from another shared layout than the copy uses",
        f"The tensor map was made from {_named(described)}, but the copy writes or reads {_named(smem)}. The boxes follow the first; all other accesses follow the second.",
        Where(side),
        demanded("smem layout", _named(smem), _named(described), PTX),
    )
