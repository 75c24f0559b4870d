"""LC235 tma-smem-address: a box of a TMA copy does not begin at a multiple of 128 bytes in shared memory."""

from __future__ import annotations

from layoutcheck.atoms.tma.descriptor import PTX
from layoutcheck.atoms.tma.landing import SMEM_ALIGN_BYTES
from layoutcheck.atoms.tma.plan import smem_side
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, tma_atom


@make_rule("wrong", explains=(*EFFECTS, "misaligned_src", "misaligned_dst"))
def rule(analysis: Analysis) -> Findings:
    """Boxes at addresses that are not a multiple of 128."""
    if tma_atom(analysis) is None or analysis.effect is None:
        return
    side = smem_side(analysis.copy)
    first = analysis.effect.first.get(f"misaligned_{side}")
    if first is None or first.used is None:
        return
    smem = analysis.copy.side(side)
    run = analysis.runs[-1]
    base = run.src_base if side == "src" else run.dst_base
    have = smem.proved_align_bytes
    offset = first.used - base
    by_base = have % SMEM_ALIGN_BYTES != 0
    where = f"aligned to {have} B" if by_base else f"{offset} B from the tile's base"
    yield rule.finding(
        f"box {first.instruction} begins {where} in shared memory: the kernel faults",
        f"cp.async.bulk.tensor needs addresses in shared memory that are multiples of {SMEM_ALIGN_BYTES} B. "
        + (
            f"The shared tensor is only aligned to {have} B."
            if by_base
            else f"{smem.layout} puts the boxes of this copy {offset} B apart."
        ),
        Where(side, instruction=first.instruction),
        demanded("smem address", have if by_base else offset, "a multiple of 128 B", PTX),
    )
