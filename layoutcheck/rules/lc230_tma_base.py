"""LC230 tma-base: the base address of a TMA copy's global tensor is not known to be a multiple of 16 bytes."""

from __future__ import annotations

from layoutcheck.atoms.tma.descriptor import DRIVER, PIECE_BYTES, WHOLE_PIECES
from layoutcheck.atoms.tma.plan import gmem_side
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, mapped_tensor, whole_tma


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """A proved alignment below 16 bytes."""
    mapped, past = mapped_tensor(analysis), analysis.copy.map_past
    if mapped is not None and past:
        yield rule.finding(
            f"the tensor map rounds its address down: its tensor begins {past} B past a multiple of 16 B",
            f"The host steps {past} B past an aligned pointer and makes the tensor map there. The DSL stores the address divided by 16, without a check, so every box begins {past} B too early.",
            Where(gmem_side(analysis.copy)),
            demanded("globalAddress", f"16n + {past}", WHOLE_PIECES, DRIVER),
        )
    elif mapped is not None and mapped.proved_align_bytes % PIECE_BYTES:
        have = mapped.proved_align_bytes
        yield rule.finding(
            f"the tensor map's address is only known to be a multiple of {have} B",
            "The DSL stores the address divided by 16, without a check: if the address is not a multiple of 16, every box begins too early. Promise the alignment (assumed_align=16) and check it on the host.",
            Where(gmem_side(analysis.copy)),
            demanded("globalAddress", f"a multiple of {have} B", WHOLE_PIECES, DRIVER),
            severity="note",
        )
    found = whole_tma(analysis)
    if found is None or found.gmem.proved_align_bytes % PIECE_BYTES == 0:
        return
    have = found.gmem.proved_align_bytes
    side = gmem_side(analysis.copy)
    yield rule.finding(
        f"the tensor map rounds its address down to 16 bytes, but the tensor is only aligned to {have}",
        f"globalAddress is a multiple of {have} B, but the tensor map demands a multiple of 16 B. The DSL stores the address "
        f"divided by 16, without a check: at an address of 16n + {have} every box begins {have} B too early.",
        Where(side),
        demanded("globalAddress", f"a multiple of {have} B", WHOLE_PIECES, DRIVER),
    )
