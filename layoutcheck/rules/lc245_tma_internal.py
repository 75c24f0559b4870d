"""LC245 tma-internal: the tensor map and its copy count different elements."""

from __future__ import annotations

from layoutcheck.atoms.tma.descriptor import gapped
from layoutcheck.atoms.tma.plan import smem_side
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, whole_tma


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """A written format of other elements than asked, or packed ones into bytes."""
    found = whole_tma(analysis)
    if found is None or analysis.effect is None or analysis.copy.tma is None:
        return
    written, asked = found.plan.written, found.plan.implied
    internal = analysis.copy.tma.internal
    side = smem_side(analysis.copy)
    if (written.element_bits, written.data_bits) != (asked.element_bits, asked.data_bits):
        yield rule.finding(
            f"the store counts {asked.format} elements, but its tensor map has {written.format}",
            f"internal_type {internal} asks for {asked.format}, and the coordinates are counted in it. But for a store the DSL writes a tensor map of {written.format}.",
            Where("atom"),
            demanded("tensorDataType", written.format, asked.format, "measured on the DSL"),
        )
    elif found.smem.dtype.bits == 8 and written.data_bits < 8 and not gapped(written.format):
        yield rule.finding(
            f"the tensor map packs elements of {written.data_bits} bits, but the shared tensor gives each a byte",
            f"{found.smem} has 16 B for 16 elements, but a {written.format} map packs them into 8 B.",
            Where(side),
            demanded(
                "tensorDataType", written.format, "U4_UNPACK_U8", "CUDA Driver API, CUtensorMapDataType"
            ),
        )
    elif found.smem.dtype.bits == 4 and gapped(written.format):
        yield rule.finding(
            "the tensor map puts gaps between 4-bit elements, but the shared tensor packs them",
            f"A {written.format} map puts 16 elements into 16 B, but {found.smem} has 8 B for them.",
            Where(side),
            demanded("tensorDataType", written.format, "U4", "CUDA Driver API, CUtensorMapDataType"),
        )
